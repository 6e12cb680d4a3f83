"""The API of torch_npu.profiler, with or without an NPU.

    import tb_npu_plugin.capture.pytorch as profiler      # instead of: import torch_npu.profiler as profiler
    from tb_npu_plugin.capture.pytorch import torch_npu   # all of it: with PyTorch, the simulated device npu too
    from tb_npu_plugin.capture.pytorch.profiler import analyse   # instead of: from torch_npu.profiler.profiler

On a host with torch_npu and an NPU these are torch_npu's own objects; anywhere else the host side is recorded by
PyTorch's profiler and the device side is simulated. TB_NPU_BACKEND=ascend or =mock forces one of them.
"""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace
from typing import Any

from tb_npu_plugin.capture import ascend
from tb_npu_plugin.capture.api import dynamic_profile
from tb_npu_plugin.capture.api.dynamic_profile import _NonIntrusiveProfile
from tb_npu_plugin.capture.api.enums import (
    AiCMetrics,
    ExportType,
    HostSystem,
    ProfilerAction,
    ProfilerActivity,
    ProfilerLevel,
    supported_activities,
    supported_ai_core_metrics,
    supported_export_type,
    supported_profiler_level,
)
from tb_npu_plugin.capture.api.experimental_config import _ExperimentalConfig
from tb_npu_plugin.capture.api.kineto import _KinetoProfile
from tb_npu_plugin.capture.api.messages import describe_error, warn
from tb_npu_plugin.capture.api.mstx import current_stream, mstx
from tb_npu_plugin.capture.api.parsing import analyse
from tb_npu_plugin.capture.api.profile import profile, tensorboard_trace_handler
from tb_npu_plugin.capture.api.schedule import schedule

__all__ = [
    "profile",
    "ProfilerActivity",
    "supported_activities",
    "tensorboard_trace_handler",
    "schedule",
    "ProfilerAction",
    "_ExperimentalConfig",
    "supported_profiler_level",
    "supported_ai_core_metrics",
    "supported_export_type",
    "ProfilerLevel",
    "AiCMetrics",
    "ExportType",
    "HostSystem",
    "_KinetoProfile",
    "_NonIntrusiveProfile",
    "analyse",
    "dynamic_profile",
    "mstx",
    "BACKEND",
]

_found: Any = ascend.load()
#: "ascend" or "mock".
BACKEND = ascend.MOCK if _found is None else ascend.ASCEND

if _found is None:
    profiler = sys.modules[__name__]  # torch_npu.profiler.profiler has analyse
    _NonIntrusiveProfile.init()
else:
    torch_npu = _found
    for _name in __all__[:-1]:
        del globals()[_name]


def __getattr__(name: str) -> Any:
    """A name of torch_npu; torch_npu itself is made when a script asks for it, since it loads PyTorch."""
    if _found is not None and not name.startswith("__"):  # those are of modules
        return ascend.attribute(name)
    if name != "torch_npu":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = _stand_in()
    return globals()[name]


def _stand_in() -> Any:
    """torch_npu with the simulated device; without PyTorch, or where the device cannot be built, its profiler alone."""
    from tb_npu_plugin.capture.device.build import NotBuilt
    from tb_npu_plugin.capture.device.load import import_torch_npu

    try:
        importlib.import_module("torch")
        return import_torch_npu()
    except ModuleNotFoundError:  # the profiler says what is missing when it begins
        pass
    except (ImportError, OSError, NotBuilt) as problem:
        warn(f"There is no simulated NPU, only its profiler: {describe_error(problem)}")
    profiler = sys.modules[__name__]
    return SimpleNamespace(profiler=profiler, npu=SimpleNamespace(mstx=mstx, current_stream=current_stream))


__all__ = [_name for _name in __all__ if hasattr(sys.modules[__name__], _name)]
for _name in ascend.SUBMODULES:  # they can be imported from, as those of torch_npu.profiler
    if hasattr(sys.modules[__name__], _name):
        sys.modules[f"{__name__}.{_name}"] = getattr(sys.modules[__name__], _name)
