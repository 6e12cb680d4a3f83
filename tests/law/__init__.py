"""A law about damaged results: a figure that changes has a problem that explains it. See mutations.py and test_law.py."""
