"""Steps of files and of kernels where figures are unknown. Random kernels: tests/property/test_parts_are_whole.py."""

from __future__ import annotations

from tb_npu_plugin.analysis.steps.partition import from_kernels, from_step_trace
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
