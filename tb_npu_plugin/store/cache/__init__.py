"""Caches: entries on disk, and loaded data in memory."""
