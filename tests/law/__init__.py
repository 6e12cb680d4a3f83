"""A law about damaged results: a figure that changes has a problem that explains it. See tests/law/mutations.py."""
