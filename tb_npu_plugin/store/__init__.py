"""Read results: cache, tables, timeline, worker pool, progress."""
