"""Ranks of a job: their numbers, and outliers among them."""
