"""Reads traces of torch.profiler on GPUs."""
