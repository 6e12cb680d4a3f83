"""Two captures compared."""
