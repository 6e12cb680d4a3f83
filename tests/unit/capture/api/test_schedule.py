"""Schedules, the functions that users pass instead of them, and the transitions between two steps.
Source: docs/facts/torch_npu_api.md, schedule, Transitions between actions."""

from __future__ import annotations

import errno
import re
from enum import Enum
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tb_npu_plugin.capture.api.options import ProfilerAction
from tb_npu_plugin.capture.api.profile import profile, schedule
from tests.unit.capture.api.conftest import Recorded, Said, make_profile
from tests.unit.capture.api.fake import FakeRecorder

LETTERS = dict(zip(ProfilerAction, "NWRS"))
N, W, R, S = ProfilerAction

#: The vectors of docs/facts/torch_npu_api.md, schedule.
VECTORS = [
    ({"wait": 1, "active": 2, "warmup": 1, "repeat": 2, "skip_first": 3}, "NNNNWRSNWRSNNNNN"),
    ({"wait": 2, "active": 2, "warmup": 1, "repeat": 2, "skip_first": 1, "skip_first_wait": 1}, "NWRSNNWRSNNNNNNN"),
    ({"wait": 2, "active": 1, "warmup": 1, "repeat": 1, "skip_first_wait": -1}, "WSNNNN"),  # anything but 0
    ({"wait": 0, "active": 1}, "SSSSSSSSSSSS"),
    ({"wait": 0, "active": 1, "warmup": 10, "repeat": 1, "skip_first": 40}, "N" * 40 + "W" * 10 + "S" + "N" * 20),
]


@pytest.mark.parametrize(("arguments", "expected"), VECTORS)
def test_vectors(arguments: dict[str, int], expected: str) -> None:
    plan = schedule(**arguments)
    assert "".join(LETTERS[plan(step)] for step in range(len(expected))) == expected
    with pytest.raises(ValueError, match="not less than 0"):
        plan(-1)


RESETS = [
    ("wait", "1", 0),
    ("wait", True, True),
    ("warmup", -1, 0),
    ("active", 0, 1),
    ("repeat", 0.5, 0),
    ("skip_first", None, 0),
    ("skip_first_wait", "yes", 0),
]


@pytest.mark.parametrize(("name", "value", "stored"), RESETS)
def test_validation(name: str, value: Any, stored: int, said: Said) -> None:
    plan = schedule(**{"wait": 1, "active": 2, "warmup": 1, name: value})
    assert getattr(plan, name) == stored
    expected = [] if stored is value else [("WARNING", f"Invalid parameter {name}, reset it to {stored}.")]
    if name == "warmup":
        expected.append(("WARNING", "Profiler won't be using warmup, this can skew profiler results"))
    assert said() == expected


def test_a_schedule_that_fails(recorded: Recorded, said: Said) -> None:
    def plan(step: int) -> Any:
        if step == 1:
            raise KeyError("mine")
        return S if step < 3 else "RECORD"

    prof = make_profile(schedule=plan)
    prof.start()
    for _ in range(6):
        prof.step()
    assert said.errors() == [
        "The schedule failed for step 1, steps for which it fails are not recorded: KeyError: 'mine'"
    ]
    prof.stop()
    assert said() == [("WARNING", "The schedule failed for 5 steps, which were not recorded.")]
    assert recorded.take().count("finalize") == 2


def test_a_schedule_that_gives_no_action(recorded: Recorded, said: Said) -> None:
    make_profile(schedule=lambda step: "RECORD")
    assert said.errors()[0].endswith("schedule must return a ProfilerAction, not 'RECORD'")


def test_the_schedule_of_torch(recorded: Recorded) -> None:
    theirs = Enum("ProfilerAction", ["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"])
    asked: list[int] = []

    def plan(step: int) -> Any:
        asked.append(step)
        return theirs.RECORD_AND_SAVE if step else theirs.NONE

    with make_profile(schedule=plan) as prof:
        assert (prof.current_action, asked) == (ProfilerAction.NONE, [0])  # not asked for a step ahead
        prof.step()
        assert prof.current_action is S


def test_a_handler_that_stops_its_profile(recorded: Recorded, said: Said) -> None:
    with make_profile(schedule=lambda step: S, on_trace_ready=lambda prof: prof.stop()) as prof:
        recorded.take()
        prof.step()
        prof.step()
        assert recorded.take_captures() == ["stop", "finalize"]
    assert said() == [("WARNING", "Profiler is stopped, step takes no effect!")]


def test_a_handler_that_drives_its_profile(recorded: Recorded, said: Said) -> None:
    def ready(prof: profile) -> None:
        prof.step()
        prof.start()

    with make_profile(schedule=schedule(0, 1, 1), on_trace_ready=ready) as prof:
        prof.step()
        said()
        prof.step()
        assert [text for _, text in said()] == [
            f"on_trace_ready called {call}() of its profile, which takes no effect there!" for call in ("step", "start")
        ]
        assert (prof.step_num, prof.prof_if.recording) == (2, True)


# -- transitions --------------------------------------------------------------------------------------
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


#: Steps of the run, its schedule (wait, active, warmup, repeat, skip_first, skip_first_wait), recorded, planned and needed steps.
SHORT: list[tuple[int, tuple[int, ...], tuple[int, int, int] | None]] = [
    (5, (1, 3, 1, 1), None),
    (9, (1, 3, 1, 1), None),
    (4, (1, 3, 1, 1), (2, 3, 5)),
    (1, (1, 3, 1, 1, 10), (0, 3, 15)),
    (9, (0, 3, 1, 2, 2), (5, 6, 10)),
    (3, (5, 2, 1, 1, 0, 1), None),
    (2, (5, 2, 1, 1, 0, 1), (1, 2, 3)),
    (5, (2, 2, 1), None),  # without a repeat, in the wait of the second cycle
    (8, (2, 2, 1), (2, 4, 10)),
    (2, (2, 2, 1), (0, 2, 5)),
]


@pytest.mark.parametrize(("steps", "plan", "lacks"), SHORT)
def test_a_run_that_is_shorter_than_its_schedule(
    steps: int, plan: tuple[int, ...], lacks: tuple[int, int, int] | None, recorded: Recorded, said: Said
) -> None:
    with make_profile(schedule=schedule(*plan)) as prof:
        for _ in range(steps):
            prof.step()
    text = said()[-1][1] if lacks else ""
    assert [int(number) for number in re.findall(r"(?:steps:|of|needs) (\d+)", text)] == list(lacks or ())
    assert lacks or not any("Recorded steps" in text for _, text in said())


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


@pytest.mark.parametrize("call", ["step_begin", "step_end"])
def test_control_c_between_two_actions_discards_the_capture(
    call: str, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeRecorder, call, Mock(side_effect=KeyboardInterrupt), raising=False)
    with pytest.raises(KeyboardInterrupt), make_profile(schedule=schedule(0, 2)):
        pass
    assert recorded.take()[-1] == "discard"


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


def test_the_observer_follows_the_profiler(recorded: Recorded, said: Said) -> None:
    observer = Mock()
    observer.start.side_effect = lambda: recorded.log.append("observer start")
    observer.stop.side_effect = ValueError("mine")
    prof = _profile([R, S, N], recorded, execution_trace_observer=observer)
    prof.start()
    prof.step()
    prof.step()
    assert recorded.take_captures() == [*INIT_START, "observer start", *SAVE]
    assert said() == [("ERROR", "execution_trace_observer.stop() failed: ValueError: mine")]
