"""The classes of `mindspore.profiler` with captures of the simulated NPU. Needs MindSpore."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from mindspore import log
from mindspore import profiler as original
from mindspore.profiler.common.profiler_meta_data import ProfilerMetaData
from mindspore.profiler.profiler import analyse as _analyse

from tb_npu_plugin.capture.mindspore.platform import is_recording, simulated, watch_sinking
from tb_npu_plugin.capture.mindspore.recorders import keep_for_captures

keep_for_captures()
watch_sinking()
_POINTS = ("FP_POINT", "BP_POINT")
_warned: set[str] = set()


def _in_simulation(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method with captures of the simulated NPU; it does nothing for a profile that was refused."""

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        if args and getattr(args[0], "_is_refused", False):
            return None
        with simulated():
            return method(*args, **kwargs)

    return call


class _Refusing:
    """A second profile while one records is refused: in MindSpore it breaks both, and all that come later."""

    _is_refused = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if is_recording():
            self._is_refused = True
            self._has_started = False
            log.error("Another profile of this process is recording; stop it first. This one records nothing.")
            return
        with simulated():
            super().__init__(*args, **kwargs)

    def __init_subclass__(cls) -> None:
        for name in ("start", "stop", "step", "analyse", "add_metadata", "add_metadata_json"):
            if (method := getattr(cls, name, None)) is not None:
                setattr(cls, name, _in_simulation(method))


class Profile(_Refusing, original.profile):  # type: ignore[misc]
    """`mindspore.profiler.profile`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        points = [name for name in _POINTS if os.environ.get(name)]
        if points and not _warned.issuperset(points):
            _warned.update(points)
            log.warning(f"{' and '.join(points)} are ignored: no MindSpore since 2.3 reads them.")
        super().__init__(*args, **kwargs)


class Profiler(_Refusing, original.Profiler):  # type: ignore[misc]
    """`mindspore.Profiler`, deprecated. FP_POINT and BP_POINT go into the metadata of its result."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not self._is_refused:
            ProfilerMetaData.metadata.update({name: os.environ[name] for name in _POINTS if os.environ.get(name)})


class DynamicProfilerMonitor(original.DynamicProfilerMonitor):  # type: ignore[misc]
    """`mindspore.profiler.DynamicProfilerMonitor`."""

    step_begin = _in_simulation(original.DynamicProfilerMonitor.step_begin)
    step_end = _in_simulation(original.DynamicProfilerMonitor.step_end)
    step = _in_simulation(original.DynamicProfilerMonitor.step)


profile = Profile  # as MindSpore names both
analyse = _in_simulation(_analyse)
