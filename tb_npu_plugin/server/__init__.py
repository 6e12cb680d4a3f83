"""HTTP: routes, responses and error mapping."""
