"""Where each ms of a step went, and who is to blame for waiting."""
