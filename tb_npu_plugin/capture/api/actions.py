"""Transitions between two steps: the table as data, and its controller.
Source: docs/facts/torch_npu_api.md, Transitions between actions."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple

from tb_npu_plugin.capture.api import messages
from tb_npu_plugin.capture.api.interface import _ProfInterface
from tb_npu_plugin.capture.api.options import ProfilerAction


class Action(NamedTuple):
    """A part of a transition. name: in error messages; do: None calls on_trace_ready; observed: the method of
    execution_trace_observer that is called after it."""

    name: str
    do: Callable[[_ProfInterface], None] | None
    observed: str = ""


INIT = Action("beginning a capture", _ProfInterface.init_trace)
WARMUP = Action("the warmup", _ProfInterface.warmup_trace)
START = Action("starting", _ProfInterface.start_trace, "start")
STOP = Action("stopping", _ProfInterface.stop_trace, "stop")
FINALIZE = Action("writing the recorded data", _ProfInterface.finalize_trace)
READY = Action("on_trace_ready", None)
DELETE = Action("deleting the result folder", _ProfInterface.delete_prof_dir)


_N, _W, _R, _S = ProfilerAction
_BEGIN = {_N: (), _W: (INIT, WARMUP), _R: (INIT, START), _S: (INIT, START)}
_SAVE = (STOP, FINALIZE, READY)
#: (action of the step before, action of the next; None: the profiler is stopped). Those that are not listed do nothing.
TRANSITIONS: dict[tuple[ProfilerAction, ProfilerAction | None], tuple[Action, ...]] = {
    **{(_N, after): begin for after, begin in _BEGIN.items()},
    (_W, _N): (START, STOP, FINALIZE),
    (_W, _R): (START,),
    (_W, _S): (START,),
    (_R, _N): (STOP, FINALIZE),
    (_R, _W): (STOP, FINALIZE),
    **{(_S, after): (*_SAVE, *begin) for after, begin in _BEGIN.items()},
    (_W, None): (FINALIZE, DELETE),
    (_R, None): _SAVE,
    (_S, None): _SAVE,
}
_STOPPED = "Incorrect schedule: Stop profiler while current state is"
_WARNINGS = {
    (_W, _N): "Incorrect schedule: WARMUP followed by NONE",
    (_R, _N): "Incorrect schedule: RECORD followed by NONE",
    (_R, _W): "Incorrect schedule: RECORD followed by WARMUP",
    (_W, None): f"{_STOPPED} WARMUP which will result in empty parsed data.",
    (_R, None): f"{_STOPPED} RECORD which may result in incomplete parsed data.",
    (
        _S,
        None,
    ): "Stop profiler while current state is RECORD_AND_SAVE, perhaps the scheduling cycle has not yet completed.",
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
        if (before, after) in _WARNINGS:
            messages.warn(_WARNINGS[before, after])
        self.run(TRANSITIONS.get((before, after), ()), ready)

    def run(self, actions: Sequence[Action], ready: Callable[[], None] = lambda: None) -> None:
        """Run the actions; after a failure skip all until the next INIT."""
        self._ended = False
        try:
            for action in actions:
                self._failed = self._failed and action is not INIT
                self.in_handler = False
                if not self._failed and not self._ended:
                    self.in_handler = action is READY
                    self._run_one(action, ready)
        except BaseException:  # Ctrl-C: the training ends; in a notebook the next profile must be able to begin
            self._failed = True
            if not self.in_handler:
                self._capture.give_up()
            raise
        finally:
            self.in_handler = False

    def _run_one(self, action: Action, ready: Callable[[], None]) -> None:
        try:
            if action.do is None:
                ready()
            else:
                action.do(self._capture)
        except Exception as problem:  # whatever it is, the training goes on
            self._fail(action, problem)
            return
        if self._observer is not None and action.observed:
            try:
                getattr(self._observer, action.observed)()
            except Exception as problem:  # the user's object
                why = messages.describe_error(problem)
                messages.error(f"execution_trace_observer.{action.observed}() failed: {why}")

    def give_up(self) -> None:
        """Ctrl-C came between two actions: drop the current capture."""
        self._failed = True
        if self._capture.recording:
            self._capture.give_up()

    def _fail(self, action: Action, problem: Exception) -> None:
        self._failed = True
        if isinstance(problem, OSError) and problem.filename is None and action is not READY:
            problem.filename = self._capture.prof_path or None  # a failed write has no file name
        hint = _HINTS.get(problem.errno or 0, "") if isinstance(problem, OSError) else ""
        text = f"Profiling failed in {action.name}: {messages.describe_error(problem)}"
        text += "" if text.endswith((".", "?", "!")) else "."
        messages.error(" ".join(filter(None, (text, hint, "The training goes on."))))
        if action is not READY:
            self._capture.give_up()
