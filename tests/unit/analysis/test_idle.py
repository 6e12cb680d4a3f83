"""Idle time on small timelines: gaps, their causes, the launch of the next task."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tb_npu_plugin.analysis.findings.sync_stream import blocking_reads
from tb_npu_plugin.analysis.idle.input_bound import InputBoundSteps, input_bound_steps
from tb_npu_plugin.analysis.idle.launches import queue_at_launch, queue_series
from tb_npu_plugin.analysis.idle.model import DeviceIdle, code_of
from tb_npu_plugin.analysis.idle.of_span import idle_of
from tb_npu_plugin.analysis.idle.places import places_of
from tests.support.idle import COMPILE, GC, ITEM, LOADER, MALLOC, NOTIFY, OTHER, SYNC, US, WAIT, Slice, idle_span
from tests.support.span import TestSpan, table_of
from tests.support.trace import event, open_trace


def idle(*slices: Slice, **more: Any) -> DeviceIdle:
    (found,) = idle_of(idle_span(*slices, **more))
    return found


def times(found: DeviceIdle) -> list[tuple[str, str, float]]:
    return [(one.cause, one.launch, one.time_ns / US) for one in found.by_cause]


@pytest.mark.parametrize(
    ("slices", "launch", "expected"),
    [
        ([], 890, [("host_late", "late", 800)]),
        ([], 90, [("unknown", "before", 800)]),
        ([], None, [("unknown", "unknown", 800)]),
        ([GC], 890, [("garbage_collection", "late", 300), ("host_late", "late", 500)]),
        ([GC], None, [("garbage_collection", "unknown", 300), ("unknown", "unknown", 500)]),
        ([GC], 90, [("unknown", "before", 800)]),
        ([COMPILE], 90, [("compile", "before", 300), ("unknown", "before", 500)]),
        (
            [GC, LOADER],
            890,
            [("garbage_collection", "late", 300), ("data_loading", "late", 100), ("host_late", "late", 400)],
        ),
        ([ITEM], None, [("synchronization", "unknown", 100), ("unknown", "unknown", 700)]),
        ([ITEM, SYNC], 890, [("synchronization", "late", 200), ("host_late", "late", 600)]),
        (
            [("CANN", 1, "AscendCL@aclrtSynchronizeDevice", 50, 800), COMPILE],
            890,
            [("compile", "late", 300), ("synchronization", "late", 500)],
        ),
        (
            [SYNC, NOTIFY],
            890,
            [("communication", "late", 100), ("synchronization", "late", 100), ("host_late", "late", 600)],
        ),
        ([COMPILE], 890, [("compile", "late", 300), ("host_late", "late", 500)]),
        (
            [COMPILE, MALLOC],
            890,
            [("allocator", "late", 100), ("compile", "late", 200), ("host_late", "late", 500)],
        ),
        ([WAIT], 90, [("dependency", "before", 200), ("unknown", "before", 600)]),
        ([WAIT], 400, [("host_late", "late", 700), ("dependency", "late", 100)]),
        ([OTHER], 90, [("unknown", "before", 800)]),
        ([NOTIFY], 90, [("communication", "before", 100), ("unknown", "before", 700)]),
    ],
)
def test_a_gap_is_cut_into_its_causes(
    slices: list[Slice], launch: float | None, expected: list[tuple[str, str, float]]
) -> None:
    found = idle(*slices, launch=launch)
    assert times(found) == expected
    assert found.total_ns == 800 * US


def test_short_gaps_are_launch_overhead_unless_the_host_was_late() -> None:
    assert times(idle(launch=885, free=(885, 900))) == [("launch_overhead", "before", 15)]
    assert times(idle(launch=880, free=(885, 900))) == [("launch_overhead", "before", 15)]
    assert times(idle(launch=890, free=(885, 900))) == [("host_late", "late", 15)]


def test_differences_below_the_clock_error_are_uncertain() -> None:
    for launch, expected in (
        (149, ("late", True)),
        (151, ("late", False)),
        (51, ("before", True)),
        (49, ("before", False)),
    ):
        found = idle(launch=launch, first=50)
        assert found.clock_error_ns == 50 * US
        assert [(one.launch, *found.gaps.is_uncertain.tolist()) for one in found.by_cause] == [expected]
    assert idle().clock_error_ns is None


def test_free_time_without_a_gap_has_no_cause() -> None:
    found = idle(launch=890)
    assert found.unplaced == [0]
    rows = [{"name": "k", "start_ns": start * US, "dur_ns": 100 * US} for start in (0, 900)]
    step = {"step": None, "free": 850 * US, "computing": 200 * US, "communication_not_overlapped": 0}
    timeline, _ = open_trace([event("host", 0, 1)])
    span = TestSpan({"kernels": table_of("kernels", rows), "step_trace": table_of("step_trace", [step])})
    span.timeline = timeline
    (found,) = idle_of(span)
    assert (found.unplaced, times(found)) == ([50 * US], [("unknown", "unknown", 850)])


def test_the_time_between_steps_is_no_free_time() -> None:
    steps = [
        {"step": step, "device_id": 0, "start_ns": start * US, **dict.fromkeys(("computing", "stage"), took * US)}
        for step, start, took in (("2", 900, 100), ("1", 0, 100))
    ]
    found = idle(launch=890, steps=steps)
    assert times(found) == []
    assert [(one.cause, one.time_ns / US) for one in found.between_steps] == [("host_late", 800)]
    assert (found.gaps.step.tolist(), found.cost_of("host_late")) == ([0], 800 * US)


def test_queues_count_what_is_launched_and_waits() -> None:
    launched, start = np.array([0, 1, 2, 20]), np.array([5, 10, 15, 25])
    assert queue_at_launch(launched, start).tolist() == [0, 1, 2, 0]
    moments, length = queue_series(launched, start)
    assert dict(zip(moments.tolist(), length.tolist())) == {0: 1, 1: 2, 2: 3, 5: 2, 10: 1, 15: 0, 20: 1, 25: 0}
    (queue,) = idle(launch=890).queues
    assert (queue.stream, queue.tasks, queue.latency_p50_ns, queue.empty_share) == ("tid 1", 1, 10 * US, 1.0)


def test_steps_are_input_bound_from_half_a_millisecond_on() -> None:
    """The step of 1000 us idles from 100 to 900 while the host waits for a batch."""
    long = ("Python", 1, "enumerate(DataLoader)#x", 100, 500)
    short = ("Python", 1, "enumerate(DataLoader)#x", 100, 499)
    found = [input_bound_steps(idle_of(idle_span(one, launch=890))) for one in (long, short)]
    assert found == [InputBoundSteps(1, 1), InputBoundSteps(0, 1)]
    assert input_bound_steps([]) is None


SCRIPT: tuple[Slice, ...] = (
    ("Python", 7, "train.py(3): preprocess", 110, 700, "python_function"),
    ("Python", 7, "<built-in function sleep>", 120, 680, "python_function"),
    ("Python", 7, "aten::mm", 850, 100, "cpu_op"),
)


@pytest.mark.parametrize(
    ("slices", "filler"),
    [
        (SCRIPT, "<built-in function sleep>"),
        (SCRIPT[:1] + SCRIPT[2:], "train.py(3): preprocess"),
        ((("Python", 7, "train.py(9): <module>", 0, 9000, "python_function"), SCRIPT[2]), None),
    ],
    ids=("sleep", "function", "the whole script"),
)
def test_what_fills_the_time_before_a_late_launch_is_named(slices: tuple[Slice, ...], filler: str | None) -> None:
    span = idle_span(*slices, launch=880, first=0)
    (idle,) = idle_of(span)
    late = np.flatnonzero(idle.parts.cause == code_of("host_late"))
    places = places_of(idle, span.timeline, late)
    names = [None if one < 0 else span.timeline.names[int(span.timeline.name[one])] for one in places.filler.tolist()]
    assert names == [filler]


def test_reads_that_block_the_host_are_counted_by_operator_and_line() -> None:
    reads: list[Slice] = []
    for start in (200, 300, 400):
        reads += [
            ("Python", 7, "train.py(5): log", start, 50, "python_function"),
            ("Python", 7, "torch/_tensor.py(929): __format__", start + 1, 48, "python_function"),
            ("Python", 7, "aten::_local_scalar_dense", start + 2, 40, "cpu_op"),
            ("CANN", 7, "AscendCL@aclrtSynchronizeStreamWithTimeout", start + 3, 10),
            ("CANN", 7, "AscendCL@aclrtSynchronizeStreamWithTimeout", start + 20, 10),
        ]
    found = blocking_reads(idle_span(*reads, launch=880, first=0).timeline)
    assert [(one.operator, one.frame, one.calls) for one in found] == [
        ("aten::_local_scalar_dense", "train.py(5): log", 3)
    ]
