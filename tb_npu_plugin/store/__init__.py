"""What was read, kept: cache, timeline, worker pool, progress."""
