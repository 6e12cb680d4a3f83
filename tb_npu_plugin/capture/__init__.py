"""Capture: the API of torch_npu.profiler on an NPU or on a simulated one, and simulated clusters without PyTorch."""
