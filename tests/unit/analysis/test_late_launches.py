"""Late launches by what the host did meanwhile, on small timelines."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tb_npu_plugin.analysis.findings import host_idle, late_launches
from tb_npu_plugin.analysis.findings.late_launches import AFTER_SYNC, PREEMPTED, SILENT
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.idle.model import Parts, code_of
from tests.support.idle import GC, SYNC, US, Slice, idle_span

LAUNCHES: tuple[Slice, ...] = tuple(("CANN", 7, "Node@launch", at, 1) for at in (10, 20, 30, 40, 50))
LONG: Slice = ("CANN", 7, "Node@launch", 200, 690)


def items(*slices: Slice, launch: float = 890) -> dict[str, int]:
    run = RunData([idle_span(*slices, launch=launch)])
    (found,) = run.idle_items
    return {item: found.cost_of(item) // US for item in found.rows if found.cost_of(item)}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gap of the timeline is 0.8 ms long."""
    monkeypatch.setattr(late_launches, "_SILENT_NS", 500 * US)
    monkeypatch.setattr(late_launches, "_LONG_CALL_NS", 300 * US)
    monkeypatch.setattr(late_launches, "_CALLS", 2e-6)


@pytest.mark.parametrize(
    ("slices", "expected"),
    [
        ((), {SILENT: 800}),
        ([("CANN", 7, f"AscendCL@call{at}", at, 1) for at in range(110, 890, 100)], {"host_late": 800}),
        ((SYNC,), {"host_late": 30, "synchronization": 200, SILENT: 570}),
        (
            ((*SYNC[:3], 130, 400),),
            {"host_late": 400, "synchronization": 400},
        ),  # it saves what the host waited, not more
        (((*SYNC[:3], 2, 810),), {"synchronization": 712, AFTER_SYNC: 88}),  # most of it waits for a busy device
        (((*SYNC[:3], 500, 50),), {"host_late": 750, "synchronization": 50}),  # late before it for longer
    ],
)
def test_late_launches_have_one_item(slices: Any, expected: dict[str, int]) -> None:
    assert items(*slices) == expected


def test_a_pause_is_conjectured_to_be_a_collection_unless_collections_are_recorded() -> None:
    def found(*slices: Slice) -> list[str]:
        run = RunData([idle_span(*slices, launch=890)])
        vars(run).update(step_ns=1000 * US, step_count=1)
        return [one.confidence.kind for one in host_idle.CONJECTURED_GC.find(run)]

    assert found() == ["inferred"]
    assert found((*GC[:3], 100, 50)) == []


def test_a_gap_without_any_slice_of_the_timeline(monkeypatch: pytest.MonkeyPatch) -> None:
    span = idle_span(launch=890)
    ((_, (idle,)),) = RunData([span]).idle
    idle.gaps.call[:] = -1
    none = span.timeline.rows.dur[:0]
    monkeypatch.setattr(span.timeline, "rows", replace(span.timeline.rows, start=none, dur=none))
    monkeypatch.setattr(span.timeline, "name", span.timeline.name[:0])
    assert late_launches.idle_items(span, idle, np.ones(len(idle.parts.gap), dtype=bool)).rows[PREEMPTED].tolist() == []


def test_a_launch_call_that_stands_still_is_preempted() -> None:
    span = idle_span(*LAUNCHES, LONG)
    timeline = span.timeline
    run = RunData([span])
    ((_, (idle,)),) = run.idle
    calls = [at for at in range(len(timeline.rows.start)) if timeline.names[int(timeline.name[at])] == "Node@launch"]
    idle.gaps.call[:] = max(calls, key=lambda at: int(timeline.rows.dur[at]))
    (found,) = run.idle_items
    assert found.cost_of(PREEMPTED) == 800 * US
    vars(run).update(step_ns=1000 * US, step_count=1)
    assert [one.cost_ns for one in host_idle.CORE_BINDING.find(run)] == [800 * US]


@pytest.mark.parametrize(("averaged", "expected"), [("1", 800), ("2", 0)])
def test_idle_time_counts_in_averaged_steps(averaged: str, expected: int) -> None:
    """The gap lies in the first of two steps."""
    step = {"stage": 1000 * US, "computing": 1000 * US, "free": 0}
    span = idle_span(
        launch=890, steps=[{"step": "1", "start_ns": 0, **step}, {"step": "2", "start_ns": 1000 * US, **step}]
    )
    run = RunData([span])
    vars(run).update(averaged=frozenset({averaged}))
    (found,) = run.idle_items
    assert found.cost_of(SILENT) == expected * US


def test_a_lead_that_synchronizations_cost_counts_in_later_gaps() -> None:
    """Each alone waited for less than the gap behind it: the host was called late, although it waited for longer altogether."""
    late, sync, other = (code_of(cause) for cause in ("host_late", "synchronization", "dependency"))
    calls = {0: 30, 1: 25, 2: 60}  # slice: how long it took

    def follow(*rows: tuple[int, int, int, int]) -> list[bool]:
        length, gap, cause, anchor = (np.array(column) for column in zip(*rows))
        end = np.cumsum(length) + 100 * gap
        idle: Any = SimpleNamespace(parts=Parts(end - length, end, gap, cause.astype(np.int8), anchor))
        timeline = SimpleNamespace(rows=SimpleNamespace(dur=np.array(list(calls.values()))))
        return late_launches._follow(timeline, idle).tolist()

    first, second = ((5, 0, sync, 0), (40, 0, late, -1)), ((5, 1, sync, 1), (40, 1, late, -1))
    assert follow(*first) == [False, False]
    assert follow(*first, *second) == [False, False, False, True]  # 25 + 20 of 40
    assert follow(*first, (9, 1, other, -1), *second) == [False] * 5  # 25 - 9 + 20
    assert follow(*first, (40, 2, late, -1), *second) == [False] * 5  # late without one: the lead is used up
    assert follow((5, 0, sync, 2), (40, 0, late, -1), *second) == [False, True, False, False]  # 55 - 40 + 20
    assert follow((5, 0, sync, 2), (9, 0, other, -1), (5, 1, sync, 2), (42, 1, late, -1)) == [False] * 4  # one call
