"""Transitions between two steps: the table as data, and its controller.
Source: docs/facts/torch_npu_api.md, Transitions between actions."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple

from tb_npu_plugin.capture.api import messages
from tb_npu_plugin.capture.api.enums import ProfilerAction
from tb_npu_plugin.capture.api.interface import _ProfInterface

#: The actions: methods of _ProfInterface, and on_trace_ready.
INIT, WARMUP, START = "init_trace", "warmup_trace", "start_trace"
STOP, FINALIZE, READY, DELETE = "stop_trace", "finalize_trace", "on_trace_ready", "delete_prof_dir"
#: Their names in error messages.
_NAMES = {
    INIT: "beginning a capture",
    WARMUP: "the warmup",
    START: "starting",
    STOP: "stopping",
    FINALIZE: "writing the recorded data",
    READY: READY,
    DELETE: "deleting the result folder",
}


class Transition(NamedTuple):
    """Actions in order, after the warning."""

    actions: tuple[str, ...] = ()
    warning: str = ""


_N, _W, _R, _S = ProfilerAction
_BEGIN = {_N: (), _W: (INIT, WARMUP), _R: (INIT, START), _S: (INIT, START)}
_SAVE = (STOP, FINALIZE, READY)
_EMPTY = "Incorrect schedule: Stop profiler while current state is WARMUP which will result in empty parsed data."
_PARTS = "Incorrect schedule: Stop profiler while current state is RECORD which may result in incomplete parsed data."
_CYCLE = "Stop profiler while current state is RECORD_AND_SAVE, perhaps the scheduling cycle has not yet completed."
#: (action of the step before, action of the next; None: the profiler is stopped). Those that are not listed do nothing.
TRANSITIONS: dict[tuple[ProfilerAction, ProfilerAction | None], Transition] = {
    **{(_N, after): Transition(begin) for after, begin in _BEGIN.items()},
    (_W, _N): Transition((START, STOP, FINALIZE), "Incorrect schedule: WARMUP followed by NONE"),
    (_W, _R): Transition((START,)),
    (_W, _S): Transition((START,)),
    (_R, _N): Transition((STOP, FINALIZE), "Incorrect schedule: RECORD followed by NONE"),
    (_R, _W): Transition((STOP, FINALIZE), "Incorrect schedule: RECORD followed by WARMUP"),
    **{(_S, after): Transition((*_SAVE, *begin)) for after, begin in _BEGIN.items()},
    (_W, None): Transition((FINALIZE, DELETE), _EMPTY),
    (_R, None): Transition(_SAVE, _PARTS),
    (_S, None): Transition(_SAVE, _CYCLE),
}

#: What to do about a failure of the disk.
_HINTS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "Free some space or choose another dir_name."),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "Choose a dir_name that can be written."),
}


class ActionController:
    """Runs transitions. A failure ends this capture with one ERROR line; the next INIT starts a new one."""

    def __init__(self, capture: _ProfInterface, observer: Any = None) -> None:
        self._observer = observer
        self._capture = capture
        self._failed = self._ended = False
        #: on_trace_ready runs.
        self.in_handler = False

    def transit(self, before: ProfilerAction, after: ProfilerAction | None, ready: Callable[[], None]) -> None:
        """Go from one action to the next. READY calls `ready`; if that stops the profile, the rest is skipped."""
        if self.in_handler:
            self._ended = True
            return
        transition = TRANSITIONS.get((before, after), Transition())
        if transition.warning:
            messages.warn(transition.warning)
        self.run(transition.actions, ready)

    def run(self, actions: Sequence[str], ready: Callable[[], None] = lambda: None) -> None:
        """Run the actions; after a failure skip all until the next INIT."""
        self._ended = False
        try:
            for action in actions:
                self._failed = self._failed and action != INIT
                self.in_handler = False
                if not self._failed and not self._ended:
                    self.in_handler = action == READY
                    self._run_one(action, ready if action == READY else getattr(self._capture, action))
        except BaseException:  # Ctrl-C: the training ends; in a notebook the next profile must be able to begin
            self._failed = True
            if not self.in_handler:
                self._capture.give_up()
            raise
        finally:
            self.in_handler = False

    def _run_one(self, action: str, do: Callable[[], None]) -> None:
        try:
            do()
        except Exception as problem:  # whatever it is, the training goes on
            self._fail(action, problem)
        else:
            self._notify_observer(action)

    def give_up(self) -> None:
        """Ctrl-C came between two actions: drop the current capture."""
        self._failed = True
        if self._capture.recording:
            self._capture.give_up()

    def _fail(self, action: str, problem: Exception) -> None:
        self._failed = True
        if isinstance(problem, OSError) and problem.filename is None and action != READY:
            problem.filename = self._capture.prof_path or None  # a failed write has no file name
        hint = _HINTS.get(problem.errno or 0, "") if isinstance(problem, OSError) else ""
        text = f"Profiling failed in {_NAMES[action]}: {messages.describe_error(problem)}"
        text += "" if text.endswith((".", "?", "!")) else "."
        messages.error(" ".join(filter(None, (text, hint, "The training goes on."))))
        if action != READY:
            self._capture.give_up()

    def _notify_observer(self, action: str) -> None:
        """execution_trace_observer starts and stops after the profiler does."""
        name = {START: "start", STOP: "stop"}.get(action)
        if self._observer is None or name is None:
            return
        try:
            getattr(self._observer, name)()
        except Exception as problem:  # the user's object
            messages.error(f"execution_trace_observer.{name}() failed: {messages.describe_error(problem)}")
