"""Reads profiler databases into the same tables and events as text files."""
