"""The same kernels of several ranks, beside each other."""

from __future__ import annotations

from typing import Any

from tb_npu_plugin.analysis.kernels.same_kernels import SameKernels, same_kernels
from tb_npu_plugin.tables import Table
from tests.support.span import table_of


def kernels(*rows: tuple[str | None, str | None, int | None], step: str | None = "1", core: str = "AI_CORE") -> Table:
    """Type, input shapes and duration of each."""
    found: list[dict[str, Any]] = [
        {"step": step, "name": f"{type}_{number}", "type": type, "core": core, "input_shapes": shapes, "dur_ns": dur}
        for number, (type, shapes, dur) in enumerate(rows)
    ]
    return table_of("kernels", found)


def test_a_rank_is_compared_by_the_kernels_that_others_ran_too() -> None:
    """The head of the last stage is no measure; the layers, of which it has two, are."""
    first = kernels(("MatMul", "8,8", 100))
    last = kernels(("MatMul", "8,8", 150), ("MatMul", "8,8", 170), ("MatMul", "8,999", 5000))
    found = same_kernels([first, first, first, last])
    assert found == [*[{"1": SameKernels(100, 100)}] * 3, {"1": SameKernels(320, 200)}]
    assert same_kernels([first, last])[1] == {"1": SameKernels(320, 200)}


def test_types_and_shapes_tell_kernels_apart_and_names_do_not() -> None:
    one, other = kernels(("MatMul", "8,8", 10), ("Add", "8", 1)), kernels(("Add", "8", 3), ("MatMul", "8,8", 30))
    assert same_kernels([one, other]) == [{"1": SameKernels(11, 33)}, {"1": SameKernels(33, 11)}]
    assert same_kernels([one, kernels(("MatMul", "9,8", 10))]) == [{}, {}]


def test_a_rank_is_no_measure_of_itself() -> None:
    def expected(*durs: int) -> list[int]:
        return [found["1"].expected for found in same_kernels([kernels(("Add", "8", dur)) for dur in durs])]

    assert expected(10, 40) == [40, 10]
    assert expected(90, 10, 40) == [25, 65, 50]  # of an even number between the two in the middle
    assert expected(40, 90, 10, 20) == [20, 20, 40, 40]
    assert expected(10, 10, 30, 10, 30) == [20, 20, 10, 20, 10]


def test_one_rank_other_steps_and_what_is_unknown_are_not_compared() -> None:
    one = kernels(("Add", "8", 10))
    assert same_kernels([one]) == [{}]
    assert same_kernels([one, kernels(("Add", "8", 10), step="2")]) == [{}, {}]
    for rows in ((None, "8", 10), ("Add", None, 10), ("Add", "8", None)):
        assert same_kernels([kernels(rows)] * 3) == [{}] * 3
    assert same_kernels([kernels(("hcom_allReduce_", "8", 10), core="HCCL")] * 3) == [{}] * 3
    assert same_kernels([None, one, one, one]) == [{}, *[{"1": SameKernels(10, 10)}] * 3]
    assert same_kernels([]) == []
