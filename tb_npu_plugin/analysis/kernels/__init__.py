"""Device kernels: statistics, classes, L2 cache rates."""
