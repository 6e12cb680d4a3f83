"""Kernels in time: the longest time for which nothing runs, and how often the work repeats."""

from __future__ import annotations

import pytest

from tb_npu_plugin.analysis.run.budgets import budgets_of_ranks
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.analysis.steps.longest_idle import longest_idle, nth_longest_idle
from tb_npu_plugin.analysis.steps.repeats import repeats
from tb_npu_plugin.tables import Table
from tests.support.span import TestSpan, table_of


def timed(*rows: tuple[str | None, int | None, int | None, int]) -> Table:
    """Step, start, duration and device of each."""
    keys = ("step", "start_ns", "dur_ns", "device_id")
    return table_of("kernels", [{"name": "k", **dict(zip(keys, row))} for row in rows])


def test_what_runs_on_any_stream_is_no_idle_time() -> None:
    # 0 to 50 runs meanwhile: what stands before it in the table ended at 12.
    assert longest_idle(timed(("1", 0, 50, 0), ("1", 10, 2, 0), ("1", 55, 5, 0), ("1", 57, 10, 0))) == {"1": 5}


def test_the_time_between_two_steps_belongs_to_the_later_one_whatever_the_order_of_rows() -> None:
    assert longest_idle(timed(("2", 130, 10, 0), ("1", 0, 30, 0), ("1", 40, 10, 0))) == {"2": 80, "1": 10}


def test_devices_are_separate_and_unknown_times_do_not_count() -> None:
    assert longest_idle(timed(("1", 0, 10, 0), ("1", 5, 3, 1), ("1", 40, 1, 1), ("1", 14, 1, 0))) == {"1": 32}
    assert longest_idle(timed(("1", 0, 10, 0), ("1", None, 5, 0), ("1", 90, None, 0), (None, 12, 1, 0))) == {
        "1": 0,
        None: 2,
    }
    assert longest_idle(timed()) == {}


def test_the_second_longest_of_all_steps() -> None:
    found = timed(("1", 0, 10, 0), ("1", 40, 10, 0), ("2", 60, 10, 0), ("2", 75, 10, 0))  # 30, 10 and 5 between them
    assert [nth_longest_idle(found, nth) for nth in (1, 2, 3, 5)] == [30, 10, 5, None]


STEP = ["Embedding", "MatMul", "Add", "MatMul", "Add", "Softmax", "MatMul", "Adam"]


def kernels(
    types: list[str], stream: int = 2, core: str = "AI_CORE", at: int = 0, key: str = "type"
) -> list[dict[str, object]]:
    return [
        {key: name, "core": core, "stream_id": stream, "start_ns": at + 10 * place, "dur_ns": 5}
        for place, name in enumerate(types)
    ]


def count(*parts: list[dict[str, object]]) -> int:
    rows = [row for part in parts for row in part]
    table: Table = table_of("kernels", rows[::-1])
    return repeats(table)


@pytest.mark.parametrize("key", ["type", "name"])
def test_steps_that_follow_each_other_are_counted(key: str) -> None:
    assert count(kernels(STEP * 5, key=key)) == 5
    assert count(kernels(STEP * 2, key=key)) == 2


def test_a_capture_may_begin_in_the_middle_of_a_step() -> None:
    assert count(kernels((STEP * 5)[3:])) == 4
    assert count(kernels((STEP * 5)[:-1])) == 4


def test_a_part_of_a_step_that_repeats_is_no_step() -> None:
    micro = ["MatMul", "Add"] * 6 + ["Adam"] * 3
    assert count(kernels(micro * 4)) == 4


def test_other_streams_and_communication_do_not_count() -> None:
    rest = kernels(["Cast", "Copy", "Cast"], stream=9), kernels(["hcom"] * 7, core="HCCL", at=3)
    assert count(kernels(STEP * 3), *rest) == 3


def test_work_that_changes_does_not_repeat() -> None:
    assert count(kernels(["Embedding", *["MatMul", "Add"] * 8, "Adam"])) == 1
    assert count(kernels(["Init", *STEP * 3])) == 1
    assert count(kernels(STEP * 2 + STEP[:4] + STEP)) == 1
    assert count(kernels(STEP)) == 1
    assert count(kernels(["Adam"])) == 1
    assert repeats(table_of("kernels", [])) == 1


def test_two_ranks_without_steps_know_how_often_their_work_repeats() -> None:
    ranks = [TestSpan({"kernels": table_of("kernels", kernels(STEP * 3))}, token=token) for token in "ab"]
    assert [budget.repeats for budget in budgets_of_ranks(RunCommunication(ranks))] == [3, 3]
    assert [budget.repeats for budget in budgets_of_ranks(RunCommunication(ranks[:1]))] == [None]
