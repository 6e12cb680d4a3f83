"""Steps of files and of kernels, and their means. Random kernels: tests/property/test_parts_are_whole.py."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tb_npu_plugin.analysis.steps import partition as steps
from tb_npu_plugin.analysis.steps import step_trace as analysis
from tb_npu_plugin.analysis.steps.partition import Step, from_kernels, from_step_trace
from tb_npu_plugin.analysis.steps.parts import parts_of
from tb_npu_plugin.schema.torch_npu_csv import STEP_START
from tests.support.span import table_of


def test_every_row_of_the_file_is_a_step_and_unknown_stays_unknown() -> None:
    table = table_of("step_trace", [{"step": "1", "computing": 5, "free": 0}, {"step": None, "computing": None}])
    first, second = from_step_trace(table)
    assert (first.step, first.computing, first.free, first.bubble) == ("1", 5, 0, None)
    assert (second.step, second.computing, second.device_id) == (None, None, None)


def test_preparing_is_exposed_where_no_other_step_runs() -> None:
    """In file order the last step stands first; step 2 began to be prepared while step 1 ran."""
    steps = [
        {"step": "3", "start_ns": 9_000_000, "stage": 100_000, "preparing": 5_000_000},
        {"step": "1", "start_ns": 1_000_000, "stage": 3_000_000, "preparing": 700_000},
        {"step": "2", "start_ns": 4_000_400, "stage": 2_000_000, "preparing": 1_500_000},
        {"step": "1", "start_ns": None, "stage": 3_000_000, "preparing": 700_000, "device_id": 1},
        {"step": "2", "start_ns": None, "stage": 2_000_000, "preparing": 1_500_000, "device_id": 1},
    ]
    found = from_step_trace(table_of("step_trace", steps, STEP_START))
    # 400 ns are the rounding of files; 2 999 600 ns passed between steps 2 and 3; without times nothing is known
    assert [step.exposed_preparing for step in found] == [2_999_600, 700_000, 0, 700_000, None]


def test_without_step_marks_all_rows_are_one_step() -> None:
    rows = table_of("kernels", [{"name": "k", "core": "AI_CORE", "start_ns": start, "dur_ns": 1} for start in (0, 5)])
    found = from_kernels(rows)
    assert [(step.step, step.computing, step.free, step.stage, step.copying) for step in found] == [
        (None, 2, 4, 6, None)
    ]
    assert from_kernels(rows.take(rows.ints("start_ns") > 9)) == []


def iteration(step: str | None, start: int, gap: int, work: int, tail: int, average: int = 0) -> dict[str, object]:
    return {
        "step": step,
        "average": average,
        "start_ns": start,
        "end_ns": start + gap + work + tail,
        "total_ns": gap + work + tail,
        "interval_ns": gap,
        "fp_bp_ns": work,
        "tail_ns": tail,
    }


ITERATIONS = table_of(
    "iterations",
    [
        iteration("1", 1000, 0, 100, 10),
        iteration("2", 1110, 30, 100, 10),
        iteration("3", 1250, 33, 110, 20),
        iteration(None, 0, 999, 999, 999, 1),
    ],
)
REDUCES = table_of(
    "iteration_reduces",
    [
        {"step": "2", "name": "a", "stream_id": 3, "start_ns": 1150, "dur_ns": 20},
        {"step": "2", "name": "b", "stream_id": 4, "start_ns": 1160, "dur_ns": 20},
        {"step": "3", "name": "a", "stream_id": 3, "start_ns": 1300, "dur_ns": 30},
    ],
)


def test_means_leave_out_the_first_step_and_the_recorded_average() -> None:
    trace = analysis.from_iterations(ITERATIONS, REDUCES)
    counted = trace.averaged
    assert [step.step for step in counted] == ["2", "3"]
    mean = analysis.mean_step(counted)
    assert (mean.gap_ns, mean.fp_bp_ns, mean.tail_ns, mean.total_ns) == (32, 105, 15, 152)  # 31.5 goes to even
    assert mean.reduce_ns == 30  # a and b together take 30, not 40
    assert trace.recorded is not None and trace.recorded.gap_ns == 999
    reduces = analysis.mean_reduces(trace, counted)
    assert [(one.name, one.offset_ns, one.dur_ns) for one in reduces] == [("a", 45, 25), ("b", 50, 20)]


def test_a_lone_step_is_its_own_mean() -> None:
    trace = analysis.from_iterations(ITERATIONS.take(ITERATIONS.text("step").equals("1")), None)
    assert analysis.mean_step(trace.averaged).fp_bp_ns == 100
    assert trace.steps[0].reduce_ns is None  # not recorded is not none


KERNELS = table_of(
    "kernels",
    [
        {"step": "8", "name": "hcom_allReduce_", "core": "HCCL", "start_ns": 260, "dur_ns": 30, "stream_id": 9},
        {"step": "8", "name": "MatMul", "core": "AI_CORE", "start_ns": 200, "dur_ns": 70, "stream_id": 2},
        {"step": "7", "name": "MatMul", "core": "AI_CORE", "start_ns": 100, "dur_ns": 50, "stream_id": 2},
        {"step": None, "name": "Cast", "core": "AI_CORE", "start_ns": 10, "dur_ns": 5, "stream_id": 2},
    ],
)


@pytest.mark.parametrize(("are_computed", "averaged"), [(True, ["7"]), (False, ["7", "8"])])
def test_means_leave_out_the_last_step_where_times_are_computed(are_computed: bool, averaged: list[str]) -> None:
    """What is recorded is complete; the last computed step ends with its last task. The gap is of the steps that know it."""
    figures = table_of("step_trace", [{"step": "7", "stage": 100}, {"step": "8", "stage": 90}])
    trace = analysis.from_kernels(KERNELS, figures, are_computed)
    assert [step.step for step in trace.averaged] == averaged
    mean = analysis.mean_step(trace.averaged)
    assert (mean.total_ns, mean.gap_ns) == (100 if are_computed else 95, 50)
    assert trace.reduces["8"] == [analysis.Reduce(9, "hcom_allReduce_", 60, 30)]


def test_a_mean_step_of_several_devices_leaves_out_the_last_of_each() -> None:
    devices = [0, 0, 0, 1, 2, 2]
    assert steps.averaged_steps(devices, "computed") == [0, 1, 3, 4]
    assert steps.averaged_steps(devices, "points") == [1, 2, 3, 5]
    assert steps.averaged_steps(devices, "recorded") == list(range(6))


def test_a_host_that_runs_ahead_makes_no_gap() -> None:
    """Preparing of step 8 began while step 7 ran; its communication reaches into step 8."""
    rows = [
        {"step": "7", "name": "a", "core": "AI_CORE", "start_ns": 100, "dur_ns": 50},
        {"step": "7", "name": "hcom", "core": "HCCL", "start_ns": 130, "dur_ns": 50},
        {"step": "8", "name": "a", "core": "AI_CORE", "start_ns": 160, "dur_ns": 40},
    ]
    figures = [
        {"step": "7", "preparing": 30, "start_ns": 100, "stage": 60},
        {"step": "8", "preparing": 55, "start_ns": 160, "stage": 40},
    ]
    table = table_of("step_trace", figures, STEP_START)
    seven, eight = analysis.from_kernels(table_of("kernels", rows), table, True).steps
    assert (seven.total_ns, seven.fp_bp_ns, seven.tail_ns, seven.gap_ns) == (60, 50, 10, 0)
    assert (eight.start_ns, eight.total_ns, eight.fp_bp_ns) == (160, 40, 40)
    assert (seven.exposed_preparing_ns, eight.preparing_ns, eight.exposed_preparing_ns) == (30, 55, 0)


def test_figures_alone_tell_no_tail() -> None:
    figures = table_of("step_trace", [{"step": "7", "preparing": 40, "stage": 100, "bubble": 5, "communication": 9}])
    [step] = analysis.from_figures(figures).steps
    assert (step.total_ns, step.preparing_ns, step.fp_bp_ns, step.tail_ns, step.reduce_ns) == (105, 40, None, None, 9)
    assert step.gap_ns is None


@pytest.mark.parametrize(
    ("bubble", "waiting", "expected"),
    [
        (None, None, (None, 30, None)),
        (7, 5, (5, 18, 7)),
        (40, 5, (5, 0, 25)),  # the recorded bubble is longer than the communication around it
        (20, 25, (25, 0, 5)),
        (0, 40, (30, 0, 0)),
    ],
)
def test_parts_of_a_step_sum_to_it(
    bubble: int | None, waiting: int | None, expected: tuple[int | None, int, int | None]
) -> None:
    step = Step("1", None, 10, 30, 4, 34, None, 5, 45, bubble, 9, exposed_preparing=3)
    parts = parts_of(step, waiting)
    assert (parts.waiting, parts.communication, parts.bubble) == expected
    assert (parts.preparing, parts.computing, parts.overlapped, parts.copying, parts.free) == (3, 6, 4, None, 5)
    assert sum(value or 0 for value in vars(parts).values()) - 3 == step.total_ns
    unknown = parts_of(replace(step, computing=None, communication_not_overlapped=None), None)
    assert (unknown.computing, unknown.communication) == (None, None)
