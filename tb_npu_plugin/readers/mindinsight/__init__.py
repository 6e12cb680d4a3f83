"""Reads legacy MindSpore results: flat folders of the profiler up to 2.2."""
