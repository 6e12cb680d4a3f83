"""The simulated device `npu` of PyTorch: built (build.py), loaded (load.py), with the names of torch_npu."""
