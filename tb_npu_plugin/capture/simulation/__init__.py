"""The simulated device: an explicit, seeded model that leaves records."""
