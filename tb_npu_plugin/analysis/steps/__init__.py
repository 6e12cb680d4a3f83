"""Step times and their parts."""
