"""The performance bars, one script each; see benchmarks/README.md."""
