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
from tb_npu_plugin.capture.api.messages import describe_error, warn

_OPTIONS = (
    *("ProfilerActivity", "ProfilerAction", "_ExperimentalConfig", "ProfilerLevel", "AiCMetrics", "ExportType"),
    *("HostSystem", "supported_activities", "supported_profiler_level", "supported_ai_core_metrics"),
    "supported_export_type",
)
#: Name -> module of capture/api that has it.
_HOMES = {
    **dict.fromkeys(("profile", "schedule", "tensorboard_trace_handler"), "profile"),
    **dict.fromkeys(_OPTIONS, "options"),
    "_KinetoProfile": "kineto",
    "_NonIntrusiveProfile": "dynamic_profile",
    "analyse": "parsing",
    "mstx": "mstx",
}
_found: Any = ascend.load()
#: "ascend" or "mock".
BACKEND = ascend.MOCK if _found is None else ascend.ASCEND

if _found is None:
    profiler = sys.modules[__name__]  # torch_npu.profiler.profiler has analyse
    dynamic_profile = importlib.import_module("tb_npu_plugin.capture.api.dynamic_profile")
    for _name, _home in _HOMES.items():
        globals()[_name] = getattr(importlib.import_module(f"tb_npu_plugin.capture.api.{_home}"), _name)
    dynamic_profile._NonIntrusiveProfile.init()
else:
    torch_npu = _found


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
    from tb_npu_plugin.capture.api.mstx import current_stream, mstx

    return SimpleNamespace(profiler=profiler, npu=SimpleNamespace(mstx=mstx, current_stream=current_stream))


__all__ = [_name for _name in (*_HOMES, "dynamic_profile", "BACKEND") if hasattr(sys.modules[__name__], _name)]
for _name in ascend.SUBMODULES:  # they can be imported from, as those of torch_npu.profiler
    if hasattr(sys.modules[__name__], _name):
        sys.modules[f"{__name__}.{_name}"] = getattr(sys.modules[__name__], _name)
