"""The job queue and the worker processes that read result files."""
