"""Backend ascend: on a host with an NPU, the API is torch_npu's own."""

from __future__ import annotations

import importlib
import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any

from tb_npu_plugin.capture.api.messages import warn

VARIABLE = "TB_NPU_BACKEND"
ASCEND, MOCK = "ascend", "mock"
#: Exported names that are modules of torch_npu.profiler.
SUBMODULES = ("dynamic_profile", "profiler")
#: Exported name -> module below torch_npu that has it; the others are in torch_npu.profiler.
_ELSEWHERE = {"analyse": "profiler.profiler", "mstx": "npu"}


def load() -> ModuleType | None:
    """torch_npu, where it is installed and has a device; None: use the mock device.

    TB_NPU_BACKEND=mock never asks; =ascend raises ImportError if something is missing.
    """
    requested = os.environ.get(VARIABLE, "")
    if requested not in ("", ASCEND, MOCK):
        warn(f"Invalid {VARIABLE}={requested}, which must be {ASCEND} or {MOCK}; it is ignored.")
        requested = ""
    if requested == MOCK:
        return None
    missing = "torch_npu is not installed"
    try:
        spec = importlib.util.find_spec("torch_npu")
        # not the package of that name that belongs to the simulated device
        if spec is not None and not str(spec.origin).startswith(str(Path(__file__).parent)):
            torch_npu = importlib.import_module("torch_npu")
            if torch_npu.npu.is_available():
                return torch_npu
            missing = "torch_npu finds no NPU"
    except Exception as problem:  # an import of native code fails in many ways
        missing = f"torch_npu cannot be imported: {problem}"
        if requested != ASCEND:
            warn(f"{missing}. The mock device is used instead.")
    if requested == ASCEND:
        raise ImportError(f"{VARIABLE}={ASCEND}, but {missing}.")
    return None


def attribute(name: str) -> Any:
    """The object of torch_npu that capture/pytorch.py has under this name. AttributeError where its release has none."""
    try:
        if name in SUBMODULES:
            return importlib.import_module(f"torch_npu.profiler.{name}")
        return getattr(importlib.import_module(f"torch_npu.{_ELSEWHERE.get(name, 'profiler')}"), name)
    except ImportError as problem:
        raise AttributeError(str(problem)) from problem
