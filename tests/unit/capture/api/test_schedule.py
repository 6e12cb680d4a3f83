from __future__ import annotations

import inspect
from typing import Any

import pytest

from tb_npu_plugin.capture.api.enums import ProfilerAction
from tb_npu_plugin.capture.api.schedule import schedule
from tests.unit.capture.api.conftest import Said

LETTERS = dict(zip(ProfilerAction, "NWRS"))

#: The vectors of docs/facts/torch_npu_api.md, schedule.
VECTORS = [
    ({"wait": 1, "active": 2, "warmup": 1, "repeat": 2, "skip_first": 3}, "NNNNWRSNWRSNNNNN"),
    ({"wait": 2, "active": 2, "warmup": 1, "repeat": 2, "skip_first": 1, "skip_first_wait": 1}, "NWRSNNWRSNNNNNNN"),
    ({"wait": 2, "active": 1, "warmup": 1, "repeat": 1, "skip_first_wait": -1}, "WSNNNN"),  # anything but 0
    ({"wait": 0, "active": 1, "warmup": 0, "repeat": 1, "skip_first": 1}, "NSNNNNNN"),
    ({"wait": 0, "active": 1}, "SSSSSSSSSSSS"),
    ({"wait": 0, "active": 1, "warmup": 10, "repeat": 1, "skip_first": 40}, "N" * 40 + "W" * 10 + "S" + "N" * 20),
]


@pytest.mark.parametrize(("arguments", "expected"), VECTORS)
def test_vectors(arguments: dict[str, int], expected: str) -> None:
    plan = schedule(**arguments)
    assert "".join(LETTERS[plan(step)] for step in range(len(expected))) == expected


def test_second_position_is_active() -> None:
    names = list(inspect.signature(schedule).parameters)
    assert names == ["wait", "active", "warmup", "repeat", "skip_first", "skip_first_wait"]
    assert vars(schedule(1, 2, 3, 4, 5, 6)) == dict(zip(names, range(1, 7)))


RESETS = [
    ("wait", -1, 0),
    ("wait", "1", 0),
    ("wait", None, 0),
    ("wait", 1.0, 0),
    ("wait", True, True),
    ("warmup", -1, 0),
    ("warmup", [], 0),
    ("active", 0, 1),
    ("active", -3, 1),
    ("active", "x", 1),
    ("repeat", -1, 0),
    ("repeat", 0.5, 0),
    ("skip_first", -1, 0),
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


def test_numbers_of_any_size() -> None:
    """Steps and cycles are whole numbers: no floating point is in between."""
    plan = schedule(wait=1, active=1, warmup=1, repeat=10**17)
    with pytest.raises(ValueError, match="not less than 0"):
        plan(-1)
    assert plan(3 * 10**17 - 1) is ProfilerAction.RECORD_AND_SAVE
    assert plan(3 * 10**17) is ProfilerAction.NONE
    assert plan(10**400) is ProfilerAction.NONE
