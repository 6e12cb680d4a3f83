"""Worker processes that read result files, and the queue in front of them."""
