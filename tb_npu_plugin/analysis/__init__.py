"""Pure functions: tables in, tables and dataclasses out. No I/O, no wording, no rounding."""
