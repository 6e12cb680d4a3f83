"""How often the work of a capture without steps repeats."""

from __future__ import annotations

import pytest

from tb_npu_plugin.analysis.run.budgets import budgets_of_ranks, repeats
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.analysis.run.step_waits import step_waits_of
from tb_npu_plugin.tables import Table
from tests.support.span import TestSpan, table_of

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
    for own, expected in ((ranks, [3, 3]), (ranks[:1], [None])):
        run = RunCommunication(own)
        assert [budget.repeats for budget in budgets_of_ranks(run, step_waits_of(run))] == expected
