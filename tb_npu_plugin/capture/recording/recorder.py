"""Records a capture: the host with PyTorch's own profiler, the simulated device with its log."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from tb_npu_plugin.capture.backend import RAW_FOLDER, Json, Settings
from tb_npu_plugin.capture.device.records import NOTHING
from tb_npu_plugin.capture.recording import torch_profiler
from tb_npu_plugin.capture.recording.operations import TorchExchanges, describe
from tb_npu_plugin.capture.recording.raw_data import DEVICE, TRACE, HostData
from tb_npu_plugin.capture.simulation.chips import DEFAULT_CHIP
from tb_npu_plugin.schema.chips import CHIPS
from tb_npu_plugin.schema.torch_npu_json import GROUPS, SIMULATED

#: Devices of one server, as on the simulated chip: rank 8 is device 0 of the second one.
_DEVICES = 8


class MockRecorder:
    """A Recorder (capture/backend.py): PyTorch's profiler records the host, the simulated device itself what it does."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        torch_profiler.refuse_second()  # imports PyTorch: say now that it is missing
        (folder / RAW_FOLDER).mkdir(mode=0o750)
        self._folder, self.settings = folder, settings
        self._data = HostData(settings, os.getpid(), _device(settings.rank), time.time_ns())
        self._data.write(folder)
        self._profiler: Any = None
        self._device: Any = None  #: device.records, while the device records
        self._log = NOTHING
        self._running = self._warm = False
        self._steps: dict[int, Any] = {}
        self._ranges: dict[int, tuple[int, int, str, str, int | None]] = {}
        self._children: dict[int, int] = {}
        self._lock = threading.RLock()  # a signal may stop the recorder on a thread that holds it

    def warmup(self) -> None:
        self._profiler = torch_profiler.make(self.settings.host)
        torch_profiler.prepare(self._profiler)
        self._warm = True

    def start(self) -> None:
        if not self._warm:
            self.warmup()
        torch_profiler.refuse_second()
        self._data.start, self._data.tid = time.time_ns(), threading.get_native_id()
        self._running = True  # before it does: discard() stops what Ctrl-C finds half begun
        self._profiler.start_trace()
        if self.settings.npu or self.settings.host.profile_memory:
            self._start_device()
        self._warm = False

    def stop(self) -> None:
        if not self._running:
            return
        for number in list(self._steps):
            self.step_end(number)
        self._running = False
        try:
            torch_profiler.stop(self._profiler)
            device, self._device = self._device, None
            if device is not None:
                self._log = device.save(self._folder / RAW_FOLDER / DEVICE)
        except KeyboardInterrupt:  # discard() stops both
            self._running = True
            raise
        now = max(self._data.start, time.time_ns())  # the clock may be set back
        with self._lock:
            self._data.end = now
            self._data.threads += [(tid, since, now) for tid, since in self._children.items()]
            self._data.marks += [(found[0], None, *found[1:]) for found in self._ranges.values()]
            self._children.clear()
            self._ranges.clear()

    def _start_device(self) -> None:
        """Let the device record, if there is one."""
        if "torch_npu" not in sys.modules:
            return _say_once(
                "This process has no simulated NPU, so that the result shows the host alone. `tb-npu run SCRIPT` gives it "
                "one, and so does `from tb_npu_plugin.capture.pytorch import torch_npu` at the top of the script "
                "(docs/capture.md)"
            )
        from tb_npu_plugin.capture.device import records

        records.start()
        self._device = records
        return None

    def step_begin(self, number: int) -> None:
        if self._running:
            import torch

            mark = self._steps[number] = torch.profiler.record_function(f"ProfilerStep#{number}")
            mark.__enter__()

    def step_end(self, number: int) -> None:
        if (mark := self._steps.pop(number, None)) is not None:
            mark.__exit__(None, None, None)

    def mark(self, message: str, domain: str, stream: int | None) -> None:
        now = time.time_ns()
        self._data.marks.append((now, now, threading.get_native_id(), message, domain, stream))

    def range_start(self, range_id: int, message: str, domain: str, stream: int | None) -> None:
        found = (time.time_ns(), threading.get_native_id(), message, domain, stream)
        with self._lock:
            self._ranges[range_id] = found

    def range_end(self, range_id: int) -> None:
        now = time.time_ns()
        with self._lock:
            if (found := self._ranges.pop(range_id, None)) is not None:
                self._data.marks.append((found[0], max(found[0], now), *found[1:]))  # the clock may be set back

    def collection(self, start: int, end: int) -> None:
        self._data.collections.append((start, end, threading.get_native_id()))

    def enable_child_thread(self) -> None:
        if self.settings.host.profile_memory:
            raise RuntimeError("PyTorch does not record child threads together with profile_memory=True")
        with self._lock:
            self._children.setdefault(threading.get_native_id(), time.time_ns())

    def disable_child_thread(self) -> None:
        tid, now = threading.get_native_id(), time.time_ns()
        with self._lock:
            if (since := self._children.pop(tid, None)) is not None:
                self._data.threads.append((tid, since, now))

    def finalize(self, groups: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._data.end is None:
            raise RuntimeError("nothing was recorded")
        torch_profiler.save(self._profiler, self._folder / RAW_FOLDER / TRACE)
        settings = replace(self.settings, groups={**self.settings.groups, **groups})
        groups = {**settings.groups, **TorchExchanges(settings, CHIPS[DEFAULT_CHIP], self._log).pairs()}
        self._data.settings = replace(settings, groups=groups)
        self._data.write(self._folder)
        description, self._log = describe(self._log), NOTHING
        return {SIMULATED: description, **({GROUPS: groups} if groups else {})}

    def discard(self) -> None:
        profiler, recording = self._profiler, self._running
        self._profiler = None
        if self._warm and not torch_profiler.is_running():
            profiler.start_trace()  # one that is ready can only be stopped when it runs
            recording = True
        self._warm = self._running = False
        try:
            if recording and torch_profiler.is_running():
                profiler.stop_trace()
        finally:
            if self._device is not None:
                self._device.stop()
                self._device = None

    def memory_timeline(self, device: str, raw: bool) -> Json:
        return torch_profiler.memory_timeline(self._profiler, device, raw) if self._profiler is not None else []


#: Print a line for the user, once a process.
_say_once = cache(lambda text: print(text, file=sys.stderr))


def _device(rank: int | None) -> int:
    local = os.environ.get("LOCAL_RANK", "")
    return int(local) % _DEVICES if local.isascii() and local.isdigit() else (rank or 0) % _DEVICES
