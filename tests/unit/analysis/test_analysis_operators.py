"""Operators that communicate, and those that call themselves. Sums and groups: tests/oracle/test_operator.py."""

from __future__ import annotations

from tb_npu_plugin.analysis.operators import statistics as operators
from tb_npu_plugin.analysis.operators.nesting import nesting_of_rows
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
