"""The schedule, the functions that users pass instead of it, and the step before a capture that is sampled."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest

from tb_npu_plugin.capture.api.enums import ProfilerAction
from tb_npu_plugin.capture.api.profile import profile
from tb_npu_plugin.capture.api.schedule import schedule
from tests.unit.capture.api.conftest import Recorded, Said, make_profile

LETTERS = dict(zip(ProfilerAction, "NWRS"))
S = ProfilerAction.RECORD_AND_SAVE

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


RESETS = [
    ("wait", "1", 0),
    ("wait", True, True),
    ("warmup", -1, 0),
    ("active", 0, 1),
    ("repeat", 0.5, 0),
    ("skip_first", None, 0),
    ("skip_first_wait", "yes", 0),
    ("skip_first_wait", -1, -1),
]


@pytest.mark.parametrize(("name", "value", "stored"), RESETS)
def test_validation(name: str, value: Any, stored: int, said: Said) -> None:
    plan = schedule(**{"wait": 1, "active": 2, "warmup": 1, name: value})
    assert getattr(plan, name) == stored
    expected = [] if stored is value else [("WARNING", f"Invalid parameter {name}, reset it to {stored}.")]
    if name == "warmup":
        expected.append(("WARNING", "Profiler won't be using warmup, this can skew profiler results"))
    assert said() == expected


def test_no_step_is_negative() -> None:
    with pytest.raises(ValueError, match="not less than 0"):
        schedule(1, 1, 1)(-1)


def test_the_step_before_a_capture_without_warmup_is_sampled(recorded: Recorded) -> None:
    with make_profile(schedule=schedule(2, 1, 0, 1)) as prof:
        assert recorded.take() == []
        prof.step()
        assert recorded.take() == ["sample"]
        prof.step()
        assert recorded.take() == ["step_end 1", "prepare", "start", "step_begin 2"]
    assert len(recorded.recorders) == 1


@pytest.mark.parametrize("fails", [False, True])
def test_a_sample_without_a_capture_is_let_go(fails: bool, recorded: Recorded, said: Said) -> None:
    recorded.fail.update({"sample": RuntimeError("busy")} if fails else {})
    with make_profile(schedule=schedule(1, 1)):
        pass
    assert recorded.take_captures() == (["sample"] if fails else ["sample", "discard"])
    assert (("WARNING", "The step before the capture is not sampled: busy") in said()) == fails


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
    [text] = said.errors()
    assert text.endswith("schedule must return a ProfilerAction, not 'RECORD'")


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
