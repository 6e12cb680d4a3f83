"""Kernels: shares where some count for nothing, L2 rates, the same kernels of several ranks. Sums: tests/oracle/test_kernel.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from tb_npu_plugin.analysis.kernels import statistics
from tb_npu_plugin.analysis.kernels.same_kernels import SameKernels, same_kernels
from tb_npu_plugin.readers.text.kernel_columns import with_l2
from tb_npu_plugin.schema.torch_npu_csv import KERNELS, L2_CACHE
from tb_npu_plugin.tables import Table, from_lists
from tests.support.span import table_of


def test_top_computing_goes_by_name_where_no_type_is_known() -> None:
    keys = ("name", "type", "core", "dur_ns")
    rows = [("a1", "A", "AI_CORE", 25), ("b1", "B", "AI_VECTOR_CORE", 5), ("hcom_1", "hcom", "HCCL", 40)]
    listed = [dict(zip(keys, row)) for row in rows]
    by_type = statistics.top_computing(table_of("kernels", listed), 1)
    by_name = statistics.top_computing(table_of("kernels", [{**row, "type": None} for row in listed]), 10)
    assert by_type.text("type").tolist() == ["A"]
    assert by_type.floats("share").tolist() == [25 / 30]  # of all computing kernels, not of the top ones
    assert by_name.text("name").tolist() == ["a1", "b1"]


def test_kernels_of_no_duration_and_copies_have_no_share_of_computing() -> None:
    empty = table_of("kernels", [{"name": "k", "core": "AI_CORE", "dur_ns": 0}])
    assert np.isnan(statistics.by_name(statistics.kinds_of(empty)).floats("share")).all()
    rows = table_of(
        "kernels", [{"name": name, "core": core, "dur_ns": 5} for name, core in (("k", "KERNEL"), ("c", "MEMCPY"))]
    )
    for table in (statistics.by_name(statistics.kinds_of(rows)), statistics.top_computing(rows, 9)):
        assert dict(zip(table.text("core").tolist(), table.floats("share").tolist()))["KERNEL"] == 1.0
        assert np.isnan(table.floats("share")).sum() == 1


_KEYS = ("stream_id", "task_id", "name")


def tasks(*rows: tuple[int, int, str]) -> Table:
    return from_lists([KERNELS.column(key) for key in _KEYS], dict(zip(_KEYS, zip(*rows))))


def rates(*rows: tuple[int, int, str, float]) -> Table:
    keys = (*_KEYS, "victim_rate")
    values = dict(zip(keys, zip(*rows)))
    return from_lists([L2_CACHE.column(key) for key in (*keys, "hit_rate")], {**values, "hit_rate": [None] * len(rows)})


def test_l2_rates_are_found_by_stream_task_and_name() -> None:
    table = with_l2(
        tasks((1, 7, "a"), (2, 7, "a"), (1, 7, "b"), (1, 8, "c")),
        rates((1, 7, "b", 0.5), (2, 7, "a", 0.25), (1, 7, "a", 1.5), (9, 9, "z", 1)),
    )
    assert [None if rate != rate else rate for rate in table.floats("l2_victim_rate").tolist()] == [
        1.5,
        0.25,
        0.5,
        None,
    ]
    assert not table.has("l2_hit_rate"), "a column that nothing is known of is none"


def test_l2_rates_of_a_task_id_that_comes_again() -> None:
    again = tasks((1, 7, "a"), (1, 7, "a"))
    assert with_l2(again, rates((1, 7, "a", 0.5), (1, 7, "a", 0.25))).floats("l2_victim_rate").tolist() == [0.5, 0.25]
    assert not with_l2(again, rates((1, 7, "a", 0.5))).has("l2_victim_rate"), "nothing tells whose it is"


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


def test_rows_outside_steps_are_not_those_of_the_first_step() -> None:
    rows = table_of("kernels", [{"step": step, "name": name} for step, name in (("7", "a"), (None, "b"), ("8", "c"))])
    assert [statistics.of_step(rows, step).text("name").tolist() for step in ("7", None)] == [["a"], ["b"]]
