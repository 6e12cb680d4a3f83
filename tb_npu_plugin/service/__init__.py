"""What the server, the command line and notebooks share: the catalog, and views by the ids of their spans."""
