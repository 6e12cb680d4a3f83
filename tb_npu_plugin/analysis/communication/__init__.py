"""Collectives, links, and waits between ranks."""
