"""The transition table, row by row, through a profile and a fake recorder.
Source: docs/facts/torch_npu_api.md, Transitions between actions."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture.api.actions import TRANSITIONS
from tb_npu_plugin.capture.api.enums import ProfilerAction
from tb_npu_plugin.capture.api.profile import profile
from tests.unit.capture.api.conftest import Recorded, Said, make_profile

N, W, R, S = ProfilerAction
INIT_START, INIT_WARMUP = ["prepare", "start"], ["prepare", "warmup"]
END = ["stop", "finalize"]
SAVE = [*END, "ready"]
PERHAPS = "Stop profiler while current state is RECORD_AND_SAVE, perhaps the scheduling cycle has not yet completed."
EMPTY = "Incorrect schedule: Stop profiler while current state is WARMUP which will result in empty parsed data."
PARTS = "Incorrect schedule: Stop profiler while current state is RECORD which may result in incomplete parsed data."

#: before, after (None: stop), what is done, what is printed.
ROWS: list[tuple[ProfilerAction, ProfilerAction | None, list[str], str]] = [
    (N, N, [], ""),
    (N, W, INIT_WARMUP, ""),
    (N, R, INIT_START, ""),
    (N, S, INIT_START, ""),
    (W, N, ["start", *END], "Incorrect schedule: WARMUP followed by NONE"),
    (W, W, [], ""),
    (W, R, ["start"], ""),
    (W, S, ["start"], ""),
    (R, N, END, "Incorrect schedule: RECORD followed by NONE"),
    (R, W, END, "Incorrect schedule: RECORD followed by WARMUP"),
    (R, R, [], ""),
    (R, S, [], ""),
    (S, N, SAVE, ""),
    (S, W, [*SAVE, *INIT_WARMUP], ""),
    (S, R, [*SAVE, *INIT_START], ""),
    (S, S, [*SAVE, *INIT_START], ""),
    (N, None, [], ""),
    (W, None, ["discard"], EMPTY),
    (R, None, SAVE, PARTS),
    (S, None, SAVE, PERHAPS),
]


def _profile(actions: list[ProfilerAction], recorded: Recorded, **arguments: Any) -> profile:
    def ready(prof: profile) -> None:
        assert Path(prof.prof_if.prof_path, "profiler_info.json").is_file()  # after finalize
        recorded.log.append("ready")

    return make_profile(schedule=lambda step: actions[step], on_trace_ready=ready, **arguments)


def test_the_table_is_whole() -> None:
    assert [(before, after) for before, after, _, _ in ROWS] == list(TRANSITIONS)


@pytest.mark.parametrize(("before", "after", "done", "warning"), ROWS)
def test_row(
    before: ProfilerAction, after: ProfilerAction | None, done: list[str], warning: str, recorded: Recorded, said: Said
) -> None:
    prof = _profile([before, after or N], recorded)
    prof.start()
    folder = prof.prof_if.prof_path
    recorded.take()
    assert said() == []
    if after is None:
        prof.stop()
    else:
        prof.step()
    assert recorded.take_captures() == done
    assert said() == ([("WARNING", warning)] if warning else [])
    assert Path(folder).is_dir() == ((before, after) != (W, None))


def _two_cycles(call: str, problem: Exception, recorded: Recorded) -> None:
    """Two captures, in the first of which a call fails."""
    prof = _profile([W, R, S, N] * 2 + [N], recorded)
    recorded.fail[call] = problem
    prof.start()
    for step in range(1, 9):
        if step == 4:
            recorded.fail.clear()
        prof.step()
    prof.stop()


FULL = "No space left on device"
FREE = "Free some space or choose another dir_name."
#: The call that fails, the failure, what is said about it and what to do.
FAILURES: list[tuple[str, Exception, str, str]] = [
    ("prepare", OSError(errno.ENOSPC, FULL, "/full/FRAMEWORK"), f"{FULL}: '/full/FRAMEWORK'", FREE),
    ("finalize", OSError(errno.ENOSPC, FULL), "_ascend_pt'. Free", FREE),  # a failed write has no file name
    ("start", OSError(errno.EROFS, "Read-only file system", "/ro"), "'/ro'", "Choose a dir_name that can be written."),
    ("warmup", RuntimeError("broken"), "broken", ""),
    ("stop", AssertionError(), "AssertionError", ""),
]


@pytest.mark.parametrize(("call", "problem", "reason", "hint"), FAILURES)
def test_a_failing_recorder_ends_one_capture(
    call: str, problem: Exception, reason: str, hint: str, recorded: Recorded, said: Said
) -> None:
    _two_cycles(call, problem, recorded)
    [text] = said.errors()
    assert reason in text
    assert hint in text
    assert text.endswith("The training goes on.")
    assert recorded.log.count("ready") == 1  # of the second cycle
    assert len(list(Path().glob("*_ascend_pt"))) == (2 if call in ("stop", "finalize") else 1)  # those with data


@pytest.mark.parametrize("call", ["step_begin", "step_end"])
def test_a_failing_mark_does_not_end_the_capture(call: str, recorded: Recorded, said: Said) -> None:
    _two_cycles(call, RuntimeError("broken"), recorded)
    assert said.errors() == ["The mark of step 0 is not recorded: broken"]
    assert recorded.log.count("ready") == 2


def test_a_handler_that_fails_does_not_cost_the_next_capture(recorded: Recorded, said: Said) -> None:
    def ready(prof: profile) -> None:
        raise KeyError("mine")

    prof = make_profile(schedule=lambda step: S, on_trace_ready=ready)
    prof.start()
    prof.step()
    assert recorded.take_captures() == [*INIT_START, *END, *INIT_START]
    assert said() == [("ERROR", "Profiling failed in on_trace_ready: KeyError: 'mine'. The training goes on.")]
    prof.stop()
    assert Path(prof.prof_if.prof_path, "profiler_metadata.json").is_file()  # what was recorded can still be exported


class Observer:
    def __init__(self, log: list[str]) -> None:
        self.log = log

    def start(self) -> None:
        self.log.append("observer start")

    def stop(self) -> None:
        self.log.append("observer stop")
        raise ValueError("mine")


def test_the_observer_follows_the_profiler(recorded: Recorded, said: Said) -> None:
    prof = _profile([R, S, N], recorded, execution_trace_observer=Observer(recorded.log))
    prof.start()
    prof.step()
    prof.step()
    assert recorded.take_captures() == [*INIT_START, "observer start", "stop", "observer stop", "finalize", "ready"]
    assert said() == [("ERROR", "execution_trace_observer.stop() failed: ValueError: mine")]
