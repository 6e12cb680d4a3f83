"""The captures of a profile, one after the other: settings, folder, recorder, side files, what is done between two
steps. `profile.prof_if` of the API. Source: docs/facts/torch_npu_api.md, Transitions between actions."""

from __future__ import annotations

import errno
import gc
import time
import weakref
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Callable

from tb_npu_plugin.capture import backend, side_files
from tb_npu_plugin.capture.api import mstx, parsing, paths, settings
from tb_npu_plugin.capture.api.messages import describe_error, error, info, reason, warn
from tb_npu_plugin.capture.api.options import ProfilerAction, ProfilerActivity, _ExperimentalConfig
from tb_npu_plugin.capture.api.termination import Termination
from tb_npu_plugin.capture.backend import HostSwitches, Recorder, Settings
from tb_npu_plugin.csv_tables import read_table
from tb_npu_plugin.schema.dialects import NEW
from tb_npu_plugin.schema.torch_npu_json import PROFILER_METADATA

#: Part of a transition -> what error messages call it. "ready" calls on_trace_ready, others <name>_trace of _ProfInterface.
_ACTIONS = {
    "init": "beginning a capture",
    "warmup": "the warmup",
    "start": "starting",
    "stop": "stopping",
    "finalize": "writing the recorded data",
    "ready": "on_trace_ready",
    "delete": "deleting the result folder",
}


#: The actions of two steps (END: the profiler is stopped) -> "actions" between them, keys of _ACTIONS, and "warning".
#: Those that are not listed do nothing.
_TRANSITIONS = read_table(__file__, "transitions.csv", dict[str, str])
_KEPT = "The process was told to end. The recorded data are kept. To parse them: analyse({!r})"
#: What to do about a failure of the disk.
_HINTS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "Free some space or choose another dir_name."),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "Choose a dir_name that can be written."),
}
#: Interfaces with a capture in progress: at most one in a process.
_busy: weakref.WeakSet[_ProfInterface] = weakref.WeakSet()


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
    """Records the captures of a profile. The *_trace methods may raise; a failure ends this capture with one ERROR line,
    and the next "init" starts a new one."""

    activities: set[ProfilerActivity]
    host: HostSwitches
    experimental_config: _ExperimentalConfig
    metadata: dict[str, Any]
    trace_id_callback: Callable[[], Any] | None
    schedule: Any = None
    observer: Any = None

    def __post_init__(self) -> None:
        #: The result folder, "" before the first capture and after a failure.
        self.prof_path = ""
        self.trace_id = ""
        self._temporary: list[Path] = []
        self._recorder: Recorder | None = None
        self.recorded: Recorder | None = None  # of the last capture that was finalized; kept for its memory timeline
        self._settings = Settings()
        self._gc: Callable[..., None] | None = None
        self._marks = mstx.AutomaticMarks()
        self._termination = Termination()
        self._start_info: dict[str, Any] = {}
        self._marks_failed = False
        self._began = False  # recording has begun
        self._failed = self._ended = False
        #: on_trace_ready runs.
        self.in_handler = False

    @property
    def recording(self) -> bool:
        return self._recorder is not None

    @property
    def state(self) -> ProfilerAction:
        if self._recorder is None:
            return ProfilerAction.NONE
        return ProfilerAction.RECORD if self._began else ProfilerAction.WARMUP

    def transit(self, before: ProfilerAction, after: ProfilerAction | None, ready: Callable[[], None]) -> None:
        """Go from one action to the next. "ready" calls `ready`; if that stops the profile, the rest is skipped."""
        if self.in_handler:
            self._ended = True
            return
        found = _TRANSITIONS.get(f"{before.name} to {after.name if after else 'END'}", {})
        if "warning" in found:
            warn(found["warning"])
        self.run(found.get("actions", "").split(), ready)

    def run(self, actions: Sequence[str], ready: Callable[[], None] = lambda: None) -> None:
        """Run the actions; after a failure skip all until the next "init"."""
        self._ended = False
        try:
            for action in actions:
                self._failed = self._failed and action != "init"
                self.in_handler = False
                if not self._failed and not self._ended:
                    self.in_handler = action == "ready"
                    self._run_one(action, ready)
        except BaseException:  # Ctrl-C: the training ends; in a notebook the next profile must be able to begin
            self._failed = True
            if not self.in_handler:
                self._drop()
            raise
        finally:
            self.in_handler = False

    def _run_one(self, action: str, ready: Callable[[], None]) -> None:
        try:
            (ready if action == "ready" else getattr(self, f"{action}_trace"))()
        except Exception as problem:  # whatever it is, the training goes on
            self._failed = True
            if isinstance(problem, OSError) and problem.filename is None and action != "ready":
                problem.filename = self.prof_path or None  # a failed write has no file name
            hint = _HINTS.get(problem.errno or 0, "") if isinstance(problem, OSError) else ""
            text = f"Profiling failed in {_ACTIONS[action]}: {describe_error(problem)}"
            text += "" if text.endswith((".", "?", "!")) else "."
            error(" ".join(filter(None, (text, hint, "The training goes on."))))
            if action != "ready":
                self._drop()
            return
        if self.observer is not None and action in ("start", "stop"):  # it has these two methods
            try:
                getattr(self.observer, action)()
            except Exception as problem:  # the user's object
                error(f"execution_trace_observer.{action}() failed: {describe_error(problem)}")

    def give_up(self) -> None:
        """Ctrl-C came between two actions: drop the current capture."""
        self._failed = True
        if self.recording:
            self._drop()

    def init_trace(self) -> None:
        """Make the result folder and get a recorder for it."""
        self.prof_path = ""
        if any(other.recording for other in _busy):
            gc.collect()  # a profile without references stops when it is collected, which a reference cycle can delay
        if any(other.recording for other in _busy):
            raise RuntimeError("another profile of this process is recording; stop it first")
        self.recorded, self._start_info, self._marks_failed, self._began = None, {}, False, False
        self.trace_id = settings.new_trace_id(self.trace_id_callback)
        folder, temporary = paths.PLACE.create()
        if temporary:
            self._temporary.append(folder)
        self.prof_path = str(folder)
        try:
            self._settings = settings.make(self.experimental_config, self.activities, self.host)
            self._recorder = backend.new_recorder(folder, self._settings)
        except BaseException:  # Ctrl-C, too
            paths.remove(folder)
            raise
        _busy.add(self)

    def warmup_trace(self) -> None:
        self._current.warmup()

    def start_trace(self) -> None:
        recorder = self._current
        self._start_info = {"syscnt_enable": False, "freq": 100, "start_cnt": 0, "start_monotonic": time.monotonic_ns()}
        self._write_info(None)  # so that analyse can parse the folder of a killed run
        # Before recorder.start(): with_stack would record hundreds of these functions in front of the first step.
        self._termination.start(self._keep)
        if self._settings.mstx:
            self._marks.start(self.host.with_flops and self.experimental_config._msprof_tx)  # as torch_npu
        recorder.start()
        self._began = True
        mstx.recorder = recorder
        if self._settings.gc_threshold is not None:
            self._gc = _watch_collections(self._settings.gc_threshold, recorder.collection)

    def stop_trace(self) -> None:
        self._termination.hold()
        self._close()
        self._current.stop()
        self._marks.stop()

    def finalize_trace(self) -> None:
        """Write what was recorded, profiler_info and profiler_metadata."""
        recorder, folder = self._current, Path(self.prof_path)
        if not self._start_info:  # stopped before it recorded: the folder of a warmup is deleted next
            self._recorder = None
            recorder.discard()
            self._termination.stop()
            return
        added = recorder.finalize(settings.groups())
        self._write_info({"collectionTimeEnd": time.time_ns(), "MonotonicTimeEnd": time.monotonic_ns()})
        variables = self._settings.environment if "text" in self._settings.export_types else None
        groups = self._settings.groups or settings.groups()
        if content := side_files.metadata(self.metadata, variables, groups, self.trace_id, added):
            side_files.write(folder / PROFILER_METADATA.name, content)
        self.metadata.clear()
        self._recorder = None
        # It is large, and only the memory timeline needs it.
        self.recorded = recorder if not self.missing_for_memory_timeline() else None
        if self._termination.pending and folder not in self._temporary:
            info(_KEPT.format(self.prof_path))
        self._termination.stop()

    def _keep(self) -> None:
        """The process is about to end: write the recorded data, to be parsed later."""
        if self._began:
            self.stop_trace()
            self.finalize_trace()
            info(_KEPT.format(self.prof_path))

    def delete_trace(self) -> None:
        """Delete the result folder of this capture."""
        folder, self.prof_path = Path(self.prof_path), ""
        self._temporary = [other for other in self._temporary if other != folder]
        paths.remove(folder)

    def _drop(self) -> None:
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
        while self._temporary:
            paths.remove(self._temporary.pop())

    def _close(self) -> None:
        """Detach the recorder from marks and the garbage collector."""
        if self._gc in gc.callbacks:
            gc.callbacks.remove(self._gc)
        if self._recorder is not None:
            mstx.recorder = None

    @property
    def _current(self) -> Recorder:
        if self._recorder is None:
            raise RuntimeError("no capture has begun since the last one ended")
        return self._recorder

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

    def analyse(self, async_mode: bool = False) -> None:
        if folder := self.finished_folder():
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

    def missing_for_memory_timeline(self) -> list[str]:
        """The settings that export_memory_timeline needs and that are off."""
        there = {"record_shapes=True": self.host.record_shapes, "profile_memory=True": self.host.profile_memory}
        there["with_stack=True or with_modules=True"] = self.host.with_stack or self.host.with_modules
        return [setting for setting, on in there.items() if not on]

    def _write_info(self, end: dict[str, Any] | None) -> None:
        activities = [str(item) for item in ProfilerActivity if item in self.activities]
        common = {"activities": activities, "schedule": side_files.attributes(self.schedule), **asdict(self.host)}
        experimental = side_files.attributes(self.experimental_config)
        content = side_files.info(common, experimental, self._start_info, end, NEW.versions, settings.rank_id())
        side_files.write_info(Path(self.prof_path), content)
