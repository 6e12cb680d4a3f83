"""Records a capture with PyTorch's own profiler on the CPU."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tb_npu_plugin.capture.backend import RAW_FOLDER, HostSwitches, MemoryAction, Settings
from tb_npu_plugin.capture.mock.host import TRACE, HostData
from tb_npu_plugin.schema.torch_npu_json import SIMULATED

#: Devices of one server, as on the simulated chip: rank 8 is device 0 of the second one.
_DEVICES = 8
_ACTIONS = {"PREEXISTING": 1, "CREATE": 1, "INCREMENT_VERSION": 0, "DESTROY": -1}


class MockRecorder:
    """A Recorder (capture/backend.py). All of the work is PyTorch's; parsing happens later (mock/parse.py)."""

    def __init__(self) -> None:
        self._profiler: Any = None
        self._running = self._warm = False
        self._steps: dict[int, Any] = {}
        self._ranges: dict[int, tuple[int, int, str, str]] = {}
        self._children: dict[int, int] = {}
        self._lock = threading.Lock()

    def prepare(self, folder: Path, settings: Settings) -> None:
        """Make FRAMEWORK and a profiler."""
        import torch

        (folder / RAW_FOLDER).mkdir(mode=0o750)
        self._folder, self._settings = folder, settings
        self._data = HostData(settings, os.getpid(), _device(settings.rank), time.time_ns())
        self._data.write(folder)
        host = settings.host
        self._profiler = torch.profiler._KinetoProfile(
            activities=[torch.profiler.ProfilerActivity.CPU],
            # the device side is simulated from the shapes, whether they are shown or not
            record_shapes=host.record_shapes or settings.npu,
            profile_memory=host.profile_memory,
            # PyTorch tells the modules of a call with the stacks only
            with_stack=host.with_stack or host.with_modules,
            with_flops=host.with_flops,
            with_modules=host.with_modules,
            experimental_config=_config(torch, host),
        )

    def warmup(self) -> None:
        """Get PyTorch's profiler ready."""
        self._profiler.prepare_trace()
        self._warm = True

    def start(self) -> None:
        """Record from now."""
        if not self._warm:
            self.warmup()
        self._data.start, self._data.tid = time.time_ns(), threading.get_native_id()
        self._profiler.start_trace()
        self._running = True

    def stop(self) -> None:
        """Record no longer."""
        if not self._running:
            return
        for number in list(self._steps):
            self.step_end(number)
        self._running = False
        self._profiler.stop_trace()
        now = time.time_ns()
        with self._lock:
            self._data.end = now
            self._data.threads += [(tid, since, now) for tid, since in self._children.items()]
            for start, tid, message, domain in self._ranges.values():
                self._data.marks.append((start, None, tid, message, domain))
            self._children.clear()
            self._ranges.clear()

    # -- marks --------------------------------------------------------------------------------------
    def step_begin(self, number: int) -> None:
        """Open the mark of a step."""
        if self._running:
            import torch

            mark = self._steps[number] = torch.profiler.record_function(f"ProfilerStep#{number}")
            mark.__enter__()

    def step_end(self, number: int) -> None:
        """Close it."""
        mark = self._steps.pop(number, None)
        if mark is not None:
            mark.__exit__(None, None, None)

    def mark(self, message: str, domain: str, stream: int | None) -> None:
        """A point in time."""
        now = time.time_ns()
        self._data.marks.append((now, now, threading.get_native_id(), message, domain))

    def range_start(self, range_id: int, message: str, domain: str, stream: int | None) -> None:
        """Open a range."""
        self._ranges[range_id] = (time.time_ns(), threading.get_native_id(), message, domain)

    def range_end(self, range_id: int) -> None:
        """Close it."""
        now = time.time_ns()
        with self._lock:
            found = self._ranges.pop(range_id, None)
            if found is not None:
                self._data.marks.append((found[0], now, *found[1:]))

    def collection(self, start: int, end: int) -> None:
        """A garbage collection."""
        self._data.collections.append((start, end, threading.get_native_id()))

    def enable_child_thread(self, switches: HostSwitches) -> None:
        """Keep what the calling thread does. The switches are those of the capture."""
        if self._settings.host.profile_memory:
            raise RuntimeError("PyTorch does not record child threads together with profile_memory=True")
        with self._lock:
            self._children.setdefault(threading.get_native_id(), time.time_ns())

    def disable_child_thread(self) -> None:
        """Keep it no longer."""
        tid, now = threading.get_native_id(), time.time_ns()
        with self._lock:
            since = self._children.pop(tid, None)
            if since is not None:
                self._data.threads.append((tid, since, now))

    # -- end ----------------------------------------------------------------------------------------
    def finalize(self) -> Mapping[str, Any]:
        """Write what was recorded."""
        if self._data.end is None:
            raise RuntimeError("nothing was recorded")
        target = self._folder / RAW_FOLDER / TRACE
        temporary = target.with_suffix(".part")
        self._profiler.profiler.kineto_results.save(str(temporary))
        if not temporary.is_file():  # PyTorch logs why, and raises nothing
            raise OSError(f"PyTorch could not write {temporary}: is the disk full?")
        temporary.replace(target)
        self._data.write(self._folder)
        return {SIMULATED: True}

    def discard(self) -> None:
        """Let PyTorch's profiler go."""
        profiler, self._profiler = self._profiler, None
        if profiler is None:
            return
        if self._warm and not self._running and self._data.end is None:
            profiler.start_trace()  # one that is ready can only be stopped when it runs
            self._running = True
        if self._running:
            self._running = False
            profiler.stop_trace()

    def memory_actions(self, device: str) -> Sequence[MemoryAction]:
        """The memory of the CPU, which stands for that of the device where the NPU is recorded."""
        own = f"npu:{self._data.device}" if self._settings.npu else "cpu"
        return _actions(self._profiler) if device == own and self._profiler is not None else ()


def _device(rank: int | None) -> int:
    local = os.environ.get("LOCAL_RANK", "")
    return int(local) % _DEVICES if local.isdigit() else (rank or 0) % _DEVICES


def _config(torch: Any, host: HostSwitches) -> Any:
    """What this version of PyTorch offers of what we would like; None: nothing.

    profile_all_threads: PyTorch cannot begin with a thread later, so that all are recorded and those that were not asked
    for left out when parsing; it records no allocations then. trace_only: no Python objects of the events, which
    memory_actions alone needs.
    """
    timeline = host.profile_memory and host.record_shapes and (host.with_stack or host.with_modules)
    wanted = {"profile_all_threads": not host.profile_memory, "trace_only": not timeline}
    while wanted:
        try:
            return torch.profiler._ExperimentalConfig(**wanted)
        except TypeError:  # an older version: without the newest
            wanted.popitem()
    return None


def _actions(profiler: Any) -> list[MemoryAction]:
    """The timeline that PyTorch works out of shapes, stacks and allocations."""
    found = profiler._memory_profile()
    out: list[MemoryAction] = []
    for at, action, (key, version), size in found.timeline:
        name = action.name
        if name == "INCREMENT_VERSION":
            out.append(MemoryAction(at, name, -size, _category(found, key, version)))
            out.append(MemoryAction(at, name, size, _category(found, key, version + 1)))
        else:
            out.append(MemoryAction(at, name, size * _ACTIONS[name], _category(found, key, version)))
    return out


def _category(found: Any, key: Any, version: int) -> str:
    category = found._categories.get(key, version)
    return "UNKNOWN" if category is None else str(category.name)
