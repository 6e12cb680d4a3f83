"""HTTP: routes without logic, one response helper, one error mapper."""
