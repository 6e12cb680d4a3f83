"""Transitions between two steps: the table as data, and its controller.
Source: docs/facts/torch_npu_api.md, Transitions between actions."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from enum import Enum
from typing import Any, Callable, NamedTuple

from tb_npu_plugin.capture.api import messages
from tb_npu_plugin.capture.api.enums import ProfilerAction
from tb_npu_plugin.capture.api.interface import _ProfInterface


class Do(Enum):
    """One action; the value is its name in error messages."""

    INIT = "beginning a capture"
    WARMUP = "the warmup"
    START = "starting"
    STOP = "stopping"
    FINALIZE = "writing the recorded data"
    READY = "on_trace_ready"
    DELETE = "deleting the result folder"


class Transition(NamedTuple):
    """Actions in order, after the warning."""

    actions: tuple[Do, ...] = ()
    warning: str = ""


_N, _W, _R, _S = ProfilerAction
_SAVE = (Do.STOP, Do.FINALIZE, Do.READY)
#: (action of the step before, action of the next; None: the profiler is stopped).
TRANSITIONS: dict[tuple[ProfilerAction, ProfilerAction | None], Transition] = {
    (_N, _N): Transition(),
    (_N, _W): Transition((Do.INIT, Do.WARMUP)),
    (_N, _R): Transition((Do.INIT, Do.START)),
    (_N, _S): Transition((Do.INIT, Do.START)),
    (_W, _N): Transition((Do.START, Do.STOP, Do.FINALIZE), "Incorrect schedule: WARMUP followed by NONE"),
    (_W, _W): Transition(),
    (_W, _R): Transition((Do.START,)),
    (_W, _S): Transition((Do.START,)),
    (_R, _N): Transition((Do.STOP, Do.FINALIZE), "Incorrect schedule: RECORD followed by NONE"),
    (_R, _W): Transition((Do.STOP, Do.FINALIZE), "Incorrect schedule: RECORD followed by WARMUP"),
    (_R, _R): Transition(),
    (_R, _S): Transition(),
    (_S, _N): Transition(_SAVE),
    (_S, _W): Transition((*_SAVE, Do.INIT, Do.WARMUP)),
    (_S, _R): Transition((*_SAVE, Do.INIT, Do.START)),
    (_S, _S): Transition((*_SAVE, Do.INIT, Do.START)),
    (_N, None): Transition(),
    (_W, None): Transition(
        (Do.FINALIZE, Do.DELETE),
        "Incorrect schedule: Stop profiler while current state is WARMUP which will result in empty parsed data.",
    ),
    (_R, None): Transition(
        _SAVE,
        "Incorrect schedule: Stop profiler while current state is RECORD which may result in incomplete parsed data.",
    ),
    (_S, None): Transition(
        _SAVE,
        "Stop profiler while current state is RECORD_AND_SAVE, perhaps the scheduling cycle has not yet completed.",
    ),
}

#: What to do about a failure of the disk.
_HINTS = {
    errno.ENOSPC: "Free some space or choose another dir_name.",
    errno.EDQUOT: "Free some space or choose another dir_name.",
    errno.EACCES: "Choose a dir_name that can be written.",
    errno.EPERM: "Choose a dir_name that can be written.",
    errno.EROFS: "Choose a dir_name that can be written.",
}


class ActionController:
    """Runs transitions. A failure ends this capture with one ERROR line; the next INIT starts a new one."""

    def __init__(self, capture: _ProfInterface, observer: Any = None) -> None:
        self._observer = observer
        self._capture = capture
        self._failed = False
        self._in_handler = self._ended = False
        self._do: dict[Do, Callable[[], None]] = {
            Do.INIT: capture.init_trace,
            Do.WARMUP: capture.warmup_trace,
            Do.START: capture.start_trace,
            Do.STOP: capture.stop_trace,
            Do.FINALIZE: capture.finalize_trace,
            Do.DELETE: capture.delete_prof_dir,
        }

    def transit(
        self, before: ProfilerAction, after: ProfilerAction | None, ready: Callable[[], None] = lambda: None
    ) -> None:
        """Go from one action to the next. READY calls `ready`; if that stops the profile, the rest is skipped."""
        if self._in_handler:
            self._ended = True
            return
        transition = TRANSITIONS[before, after]
        if transition.warning:
            messages.warn(transition.warning)
        self.run(transition.actions, ready)

    def run(self, actions: Sequence[Do], ready: Callable[[], None] = lambda: None) -> None:
        """Run the actions; after a failure skip all until the next INIT."""
        try:
            self._ended = False
            for action in actions:
                self._run_one(action, ready)
        except BaseException:  # Ctrl-C: the training ends; in a notebook the next profile must be able to begin
            self._failed = True
            if not self._in_handler:
                self._capture.give_up()
            raise
        finally:
            self._in_handler = False

    def _run_one(self, action: Do, ready: Callable[[], None]) -> None:
        if action is Do.INIT:
            self._failed = False
        self._in_handler = False
        if self._failed or self._ended:
            return
        self._in_handler = action is Do.READY
        try:
            self._do.get(action, ready)()
        except Exception as problem:  # whatever it is, the training goes on
            self._fail(action, problem)
        else:
            self._notify_observer(action)

    def give_up(self) -> None:
        """Ctrl-C came between two actions: drop the current capture."""
        self._failed = True
        if self._capture.recording:
            self._capture.give_up()

    @property
    def in_handler(self) -> bool:
        """on_trace_ready runs."""
        return self._in_handler

    def _fail(self, action: Do, problem: Exception) -> None:
        self._failed = True
        if isinstance(problem, OSError) and problem.filename is None and action is not Do.READY:
            problem.filename = self._capture.prof_path or None  # a failed write has no file name
        hint = _HINTS.get(problem.errno or 0, "") if isinstance(problem, OSError) else ""
        text = f"Profiling failed in {action.value}: {messages.describe_error(problem)}"
        text += "" if text.endswith((".", "?", "!")) else "."
        messages.error(" ".join(filter(None, (text, hint, "The training goes on."))))
        if action is not Do.READY:
            self._capture.give_up()

    def _notify_observer(self, action: Do) -> None:
        """execution_trace_observer starts and stops after the profiler does."""
        name = {Do.START: "start", Do.STOP: "stop"}.get(action)
        if self._observer is None or name is None:
            return
        try:
            getattr(self._observer, name)()
        except Exception as problem:  # the user's object
            messages.error(f"execution_trace_observer.{name}() failed: {messages.describe_error(problem)}")
