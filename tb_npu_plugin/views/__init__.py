"""One module a view: its JSON contract (TypedDicts) and `build`. No arithmetic here, that is analysis/."""
