"""The twin of torch_npu.profiler: same names, positions, defaults, warnings and fallbacks (specs/ascend_pt.md 1, 2)."""
