"""The bars of specs/performance.md, one script each; see README.md here."""
