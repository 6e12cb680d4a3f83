"""The twin of `mindspore.profiler`: the same names, which record for a simulated NPU where there is none.

    from tb_npu_plugin.capture.mindspore import profile, schedule, tensorboard_trace_handler

On a host with an NPU these are MindSpore's own objects. Elsewhere they are MindSpore's own classes, too, but their captures
are those of the simulated NPU (platform.py). `tb-npu run train.py` makes `mindspore.profiler` itself so.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from tb_npu_plugin.capture.ascend import MOCK, VARIABLE

#: Names of which the twin has its own.
_OWN = ("DynamicProfilerMonitor", "Profiler", "analyse", "profile")
__all__ = [
    *_OWN,
    *("AicoreMetrics", "EnvProfiler", "ExportType", "HostSystem", "ProfilerActivity", "ProfilerLevel"),
    *("_ExperimentalConfig", "mstx", "schedule", "tensorboard_trace_handler"),
]
#: Where the driver shows its devices.
DEVICES = Path("/dev")


def has_npu() -> bool:
    """Whether an NPU is there that MindSpore may use: TB_NPU_BACKEND=mock never uses one."""
    return os.environ.get(VARIABLE) != MOCK and any(DEVICES.glob("davinci[0-9]*"))


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _OWN and not has_npu():
        return getattr(importlib.import_module("tb_npu_plugin.capture.mindspore.twin"), name)
    if name == "analyse":  # MindSpore has it here only
        return getattr(importlib.import_module("mindspore.profiler.profiler"), name)
    return getattr(importlib.import_module("mindspore.profiler"), name)
