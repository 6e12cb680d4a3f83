"""Divides the step of each rank into computing and losses, and finds the ranks that others wait for."""
