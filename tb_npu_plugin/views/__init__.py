"""One module per view: its JSON contract (TypedDicts) and `build`. Arithmetic belongs to analysis/."""
