"""Host operators: statistics, nesting, call trees."""
