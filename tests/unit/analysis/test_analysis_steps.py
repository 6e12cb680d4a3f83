from __future__ import annotations

from tb_npu_plugin.analysis.steps.partition import Step, from_kernels, from_step_trace
from tb_npu_plugin.schema.torch_npu_csv import STEP_START
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
            copying=None,
            free=10,
            stage=42,
            bubble=None,
            preparing=None,
            start_ns=0,
        )
    ]


def test_steps_partition_the_time_of_a_device_whoever_launched_what_runs() -> None:
    """The kernel of no step and the communication of step 1 run in step 2 as well; a copy alone is not free."""
    rows = [
        kernel(10, 20),
        kernel(25, 30, "HCCL"),
        kernel(0, 12, step=None),
        kernel(40, 5, step="2"),
        kernel(60, 10, "MEMCPY", step="2"),
        kernel(65, 10, step="2"),
        kernel(80, 5, step=None),
        kernel(5, 10, step="1", device=1),
        kernel(90, 10, step="3"),
    ]

    one, two, three, other = from_kernels(table_of("kernels", rows))

    def parts(step: Step) -> tuple[int | None, ...]:
        return (step.computing, step.communication_not_overlapped, step.overlapped, step.copying, step.free, step.stage)

    assert parts(one) == (20, 10, 5, 0, 0, 30)
    assert parts(two) == (20, 10, 5, 5, 15, 50)
    assert parts(three) == (10, 0, 0, 0, 0, 10)
    assert (other.device_id, parts(other)) == (1, (10, 0, 0, None, 0, 10))
    assert [step.start_ns for step in (one, two, three, other)] == [10, 40, 90, 5]


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


def test_one_budget_per_device_and_step_without_the_rows_of_no_step() -> None:
    rows = [kernel(0, 1), kernel(1, 2, step="2"), kernel(9, 9, step=None), kernel(3, 4, device=1)]

    found = from_kernels(table_of("kernels", rows))

    assert [(step.device_id, step.step, step.computing) for step in found] == [(0, "1", 1), (0, "2", 2), (1, "1", 4)]


def test_without_step_marks_all_rows_are_one_step() -> None:
    found = from_kernels(table_of("kernels", [kernel(0, 1, step=None), kernel(5, 1, step=None)]))

    assert [(step.step, step.computing, step.free, step.stage) for step in found] == [(None, 2, 4, 6)]


def test_no_kernels_no_steps() -> None:
    assert from_kernels(table_of("kernels", [kernel(0, 1)]).take([])) == []  # type: ignore[arg-type]
