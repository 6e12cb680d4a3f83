"""The events of trace_view.json, made of a database."""
