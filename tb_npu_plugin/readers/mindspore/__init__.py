"""Reads results of the MindSpore profiler: of 2.5 and newer, and parsed results of 2.3 and 2.4."""
