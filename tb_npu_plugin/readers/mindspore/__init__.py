"""Results of MindSpore's profiler (2.5 and newer, and what 2.3 and 2.4 parsed): to the tables of schema/registry.py."""
