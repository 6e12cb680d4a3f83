"""The cache: entries on disk, and what is kept in memory."""
