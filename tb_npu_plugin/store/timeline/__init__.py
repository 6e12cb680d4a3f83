"""The timeline of one span: a folder of mapped arrays, built from a trace once, queried many times."""
