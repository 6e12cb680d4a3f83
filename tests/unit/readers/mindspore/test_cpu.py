"""Results of MindSpore's profiler that were recorded on a CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_npu_plugin.discovery.scan import scan
from tests.support.span import TestSpan, found_spans

NAME = "host_77_20261122124838812_ascend_ms"
EXECUTIONS = """\
Default/net/fc-Dense/MatMul-op0;HostCpuOps;1000000100,0.5,0 1000009000,0.25,0\x20
Default/net/AllReduce-op0;HostCpuOps;1000700000,0.000125,0\x20
MatMul;HostCpuOps;1000000900,3.00604,0\x20
"""
LAUNCHES = """\
MatMul;MatMul-op0;7;input_1:[8, 64];input_2:[128, 64];input_3:NoShape;
;;7;
MatMul;MatMul-op0;7;input_1:[];input_2:[4];
AllReduce;AllReduce-op0;7;input_1:NoShape;
"""
MEMORY = """\
Timestamp(ns),Total Allocated(Byte),Total Reserved(Byte),Total Active(Byte)
1000000000,512,1073741824,256
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    framework = tmp_path / NAME / "FRAMEWORK"
    framework.mkdir(parents=True)
    (framework / "cpu_op_execute_timestamp_3.txt").write_text(EXECUTIONS)
    (framework / "cpu_framework_3.txt").write_text(LAUNCHES)
    (framework / "cpu_ms_memory_record_3.txt").write_text(MEMORY)
    return framework


def only(folder: Path) -> TestSpan:
    (span,) = found_spans(folder.parents[1])
    return span


def test_executions_have_their_shapes_and_scopes(folder: Path) -> None:
    span = only(folder)
    assert (span.format, span.capture.rank, span.capture.rank_source) == ("mindspore_cpu", 3, "cpu_framework_3.txt")
    operators = span.table("operators")
    assert operators is not None
    rows = zip(operators.text("name").tolist(), operators.ints("host_self_ns"), operators.text("input_shapes").tolist())
    assert list(rows) == [
        ("MatMul", 500_000, "8,64;128,64;;"),
        ("MatMul", 3_006_040, None),
        ("MatMul", 250_000, ";4;"),
        ("AllReduce", 125, None),
    ]
    assert operators.text("call_stack")[0] == "MatMul-op0;\r\nfc-Dense;\r\nnet;\r\nDefault"
    communication = span.table("comm_ops")
    assert communication is not None
    assert communication.ints("start_ns").tolist() == [1_000_700_000]
    memory = span.table("memory_record")
    assert memory is not None
    assert (memory.text("component")[0], memory.text("device")[0]) == ("MindSpore", "CPU")
    assert memory.ints("allocated_bytes").tolist() == [512]
    assert not span.problems


def test_other_launches_leave_the_shapes_unknown(folder: Path) -> None:
    (folder / "cpu_framework_3.txt").write_text(LAUNCHES.replace("AllReduce-op0", "AllReduce-op1"))
    operators = only(folder).table("operators")
    assert operators is not None
    assert operators.text("input_shapes").tolist() == [None] * 4


def test_damaged_execution_costs_itself(folder: Path) -> None:
    (folder / "cpu_op_execute_timestamp_3.txt").write_text(EXECUTIONS.replace("1000009000,0.25", "1000009000,x"))
    span = only(folder)
    assert span.rows("operators") == 3
    assert [(problem.code, problem.where) for problem in span.problems] == [
        ("short_row", "line 1"),
        ("unmatched_launches", ""),
    ]


def test_raw_data_of_an_npu_are_no_result_of_the_cpu(folder: Path) -> None:
    (folder.parent / "PROF_000001_20261122124838812_ABC").mkdir()
    found = scan({"": folder.parents[1]})
    assert not found.runs
    assert len(found.skipped) == 1
