"""The route /api/timeline: one question about the rows of some ranks at a time. See docs/http_api.md."""
