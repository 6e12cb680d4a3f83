"""The twin of `mindspore.profiler`: the same names, which record for a simulated NPU where there is none.

    from tb_npu_plugin.capture.mindspore import profile, schedule, tensorboard_trace_handler

On a host with an NPU these are MindSpore's own objects. Elsewhere they are MindSpore's own classes, too, but their captures
are those of the simulated NPU (platform.py). `tb-npu run train.py` makes `mindspore.profiler` itself so.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = [
    "AicoreMetrics",
    "DynamicProfilerMonitor",
    "EnvProfiler",
    "ExportType",
    "HostSystem",
    "Profiler",
    "ProfilerActivity",
    "ProfilerLevel",
    "_ExperimentalConfig",
    "analyse",
    "mstx",
    "profile",
    "schedule",
    "tensorboard_trace_handler",
]
#: Names of which the twin has its own.
_OWN = ("DynamicProfilerMonitor", "Profiler", "analyse", "profile")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tb_npu_plugin.capture.mindspore.environment import has_npu

    if name in _OWN and not has_npu():
        return getattr(importlib.import_module("tb_npu_plugin.capture.mindspore.twin"), name)
    if name == "analyse":  # MindSpore has it here only
        return getattr(importlib.import_module("mindspore.profiler.profiler"), name)
    return getattr(importlib.import_module("mindspore.profiler"), name)
