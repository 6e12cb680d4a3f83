"""Collectives, links and who waits for whom."""
