"""Events at times that cannot be right: they would stretch every view."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.trace import event, open_trace
from tests.unit.timeline.test_build import slices_of

NOW, LATE = 1_749_970_800_123_456, 10**15  # microseconds


def good(count: int = 50) -> list[dict[str, Any]]:
    return [event(f"a{number}", NOW + number, 1) for number in range(count)]


@pytest.mark.parametrize("at", [0, 172_163_581_670, NOW + LATE, NOW - LATE])
@pytest.mark.parametrize("phase", ["X", "i", "C", "s", "B"])
def test_an_event_far_off_is_skipped(at: int, phase: str, tmp_path: Path) -> None:
    stray = {**event("stray", at, 1), "ph": phase, "id": 7, "args": {"value": 5}}
    timeline, problems = open_trace([*good(25), stray, *good(25)], tmp_path)
    assert (timeline.base_ns, timeline.end_ns) == (NOW * 1000, (NOW + 25) * 1000)
    assert len(slices_of(timeline)) == 50
    (problem,) = problems
    assert (problem.code, problem.count, problem.where) == ("outside_recording", 1, "event 25")
    assert problem.found.startswith(f"begin {at * 1000} ns")


def test_an_end_far_off_is_skipped(tmp_path: Path) -> None:
    timeline, problems = open_trace([*good(), event("endless", NOW, LATE), event("endless", NOW, LATE)], tmp_path)
    assert timeline.end_ns == (NOW + 50) * 1000
    assert len(slices_of(timeline)) == 50
    assert [(one.code, one.count, one.where) for one in problems] == [("outside_recording", 2, "event 50 and 1 more")]


def test_long_columns_go_to_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_npu_plugin.readers.shared.spool.IN_MEMORY", 64)
    monkeypatch.setattr("tb_npu_plugin.readers.shared.stray_events._PIECE", 7)
    timeline, problems = open_trace([*good(25), event("stray", 5, 1), *good(25)], tmp_path)
    assert [found["name"] for found in slices_of(timeline)] == [*(f"a{number}" for number in range(25))] * 2
    assert len(problems) == 1 and not list(tmp_path.glob("*/timeline/kept"))


def test_metadata_have_times_that_say_nothing(tmp_path: Path) -> None:
    named = {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": "Python"}}
    timeline, problems = open_trace([named, *good()], tmp_path)
    assert problems == [] and timeline.tracks[0]["process"] == "Python"
