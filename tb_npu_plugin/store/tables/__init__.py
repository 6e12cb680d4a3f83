"""Tables of a cache entry: long tables in a DuckDB file, short ones in a binary file."""
