"""Tables of a cache entry: long ones in DuckDB files, short ones in one plain file."""
