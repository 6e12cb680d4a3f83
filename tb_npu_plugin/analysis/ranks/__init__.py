"""Ranks of a job: their numbers and what stands out among them."""
