"""Figures of all ranks of a run together."""
