"""The twin of `mindspore.profiler`: the same names, which record for a simulated NPU where there is none.

    from tb_npu_plugin.capture.mindspore import profile, schedule, tensorboard_trace_handler

On a host with an NPU these are MindSpore's own objects. Elsewhere they are MindSpore's own classes, too, but their captures
are those of the simulated NPU (platform.py). `tb-npu run train.py` makes `mindspore` itself use the simulated NPU: what is to be changed in it is changed when
the script imports it (CHANGES).
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable
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


#: Settings of an NPU, which the CPU refuses.
_OF_DEVICES = ("device_id", "max_device_memory", "ascend_config")
_PLATFORM = "tb_npu_plugin.capture.mindspore.platform"
_ANNOUNCED = "_TB_NPU_MINDSPORE_ANNOUNCED"


def _use_cpu(mindspore: Any) -> None:
    """Scripts ask for Ascend; the CPU computes. `profile` and `Profiler` are the twin's, which refuse a second one."""
    context = mindspore.context
    context.set_context = mindspore.set_context = _with_cpu(context.set_context)
    if hasattr(mindspore, "set_device"):
        mindspore.set_device = _with_cpu(mindspore.set_device)
    mindspore.communication.init = _with_cpu(mindspore.communication.init)
    twin = importlib.import_module("tb_npu_plugin.capture.mindspore.twin")
    mindspore.profiler.profile = twin.profile
    mindspore.profiler.Profiler = mindspore.Profiler = twin.Profiler
    importlib.import_module(_PLATFORM).resume()
    if _ANNOUNCED not in os.environ:
        os.environ[_ANNOUNCED] = "1"
        simulated = "tb-npu: the NPU is simulated: MindSpore computes on the CPU"
        print(f"{simulated}, and device times in profiles come from a model.", file=sys.stderr)


def _with_cpu(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the CPU instead of Ascend, and without the number of a device and HCCL."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        kwargs = {key: _on_cpu(value) for key, value in kwargs.items() if key not in _OF_DEVICES}
        if function.__name__ == "set_device":
            args = args[:1]  # its number comes second
        return function(*map(_on_cpu, args), **kwargs)

    return call


def _on_cpu(value: Any) -> Any:
    return {"Ascend": "CPU", "hccl": None}.get(value, value) if isinstance(value, str) else value


#: Module -> what is done once it is imported; nothing where there is an NPU.
CHANGES: dict[str, Callable[[Any], None]] = {
    # the profiler's platforms are registered by now, and nothing records yet: the next module reads MS_PROFILER_OPTIONS
    "mindspore.profiler.profiler": lambda module: importlib.import_module(_PLATFORM).activate(),
    "mindspore": _use_cpu,
}
if has_npu():
    CHANGES = {}
