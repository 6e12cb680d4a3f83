"""Finds runs, workers and spans in a logdir, and reports skipped folders."""
