"""Step times and what they consist of."""
