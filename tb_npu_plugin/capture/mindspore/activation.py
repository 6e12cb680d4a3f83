"""Makes `mindspore` itself use the simulated NPU, for scripts that run under `tb-npu run`.

MindSpore is not imported here: what is to be changed is changed when the script imports it.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from tb_npu_plugin.capture.mindspore.environment import has_npu

#: What scripts ask for -> what MindSpore's build for the CPU has.
_WORDS = {"Ascend": "CPU", "hccl": None}
#: Settings of an NPU, which the CPU refuses.
_OF_DEVICES = ("device_id", "max_device_memory", "ascend_config")
_TOLD = "_TB_NPU_MINDSPORE_TOLD"
#: MindSpore's runtime profiler reads it at the first step.
RUNTIME_VARIABLE = "MS_ENABLE_RUNTIME_PROFILER"


def install() -> None:
    """Change MindSpore when it is imported, unless there is an NPU. Once a process."""
    if has_npu() or any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _Finder())


def _use_simulated_profiler(module: Any) -> None:
    """The profiler's platforms are registered by now, and nothing records yet."""
    os.environ.setdefault(RUNTIME_VARIABLE, "1")
    importlib.import_module("tb_npu_plugin.capture.mindspore.platform").activate()


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
    importlib.import_module("tb_npu_plugin.capture.mindspore.platform").resume()
    if _TOLD not in os.environ:
        os.environ[_TOLD] = "1"
        print(
            "tb-npu: the NPU is simulated: MindSpore computes on the CPU, and device times in profiles come from a model.",
            file=sys.stderr,
        )


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
    return _WORDS.get(value, value) if isinstance(value, str) else value


#: Module -> what is done once it is imported.
_CHANGES: dict[str, Callable[[Any], None]] = {
    "mindspore.profiler.profiler": _use_simulated_profiler,  # the next to be imported reads MS_PROFILER_OPTIONS
    "mindspore": _use_cpu,
}


class _Finder(MetaPathFinder):
    """Finds the modules of _CHANGES as always, and changes them when they are imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module that is to be changed; None for all others."""
        if fullname not in _CHANGES:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Changing(spec.loader, _CHANGES[fullname])
        return spec


class _Changing(Loader):
    """A loader that changes its module after it has been executed."""

    def __init__(self, loader: Any, change: Callable[[Any], None]) -> None:
        self._loader, self._change = loader, change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the loader does."""
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module, then change it."""
        self._loader.exec_module(module)
        self._change(module)
