"""Result files to the logical tables of schema/registry.py."""
