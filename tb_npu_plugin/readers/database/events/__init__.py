"""Builds the events of trace_view.json from a database."""
