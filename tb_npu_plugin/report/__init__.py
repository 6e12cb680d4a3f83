"""The diagnosis of a run as one HTML file."""
