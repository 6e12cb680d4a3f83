"""The mock device: the host side recorded from a real PyTorch run, the device side simulated from it."""
