"""One capture after the other: settings, folder, recorder, side files. `profile.prof_if` of the API."""

from __future__ import annotations

import gc
import time
import weakref
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Callable

from tb_npu_plugin.capture import backend, side_files
from tb_npu_plugin.capture.api import mstx, parsing, paths, ranks, settings
from tb_npu_plugin.capture.api.messages import error, info, reason, warn
from tb_npu_plugin.capture.api.options import ProfilerAction, ProfilerActivity, _ExperimentalConfig
from tb_npu_plugin.capture.api.termination import Termination
from tb_npu_plugin.capture.backend import HostSwitches, Json, Recorder, Settings
from tb_npu_plugin.schema.torch_npu_json import PROFILER_METADATA

#: Interfaces with a capture in progress: at most one in a process.
_busy: weakref.WeakSet[_ProfInterface] = weakref.WeakSet()


def _another_records() -> bool:
    """Another profile records. A profile without references stops when it is collected, which a reference cycle can delay."""
    if any(other.recording for other in _busy):
        gc.collect()
    return any(other.recording for other in _busy)


def _watch_collections(threshold: float, report: Callable[[int, int], None]) -> Callable[..., None]:
    """Call report(start, end) for each garbage collection of at least `threshold` ms. Returns what to take from gc.callbacks.

    Source: docs/facts/torch_npu_api.md, Garbage collection."""
    least, began = threshold * 1_000_000, 0  # an int of any size stays one

    def watch(phase: str, details: dict[str, Any]) -> None:
        nonlocal began
        now = time.time_ns()
        if phase == "stop" and began and now - began >= least:
            report(began, now)
        began = now if phase == "start" else 0

    gc.callbacks.append(watch)
    return watch


@dataclass(eq=False)
class _ProfInterface:
    """Records the captures of a profile. The *_trace methods may raise."""

    activities: set[ProfilerActivity]
    host: HostSwitches
    experimental_config: _ExperimentalConfig
    metadata: dict[str, Any]
    trace_id_callback: Callable[[], Any] | None
    schedule: Any = None

    def __post_init__(self) -> None:
        #: The result folder, "" before the first capture and after a failure.
        self.prof_path = ""
        self.trace_id = ""
        self._temporary: list[Path] = []
        self._recorder: Recorder | None = None
        self._recorded: Recorder | None = None  # of the last capture that was finalized
        self._settings = Settings()
        self._gc: Callable[..., None] | None = None
        self._marks = mstx.AutomaticMarks()
        self._termination = Termination()
        self._start_info: dict[str, Any] = {}
        self._marks_failed = False
        self._began = False  # recording has begun

    @property
    def recording(self) -> bool:
        return self._recorder is not None

    @property
    def state(self) -> ProfilerAction:
        if self._recorder is None:
            return ProfilerAction.NONE
        return ProfilerAction.RECORD if self._began else ProfilerAction.WARMUP

    # -- one capture ---------------------------------------------------------------------------------
    def init_trace(self) -> None:
        """Make the result folder and get a recorder for it."""
        self.prof_path = ""
        if _another_records():
            raise RuntimeError("another profile of this process is recording; stop it first")
        self._recorded, self._start_info, self._marks_failed, self._began = None, {}, False, False
        self.trace_id = settings.new_trace_id(self.trace_id_callback)
        folder, temporary = paths.PLACE.create()
        if temporary:
            self._temporary.append(folder)
        self.prof_path = str(folder)
        try:
            self._settings = settings.make(self.experimental_config, self.activities, self.host)
            recorder = backend.new_recorder()
            recorder.prepare(folder, self._settings)
        except BaseException:  # Ctrl-C, too
            paths.remove(folder)
            raise
        self._recorder = recorder
        _busy.add(self)

    def warmup_trace(self) -> None:
        self._required_recorder().warmup()

    def start_trace(self) -> None:
        recorder = self._required_recorder()
        self._start_info = {"syscnt_enable": False, "freq": 100, "start_cnt": 0, "start_monotonic": time.monotonic_ns()}
        self._write_info(None)  # so that analyse can parse the folder of a killed run
        # Before recorder.start(): with_stack would record hundreds of these functions in front of the first step.
        self._termination.start(self._keep)
        if self._settings.mstx:
            self._marks.start(self.host.with_flops and self.experimental_config._msprof_tx)  # as torch_npu
        recorder.start()
        self._began = True
        mstx.session = mstx.Session(recorder, self._settings)
        if self._settings.gc_threshold is not None:
            self._gc = _watch_collections(self._settings.gc_threshold, recorder.collection)

    def stop_trace(self) -> None:
        self._termination.hold()
        self._close()
        self._required_recorder().stop()
        self._marks.stop()

    def finalize_trace(self) -> None:
        """Write what was recorded, profiler_info and profiler_metadata."""
        recorder, folder = self._required_recorder(), Path(self.prof_path)
        if not self._start_info:  # stopped before it recorded: the folder of a warmup is deleted next
            self._recorder = None
            recorder.discard()
            self._termination.stop()
            return
        added = recorder.finalize(ranks.groups())
        self._write_info({"collectionTimeEnd": time.time_ns(), "MonotonicTimeEnd": time.monotonic_ns()})
        variables = self._settings.environment if "text" in self._settings.export_types else None
        groups = self._settings.groups or ranks.groups()
        content = side_files.metadata(self.metadata, variables, groups, self.trace_id, added)
        if content:
            side_files.write(folder / PROFILER_METADATA.name, content)
        self.metadata.clear()
        self._recorder = None
        # It is large, and only the memory timeline needs it.
        self._recorded = recorder if not self.missing_for_memory_timeline() else None
        if self._termination.pending and folder not in self._temporary:
            self._report_kept()
        self._termination.stop()

    def _keep(self) -> None:
        """The process is about to end: write the recorded data, to be parsed later."""
        if not self._began:
            return
        self.stop_trace()
        self.finalize_trace()
        self._report_kept()

    def _report_kept(self) -> None:
        info(f"The process was told to end. What it recorded is kept; parse it: analyse({self.prof_path!r})")

    def delete_prof_dir(self) -> None:
        """Delete the result folder of this capture, if there is one."""
        if not self.prof_path:
            return
        folder, self.prof_path = Path(self.prof_path), ""
        self._temporary = [other for other in self._temporary if other != folder]
        paths.remove(folder)

    def give_up(self) -> None:
        """After a failure: discard the recorder. Recorded data stay on disk for analyse; a folder without data is deleted."""
        self._close()
        self._marks.stop()
        recorder, self._recorder = self._recorder, None
        folder, self.prof_path = self.prof_path, ""
        if recorder is not None:
            try:
                recorder.discard()
            except Exception as problem:  # the first failure was reported
                warn(f"The recorder did not stop cleanly: {reason(problem)}")
            if not self._began:
                paths.remove(Path(folder))
        self._termination.stop()

    def delete_temporary(self) -> None:
        """Delete the folders of export-only mode."""
        folders, self._temporary = self._temporary, []
        for folder in folders:
            paths.remove(folder)

    def _close(self) -> None:
        """Detach the recorder from marks and the garbage collector."""
        if self._gc in gc.callbacks:
            gc.callbacks.remove(self._gc)
        if self._recorder is not None:
            mstx.session = None

    def _required_recorder(self) -> Recorder:
        if self._recorder is None:
            raise RuntimeError("no capture has begun since the last one ended")
        return self._recorder

    # -- steps and threads ---------------------------------------------------------------------------
    def mark_step(self, method: str, number: int) -> None:
        """Open or close (step_begin, step_end) the mark of a step, if a capture runs. A failure is reported once per
        capture, and the training goes on."""
        if self._recorder is None:
            return
        try:
            getattr(self._recorder, method)(number)
        except Exception as problem:  # whatever it is
            if not self._marks_failed:
                self._marks_failed = True
                error(f"The mark of step {number} is not recorded: {reason(problem)}")

    # -- results -------------------------------------------------------------------------------------
    def analyse(self, async_mode: bool = False) -> None:
        folder = self.finished_folder()
        if folder is not None:
            parsing.parse_capture(folder, async_mode)

    def finished_folder(self) -> Path | None:
        """The folder of the last capture; None, and a warning, if no capture has ended."""
        if not self.prof_path:
            warn("Invalid profiling path.")
        elif self.recording:
            warn("The capture has not ended: call stop() first. Nothing is parsed or exported.")
        else:
            return Path(self.prof_path)
        return None

    def memory_timeline(self, device: str, raw: bool) -> Json:
        """The memory of a device in the last capture (backend.Recorder.memory_timeline)."""
        return self._recorded.memory_timeline(device, raw) if self._recorded else []

    def missing_for_memory_timeline(self) -> list[str]:
        """The settings that export_memory_timeline needs and that are off."""
        there = {
            "record_shapes=True": self.host.record_shapes,
            "profile_memory=True": self.host.profile_memory,
            "with_stack=True or with_modules=True": self.host.with_stack or self.host.with_modules,
        }
        return [setting for setting, on in there.items() if not on]

    def _write_info(self, end: dict[str, Any] | None) -> None:
        common = {
            "activities": [str(item) for item in ProfilerActivity if item in self.activities],
            "schedule": side_files.attributes(self.schedule),
            **asdict(self.host),
        }
        experimental = side_files.attributes(self.experimental_config)
        content = side_files.info(common, experimental, self._start_info, end, backend.VERSIONS, ranks.rank_id())
        side_files.write_info(Path(self.prof_path), content)
