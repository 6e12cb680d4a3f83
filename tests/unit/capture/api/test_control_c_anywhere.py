"""Ctrl-C at any line of the API: nothing records on, and the next capture begins, as in a notebook."""

from __future__ import annotations

import contextlib
import gc
import itertools
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from tb_npu_plugin.capture.api import session
from tb_npu_plugin.capture.api.enums import AiCMetrics
from tb_npu_plugin.capture.api.experimental_config import _ExperimentalConfig
from tb_npu_plugin.capture.api.interface import _busy
from tb_npu_plugin.capture.api.kineto import _KinetoProfile
from tb_npu_plugin.capture.api.profile import profile
from tb_npu_plugin.capture.api.schedule import schedule
from tests.unit.capture.api.conftest import Recorded, Said

#: Lines between two moments at which it comes: not a divisor of what is done in each step.
STRIDE = 11
CODE = "/tb_npu_plugin/capture/api/"


def _scheduled() -> None:
    config = _ExperimentalConfig(aic_metrics=AiCMetrics.AiCoreNone, mstx=True, gc_detect_threshold=0.0)
    plan = schedule(wait=1, warmup=1, active=1, repeat=1)
    with profile(schedule=plan, on_trace_ready=lambda prof: None, experimental_config=config) as prof:
        for _ in range(4):
            prof.step()


def _without_a_schedule() -> None:
    with profile(on_trace_ready=lambda prof: None):
        pass


def _kineto() -> None:
    with _KinetoProfile():
        pass


class Interrupted:
    """Runs something with SIGINT at one line of the API; lines: how many it has gone through."""

    def __init__(self, at: int) -> None:
        self._at = at
        self.lines = 0
        self.place = ""

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self.lines += 1
            if self.lines == self._at:
                self.place = f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"
                signal.raise_signal(signal.SIGINT)
        return self._line

    def _call(self, frame: FrameType, event: str, _: Any) -> Any:
        return self._line if CODE in frame.f_code.co_filename else None

    def run(self, work: Callable[[], None]) -> None:
        before = sys.gettrace()
        with contextlib.suppress(KeyboardInterrupt):
            try:
                sys.settrace(self._call)
                work()
            finally:
                sys.settrace(before)


def _left(log: list[str]) -> list[str]:
    """What is not as before the capture. log: calls of its recorders."""
    calls = [call for call in log if call in ("start", "stop", "discard")]
    handlers = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }
    found = {
        "a recorder that runs": bool(calls) and calls[-1] == "start",
        "a session": session.current_session() is not None,
        "a capture": any(one.recording for one in _busy),
        "a signal": any(signal.getsignal(number) != handler for number, handler in handlers.items()),
        "a callback of the collector": any("_watch" in repr(one) for one in gc.callbacks),
    }
    return [what for what, there in found.items() if there]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in __del__ Python drops it
@pytest.mark.parametrize("work", [_scheduled, _without_a_schedule, _kineto])
def test_the_capture_ends(work: Callable[[], None], recorded: Recorded, said: Said) -> None:
    """Causes: step() had taken the next action already, so that stop() had nothing to stop; a capture that had not begun to
    record kept SIGINT; a signal was taken before it was noted that it was."""
    for at in itertools.count(1, STRIDE):
        moment = Interrupted(at)
        moment.run(work)
        if not moment.place:  # later than its last line, of which a collection of garbage makes more or fewer
            break
        assert _left(recorded.take()) == [], moment.place
        assert not [text for kind, text in said() if kind == "ERROR"], moment.place
    assert moment.lines > 200 and "start" in recorded.take()
    work()
    assert [call for call in recorded.take() if call in ("start", "stop", "finalize")] == ["start", "stop", "finalize"]
