"""Records a capture with PyTorch's own profiler on the CPU."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tb_npu_plugin.capture.backend import RAW_FOLDER, HostSwitches, MemoryAction, Settings
from tb_npu_plugin.capture.mock import observer, torch_profiler
from tb_npu_plugin.capture.mock.host import OBSERVED, SHAPES, TRACE, HostData
from tb_npu_plugin.schema.torch_npu_json import GROUPS, SIMULATED

#: group_name of the communicators of two ranks.
_BETWEEN_TWO = "p2p"


class Groups:
    """`known`: as Settings.groups."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self.known = dict(known)

    def of(self, communicator: str, peer: int | None) -> str:
        """The communicator that is used for all members (peer None), or with one of them (counted in the group)."""
        group = self.known.get(communicator)
        if peer is None or group is None or len(group["global_ranks"]) <= 2:
            return communicator
        ranks: list[int] = group["global_ranks"]
        own = ranks[group["group_rank"]]
        pair = sorted((own, ranks[peer]))
        name = f"{communicator}_{pair[0]}_{pair[1]}"
        self.known[name] = {"group_name": _BETWEEN_TWO, "group_rank": pair.index(own), "global_ranks": pair}
        return name


#: Devices of one server, as on the simulated chip: rank 8 is device 0 of the second one.
_DEVICES = 8
#: Steps of a capture for which a sample of the shapes saves nothing.
_SHORT = 1
_LOST = "The shapes of the step before the capture are not kept"
_UNSEEN = "The shapes of the capture are lost, so that no kernels will be simulated"
_SAMPLED = "The kernels of this capture take their shapes from one step before it, and miss those that change"
_RECORDED = "The kernels of this capture need shapes, and PyTorch records them"
_DEARER = (
    "Recording costs more by that; `tb-npu build-observer`, once for each PyTorch, builds what observes them instead"
)
_told: list[bool] = []


class MockRecorder:
    """A Recorder (capture/backend.py). All of the work is PyTorch's; parsing happens later (mock/parse.py).

    Kernels follow from shapes, and PyTorch takes more than twice as long to hand out operators with shapes as without. Where
    none are to be shown an observer beside PyTorch's profiler tells them. Where there is none they are recorded in one
    step before the capture alone, the first of the warm-up or, without one, the step before: in a session of its own,
    which ends before the capture. A capture of one step records its own then.
    """

    def __init__(self) -> None:
        self._profiler: Any = None
        self._sampler: Any = None  #: records the shapes of a step before the capture now
        self._sample: Any = None  #: did so; not written yet
        self._prepared = self._sampled = False
        self._observing = False
        self._observed: bytes | None = None
        self._running = self._warm = False
        self._steps: dict[int, Any] = {}
        self._ranges: dict[int, tuple[int, int, str, str, int | None]] = {}
        self._children: dict[int, int] = {}
        self._lock = threading.RLock()  # a signal may stop the recorder on a thread that holds it

    def prepare(self, folder: Path, settings: Settings) -> None:
        """Make FRAMEWORK."""
        torch_profiler.refuse_second()  # imports PyTorch: that it is missing shall be told now
        (folder / RAW_FOLDER).mkdir(mode=0o750)
        self._folder, self._settings, self._groups = folder, settings, Groups(settings.groups)
        self._data = HostData(settings, os.getpid(), _device(settings.rank), time.time_ns())
        self._data.write(folder)
        self._prepared = True
        self._save_sample()

    def sample(self, settings: Settings, stepping: bool) -> None:
        """Record the shapes of the step that begins, where that is worth it.

        An operator of another thread that runs on while the sample ends and the capture begins: PyTorch writes its end into
        memory of the sample, which is freed. So the sample is of this thread alone, if it is the one that will end the
        step, too: in another one PyTorch cannot end it.
        """
        short = settings.active is not None and settings.active <= _SHORT
        if short or not _are_shapes_hidden(settings) or observer.is_there():
            return
        torch_profiler.refuse_second()
        _tell_once(_SAMPLED)
        sampler = torch_profiler.make(HostSwitches(), shapes=True, all_threads=not stepping)
        sampler.prepare_trace()
        self._sampler = sampler  # as in start()
        torch_profiler.start_operators(sampler)

    def warmup(self, stepping: bool) -> None:
        """Get PyTorch's profiler ready, or record the shapes of the step that begins."""
        self.sample(self._settings, stepping)
        if self._sampler is None:
            self._get_ready()

    def _get_ready(self) -> None:
        needed = _are_shapes_hidden(self._settings) and not self._sampled and not observer.is_there()
        if needed:
            _tell_once(_RECORDED)
        self._profiler = torch_profiler.make(self._settings.host, self._settings.host.record_shapes or needed)
        self._profiler.prepare_trace()
        self._warm = True

    def _end_sample(self) -> None:
        """Stop recording the shapes of a step, and keep them. Where that fails, the capture records its own."""
        sampler, self._sampler = self._sampler, None
        try:
            torch_profiler.stop(sampler)
        except RuntimeError as problem:
            print(f"{_LOST}: {problem}", file=sys.stderr)
        except BaseException:  # Ctrl-C: discard() stops it
            self._sampler = sampler
            raise
        else:
            self._sample = sampler
        if self._prepared:
            self._save_sample()
            self._get_ready()

    def _save_sample(self) -> None:
        sample, self._sample = self._sample, None
        if sample is None:
            return
        try:
            torch_profiler.save(sample, self._folder / RAW_FOLDER / SHAPES)
            self._sampled = True
        except OSError as problem:
            print(f"{_LOST}: {problem}", file=sys.stderr)

    def start(self) -> None:
        """Record from now."""
        if self._sampler is not None:
            self._end_sample()
        if not self._warm:
            self._get_ready()
        torch_profiler.refuse_second()
        self._data.start, self._data.tid = time.time_ns(), threading.get_native_id()
        self._running = True  # before it does: discard() stops what Ctrl-C finds half begun
        if _are_shapes_hidden(self._settings) and observer.is_there():
            self._observing = True
            observer.start()
        self._profiler.start_trace()
        self._warm = False

    def stop(self) -> None:
        """Record no longer."""
        if not self._running:
            return
        for number in list(self._steps):
            self.step_end(number)
        self._running = False
        try:
            torch_profiler.stop(self._profiler)
        except KeyboardInterrupt:  # discard() stops it
            self._running = True
            raise
        finally:
            self._end_observing()
        now = max(self._data.start, time.time_ns())  # the clock may be set back
        with self._lock:
            self._data.end = now
            self._data.threads += [(tid, since, now) for tid, since in self._children.items()]
            self._data.marks += [(found[0], None, *found[1:]) for found in self._ranges.values()]
            self._children.clear()
            self._ranges.clear()

    def _end_observing(self) -> None:
        if not self._observing:
            return
        self._observing = False
        try:
            self._observed = observer.stop()
        except (RuntimeError, MemoryError) as problem:
            print(f"{_UNSEEN}: {problem}", file=sys.stderr)

    # -- marks --------------------------------------------------------------------------------------
    def step_begin(self, number: int) -> None:
        """Open the mark of a step."""
        if self._running:
            import torch

            mark = self._steps[number] = torch.profiler.record_function(f"ProfilerStep#{number}")
            mark.__enter__()

    def step_end(self, number: int) -> None:
        """Close it."""
        if self._sampler is not None:
            self._end_sample()
        mark = self._steps.pop(number, None)
        if mark is not None:
            mark.__exit__(None, None, None)

    def mark(self, message: str, domain: str, stream: int | None) -> None:
        """A point in time."""
        now = time.time_ns()
        self._data.marks.append((now, now, threading.get_native_id(), message, domain, stream))

    def range_start(self, range_id: int, message: str, domain: str, stream: int | None) -> None:
        """Open a range."""
        found = (time.time_ns(), threading.get_native_id(), message, domain, stream)
        with self._lock:
            self._ranges[range_id] = found

    def range_end(self, range_id: int) -> None:
        """Close it."""
        now = time.time_ns()
        with self._lock:
            found = self._ranges.pop(range_id, None)
            if found is not None:
                self._data.marks.append((found[0], max(found[0], now), *found[1:]))  # the clock may be set back

    def collection(self, start: int, end: int) -> None:
        """A garbage collection."""
        self._data.collections.append((start, end, threading.get_native_id()))

    def communicators(self, groups: Mapping[str, Any]) -> None:
        """All that there are now."""
        self._groups.known.update(groups)

    def communication(self, start: int, end: int | None, communicator: str, peer: int | None) -> None:
        """Which group communicates."""
        name = self._groups.of(communicator, peer)
        self._data.communication.append((start, end, threading.get_native_id(), name))

    def batch(self, start: int, end: int) -> None:
        """What communicates as one."""
        self._data.batches.append((start, end, threading.get_native_id()))

    def waited(self, at: int, start: int) -> None:
        """For which communication is waited."""
        self._data.waits.append((at, threading.get_native_id(), start))

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
        if self._observed is not None:
            (self._folder / RAW_FOLDER / OBSERVED).write_bytes(self._observed)
            self._observed = None
        torch_profiler.save(self._profiler, self._folder / RAW_FOLDER / TRACE)
        groups = dict(self._groups.known)  # a thread that still communicates may add one
        self._data.settings = replace(self._settings, groups=groups)
        self._data.write(self._folder)
        return {SIMULATED: True, **({GROUPS: groups} if groups else {})}

    def discard(self) -> None:
        """Let PyTorch's profiler go."""
        profiler, recording = self._sampler or self._profiler, self._running or self._sampler is not None
        self._sampler = self._sample = self._profiler = None
        if self._warm and not torch_profiler.is_running():
            profiler.start_trace()  # one that is ready can only be stopped when it runs
            recording = True
        self._warm = self._running = False
        try:
            if recording and torch_profiler.is_running():
                profiler.stop_trace()
        finally:
            self._end_observing()
            self._observed = None

    def memory_actions(self, device: str) -> Sequence[MemoryAction]:
        """The memory of the CPU, which stands for that of the device where the NPU is recorded."""
        own = f"npu:{self._data.device}" if self._settings.npu else "cpu"
        if device != own or self._profiler is None:
            return ()
        return torch_profiler.memory_actions(self._profiler)


def _tell_once(how: str) -> None:
    """What a process has for want of an observer, and what to do about it."""
    if not _told:
        _told.append(True)
        print(f"{how}. {_DEARER} (docs/capture.md)", file=sys.stderr)


def _are_shapes_hidden(settings: Settings) -> bool:
    """They are not to be shown, and needed all the same."""
    return settings.simulates and not settings.host.record_shapes


def _device(rank: int | None) -> int:
    local = os.environ.get("LOCAL_RANK", "")
    return int(local) % _DEVICES if local.isascii() and local.isdigit() else (rank or 0) % _DEVICES
