"""The trace scanner: a trace file to typed columns, in one pass and bounded memory."""
