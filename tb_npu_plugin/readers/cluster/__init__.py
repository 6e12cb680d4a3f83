"""Reads what msprof-analyze cluster writes."""
