"""Results of mindspore.profiler: what differs from those of torch_npu."""
