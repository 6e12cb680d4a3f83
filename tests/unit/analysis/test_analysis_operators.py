from __future__ import annotations

import math

from tb_npu_plugin.analysis.operators import statistics as operators
from tb_npu_plugin.analysis.operators.nesting import nesting_of_rows
from tb_npu_plugin.schema.torch_npu_csv import NESTED
from tb_npu_plugin.tables import NULL_INT
from tests.support.span import table_of

ROWS = [
    {
        "name": "aten::mm",
        "input_shapes": "2,3",
        "call_stack": "inner.py(1): f;\r\nouter.py(2): g;\r\n",
        "host_self_ns": 4,
        "host_total_ns": 6,
        "device_self_ns": 10,
        "device_total_ns": 20,
        "device_self_aicore_ns": 5,
        "device_total_aicore_ns": 20,
    },
    {
        "name": "aten::mm",
        "input_shapes": "4,5",
        "call_stack": "other.py(3): h",
        "host_self_ns": 1,
        "host_total_ns": None,
        "device_self_ns": 0,
        "device_total_ns": 0,
        "device_self_aicore_ns": 0,
        "device_total_aicore_ns": 0,
    },
    {"name": "HcclAllreduce", "host_self_ns": 1, "device_self_ns": 100},
    {"name": "aten::hccl_like", "host_self_ns": 1},
]
TABLE = table_of("operators", ROWS)


def test_by_name() -> None:
    table = operators.by_name(TABLE)

    assert table.text("name").tolist() == ["aten::mm", "HcclAllreduce", "aten::hccl_like"]
    assert table.ints("calls").tolist() == [2, 1, 1]
    assert table.ints("device_self_ns").tolist() == [10, 100, NULL_INT]
    assert table.ints("host_total_ns").tolist() == [6, NULL_INT, NULL_INT]
    assert table.ints("communication").tolist() == [0, 1, 0]
    assert table.ints("stacks").tolist() == [2, 0, 0]
    assert table.ints("incomplete").tolist() == [1, 1, 1]
    shares = table.floats("aicore_self_share").tolist()
    assert shares[0] == 0.5
    assert math.isnan(shares[1])
    assert math.isnan(shares[2])


def test_by_shape_keeps_unknown_shapes_apart() -> None:
    table = operators.by_shape(TABLE)

    assert table.text("input_shapes").tolist() == ["2,3", "4,5", None, None]
    assert math.isnan(table.floats("aicore_self_share")[1])  # no device time: no share


def test_by_stack_gives_one_frame_a_line() -> None:
    table = operators.by_stack(TABLE.take(TABLE.text("name").equals("aten::mm")))

    assert table.text("call_stack").tolist() == ["inner.py(1): f\nouter.py(2): g", "other.py(3): h"]
    assert table.ints("device_self_ns").tolist() == [10, 0]


def test_communication_is_known_by_the_start_of_the_name() -> None:
    names = ["HcclAllreduce", "hcom_allReduce__1", "c10d::allreduce_", "_c10d_functional::wait_tensor", "aten::add"]
    table = table_of("operators", [{"name": name} for name in names])

    assert operators.is_communication(table).tolist() == [True, True, True, True, False]


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
