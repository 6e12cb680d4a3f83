"""Databases of profilers: the same tables and events as from text files."""
