"""Stands in for torch_npu: the names of its profiler, nothing behind them. No NPU is involved."""

from . import npu, profiler  # noqa: F401
