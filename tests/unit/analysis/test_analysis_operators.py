"""Operators: communication, nesting, and device times from enqueues, dequeues and launches. Sums: tests/oracle/test_operator.py."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tb_npu_plugin.analysis.operators import statistics as operators
from tb_npu_plugin.analysis.operators.nesting import nesting_of_rows
from tb_npu_plugin.analysis.operators.tree import FRACTION, OperatorEvents, rebuild, with_children
from tb_npu_plugin.schema.torch_npu_csv import NESTED
from tb_npu_plugin.tables import NULL_INT
from tests.support.span import table_of


def test_communication_is_known_by_the_start_of_the_name() -> None:
    names = ["HcclAllreduce", "hcom_allReduce__1", "c10d::allreduce_", "_c10d_functional::wait_tensor", "aten::hccl"]
    table = operators.by_name(table_of("operators", [{"name": name, "host_self_ns": 1} for name in names]))
    assert table.ints("communication").tolist() == [1, 1, 1, 1, 0]


def test_what_is_unknown_of_one_call_is_left_out_of_the_sums() -> None:
    rows = [{"host_self_ns": 4, "host_total_ns": 6, "device_self_ns": 10}, {"host_self_ns": 1}]
    table = operators.by_name(table_of("operators", [{"name": "mm", **row} for row in rows] + [{"name": "add"}]))
    keys = ("calls", "host_self_ns", "host_total_ns", "device_self_ns", "incomplete")
    assert list(zip(*(table.ints(key).tolist() for key in keys))) == [
        (2, 5, 6, 10, 1),
        (1, NULL_INT, NULL_INT, NULL_INT, 1),
    ]


def test_a_call_within_a_call_of_the_same_operator_counts_once() -> None:
    """HcclAllreduce calls itself: its total was twice the time that went by."""
    rows = [("f", "8", 10, 4, 0), ("g", "8", 6, 1, 0), ("f", None, 5, 3, 9), ("f", None, 2, 2, 1), ("f", "8", 7, 7, 2)]
    device_total = (10, 10, 10, 1, 2)
    keys = ("name", "input_shapes", "host_total_ns", "host_self_ns", "device_self_ns")
    listed = [{**dict(zip(keys, row)), "device_total_ns": total} for row, total in zip(rows, device_total)]
    table = table_of("operators", listed)
    nested = nesting_of_rows(table)
    assert nested.tolist() == [0, 0, 1, 2, 0]
    table = table.with_columns([(NESTED, nested)])
    named, shaped = operators.by_name(table), operators.by_shape(table)
    assert named.text("name").tolist() == ["f", "g"]
    assert named.ints("calls").tolist() == [4, 1]
    assert named.ints("device_total_ns").tolist() == [12, 10]
    assert named.ints("device_self_ns").tolist() == [12, 0]
    assert named.ints("host_total_ns").tolist() == [17, 6]
    assert shaped.ints("device_total_ns").tolist() == [12, 10, 10]  # f 8, g 8, f without shapes
    assert operators.totals(table).times["device_total_ns"] == 22


def times(
    ops: list[tuple[int, int, int]],
    enqueues: list[tuple[int, int, int]] = [],  # noqa: B006 - never changed
    dequeues: list[tuple[int, int, int]] = [],  # noqa: B006
    launches: list[tuple[int, float, bool]] = [],  # noqa: B006
) -> Callable[[str], list[int]]:
    def column(rows: list, index: int, dtype: type = np.int64) -> np.ndarray:
        return np.array([row[index] for row in rows], dtype=dtype)

    result = rebuild(
        OperatorEvents(
            *(column(ops, index) for index in range(3)),
            *(column(enqueues, index) for index in range(3)),
            *(column(dequeues, index) for index in range(3)),
            column(launches, 0),
            (column(launches, 1, float) * FRACTION).astype(np.int64),
            column(launches, 2, bool),
        )
    )
    return lambda name: getattr(result, name).tolist()


def test_operators_of_another_thread_nest_too() -> None:
    found = times([(0, 100, 1), (10, 20, 2), (40, 10, 1), (200, 5, 1)])
    assert found("parent") == [-1, 0, 0, -1]
    assert found("host_self") == [70, 20, 10, 5]


def test_an_entry_belongs_to_the_innermost_operator_of_its_own_thread() -> None:
    ops = [(0, 100, 1), (10, 20, 1), (50, 20, 2)]
    enqueues = [(15, 1, 7), (55, 1, 8), (90, 1, 9)]  # the second falls into an operator of thread 2: not counted
    dequeues = [(200, 10, 7), (220, 10, 8), (240, 10, 9)]
    launches = [(205, 1000, True), (206, 100, False), (225, 10, True), (245, 1, True), (300, 5, True)]
    found = times(ops, enqueues, dequeues, launches)
    assert found("device_self") == [1, 1100, 0]
    assert found("device_total") == [1101, 1100, 0]
    assert found("device_self_aicore") == [1, 1000, 0]
    assert found("device_total_aicore") == [1001, 1000, 0]


def test_a_task_launched_at_the_very_end_of_a_dequeue_belongs_to_it() -> None:
    found = times(
        [(0, 100, 1)], [(15, 1, 7), (20, 1, 8)], [(200, 10, 7), (211, 10, 9)], [(210, 5, True), (211, 3, True)]
    )
    assert found("device_self") == [5]


def test_entries_without_a_number_are_nobodys() -> None:
    found = times(
        [(0, 100, 1)],
        [(15, 1, NULL_INT), (20, 1, 8)],
        [(200, 10, NULL_INT), (220, 10, 8)],
        [(205, 5, True), (225, 3, True)],
    )
    assert found("device_self") == [3]


def test_without_a_task_queue_the_operator_that_runs_launches() -> None:
    found = times([(0, 100, 1), (10, 20, 1)], launches=[(15, 40, True), (90, 2, False), (500, 1, True)])
    assert found("device_self") == [2, 40]
    assert found("device_total") == [42, 40]
    assert found("device_total_aicore") == [40, 40]


def test_device_times_are_rounded_half_to_even_once() -> None:
    """Files add parts of a ns before they round."""
    sums = [(0.5,), (1.5,), (2.5,), (2.75,), (0.25, 0.25, 0.25)]
    found = [times([(0, 10, 1)], launches=[(5, part, True) for part in parts])("device_self") for parts in sums]
    assert found == [[0], [2], [2], [3], [1]]


def test_durations_that_cannot_be_do_not_end_it() -> None:
    """Ten times 146 years are more than int64 holds in ns."""
    parent, none = np.array([-1, *[0] * 10]), np.zeros(11, dtype=np.int64)
    assert (with_children(parent, np.full(11, 2**62)) > 0).all()
    assert with_children(parent, none + 3).tolist() == [33, *[3] * 10]


def test_no_device_data_give_zeros_and_no_operators_nothing() -> None:
    assert times([(0, 10, 1)])("device_total") == [0]
    assert times([])("host_self") == []


def test_entries_from_before_the_recording_belong_to_nothing() -> None:
    assert times([(0, 100, 1)], [], [(200, 10, 7)], [(205, 5, True)])("device_self") == [0]


def test_communication_inside_other_operators_is_a_part_of_their_total() -> None:
    """AccumulateGrad held 74 % of the device time "excluding communication": that of the HcclAllreduce it calls."""
    keys = ("name", "host_total_ns", "host_self_ns", "device_self_ns", "device_total_ns")
    rows = [
        ("AccumulateGrad", 20, 5, 1, 91),
        ("HcclAllreduce", 10, 4, 0, 80),
        ("HcclAllreduce", 6, 6, 80, 80),
        ("aten::add_", 5, 5, 10, 10),
        ("AccumulateGrad", 9, 9, 2, 2),
    ]
    table = table_of("operators", [dict(zip(keys, row)) for row in rows])
    assert operators.communication_within(table).tolist() == [80, 80, 80, 0, 0]
    found = operators.by_name(table.with_columns([(NESTED, nesting_of_rows(table))]))
    inside = dict(zip(found.text("name").tolist(), found.ints("communication_total_ns").tolist()))
    assert inside == {"AccumulateGrad": 80, "HcclAllreduce": 80, "aten::add_": 0}
