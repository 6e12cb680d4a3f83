"""Rows of the Trace view that are not in the trace: each is computed from the trace and the tables of a span."""
