"""Findings: what holds a run up, who, how much it costs and what to do. One module per rule; registry.py lists them."""
