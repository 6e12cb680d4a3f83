"""From a logdir to runs, workers and spans, and why a folder was not taken."""
