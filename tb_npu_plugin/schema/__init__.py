"""Declarations of all result files: names, headers, units, conditions. No other module holds header texts."""
