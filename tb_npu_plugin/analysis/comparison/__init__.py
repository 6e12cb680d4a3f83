"""Comparison of two captures."""
