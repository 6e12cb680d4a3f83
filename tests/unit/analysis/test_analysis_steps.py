from __future__ import annotations

from tb_npu_plugin.analysis.steps import Step, from_kernels, from_step_trace
from tests.support.span import table_of


def kernel(start: int, dur: int, core: str = "AI_CORE", step: str | None = "1", device: int = 0) -> dict[str, object]:
    return {"name": "k", "core": core, "start_ns": start, "dur_ns": dur, "step": step, "device_id": device}


def test_every_row_of_the_file_is_a_step_and_unknown_stays_unknown() -> None:
    table = table_of("step_trace", [{"step": "1", "computing": 5, "free": 0}, {"step": None, "computing": None}])

    first, second = from_step_trace(table)

    assert (first.step, first.computing, first.free, first.bubble) == ("1", 5, 0, None)
    assert (second.step, second.computing, second.device_id) == (None, None, None)


def test_time_of_parallel_streams_counts_once() -> None:
    # computing 0..10 and 5..15, communication 12..20 and 18..30, then nothing until 40..42
    rows = [kernel(0, 10), kernel(5, 10), kernel(12, 8, "HCCL"), kernel(18, 12, "COMMUNICATION"), kernel(40, 2)]

    assert from_kernels(table_of("kernels", rows)) == [
        Step(
            step="1",
            device_id=0,
            computing=17,
            communication_not_overlapped=15,
            overlapped=3,
            communication=18,
            free=10,
            stage=42,
            bubble=None,
            preparing=None,
        )
    ]


def test_one_budget_per_device_and_step_without_the_rows_of_no_step() -> None:
    rows = [kernel(0, 1), kernel(1, 2, step="2"), kernel(9, 9, step=None), kernel(3, 4, device=1)]

    found = from_kernels(table_of("kernels", rows))

    assert [(step.device_id, step.step, step.computing) for step in found] == [(0, "1", 1), (0, "2", 2), (1, "1", 4)]


def test_without_step_marks_all_rows_are_one_step() -> None:
    found = from_kernels(table_of("kernels", [kernel(0, 1, step=None), kernel(5, 1, step=None)]))

    assert [(step.step, step.computing, step.free, step.stage) for step in found] == [(None, 2, 4, 6)]


def test_no_kernels_no_steps() -> None:
    assert from_kernels(table_of("kernels", [kernel(0, 1)]).take([])) == []  # type: ignore[arg-type]
