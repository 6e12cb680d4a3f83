"""Code that all readers share: opening files, parsing rows and cells, reporting defects."""
