"""Idle time of a device: every gap of a step, cut into intervals with one cause each."""
