"""Device kernels: statistics, classes, cache use."""
