from __future__ import annotations

import math

import numpy as np

from tb_npu_plugin.analysis.kernels import statistics as kernels
from tests.support.span import table_of

ROWS = [
    {"name": "a1", "type": "A", "core": "AI_CORE", "step": "1", "start_ns": 0, "dur_ns": 10},
    {"name": "b1", "type": "B", "core": "AI_VECTOR_CORE", "step": "1", "start_ns": 10, "dur_ns": 5},
    {"name": "a1", "type": "A", "core": "AI_CORE", "step": "2", "start_ns": 20, "dur_ns": 15},
    {"name": "hcom_1", "type": "hcom_allReduce_", "core": "HCCL", "step": "2", "start_ns": 30, "dur_ns": 40},
    {"name": "hcom_2", "type": "hcom_allReduce_", "core": "HCCL", "step": None, "start_ns": 90, "dur_ns": 60},
]
TABLE = table_of("kernels", ROWS)


def test_statistic_by_name_and_core() -> None:
    table = kernels.by_name(TABLE)

    assert table.text("name").tolist() == ["a1", "b1", "hcom_1", "hcom_2"]
    assert table.ints("calls").tolist() == [2, 1, 1, 1]
    assert table.ints("total_ns").tolist() == [25, 5, 40, 60]
    assert table.ints("min_ns").tolist() == [10, 5, 40, 60]
    assert table.ints("max_ns").tolist() == [15, 5, 40, 60]
    assert table.ints("avg_ns").tolist() == [12, 5, 40, 60]  # 12.5 rounds to the even neighbour
    assert table.ints("communication").tolist() == [0, 0, 1, 1]
    # communication is no part of computing
    assert table.floats("share").tolist()[:2] == [25 / 30, 5 / 30]
    assert np.isnan(table.floats("share")[2:]).all()


def test_by_type_leaves_communication_out_and_sorts_by_total() -> None:
    rows = [*ROWS, {"name": "c", "type": "C", "core": "AI_CORE", "step": "1", "start_ns": 0, "dur_ns": 70}]

    table = kernels.by_type(table_of("kernels", rows))

    assert table.text("type").tolist() == ["C", "A", "B"]
    assert table.ints("total_ns").tolist() == [70, 25, 5]
    assert table.floats("ratio").tolist() == [70.0, 25.0, 5.0]


def test_by_core() -> None:
    assert kernels.by_core(TABLE) == [
        kernels.CoreTime("HCCL", 2, 100, True),
        kernels.CoreTime("AI_CORE", 2, 25, False),
        kernels.CoreTime("AI_VECTOR_CORE", 1, 5, False),
    ]


def test_top_computing_goes_by_name_where_no_type_is_known() -> None:
    untyped = table_of("kernels", [{**row, "type": None} for row in ROWS])

    by_type, by_name = kernels.top_computing(TABLE, 1), kernels.top_computing(untyped, 10)

    assert by_type.text("type").tolist() == ["A"]
    assert by_type.floats("share").tolist() == [25 / 30]  # of all computing kernels, not of the top ones
    assert by_name.text("name").tolist() == ["a1", "b1"]


def test_steps() -> None:
    assert kernels.steps_of(TABLE) == ["1", "2", None]
    assert kernels.of_step(TABLE, "2").text("name").tolist() == ["a1", "hcom_1"]
    assert kernels.of_step(TABLE, None).text("name").tolist() == ["hcom_2"]


def test_kernels_of_no_duration_have_no_share() -> None:
    table = kernels.by_name(table_of("kernels", [{"name": "k", "core": "AI_CORE", "start_ns": 0, "dur_ns": 0}]))

    assert math.isnan(table.floats("share")[0])


def test_copies_have_no_share_of_computing() -> None:
    rows = [{"name": "k", "core": "KERNEL", "dur_ns": 6}, {"name": "c", "core": "MEMCPY", "dur_ns": 4}]
    for table in (kernels.by_name(table_of("kernels", rows)), kernels.top_computing(table_of("kernels", rows), 9)):
        assert dict(zip(table.text("core").tolist(), table.floats("share").tolist()))["KERNEL"] == 1.0
        assert np.isnan(table.floats("share")).sum() == 1
