"""The twin of torch_npu.profiler: same names, positions, defaults, warnings and fallbacks
(docs/facts/torch_npu_api.md)."""
