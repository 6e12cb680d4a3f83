"""Rows of text files at times that cannot be right: lists and views would begin decades before the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.problems import Problem
from tb_npu_plugin.store.pool import worker
from tb_npu_plugin.store.stages import SHORT_FILE, Request
from tb_npu_plugin.store.tables.short import read_short
from tb_npu_plugin.tables import NULL_INT, Table
from tests.unit.store.results import KERNELS
from tests.unit.store.test_worker import request

FIRST = 1736408883704643212
HEADER, *ROWS = KERNELS.splitlines(keepends=True)


def run(asked: Request) -> tuple[dict[str, Any], dict[str, Table], list[Problem]]:
    meta = json.loads(json.dumps(worker.run(asked, lambda message: None)))
    return (
        meta,
        {name: read_short(asked.out / SHORT_FILE, name) for name in meta["rows"]},
        [Problem.from_json(one) for one in meta["problems"]],
    )


def kernels(*more: str) -> dict[str, str]:
    return {"kernel_details.csv": "".join([HEADER, *ROWS, *more])}


@pytest.mark.parametrize("start", ["1.0", "172163581670.080", "2736408883704643.000", "736408883704643.212"])
def test_a_row_far_off_is_skipped(start: str, tmp_path: Path) -> None:
    stray = f"7,aclnnAdd_Add,Add,AI_VECTOR_CORE,{start}\t,3.5,0,8\r\n"
    meta, tables, problems = run(request(tmp_path, files=kernels(stray)))
    assert meta["start_ns"] == FIRST and tables["kernels"].ints("start_ns").tolist() == [FIRST, 1736408883704700001]
    (problem,) = problems
    assert (problem.code, problem.count, problem.where) == ("outside_recording", 1, "Start Time(us)")
    assert problem.file.endswith("kernel_details.csv")
    assert problem.found == f"{round(float(start.split('.')[0])) * 1000 + int((start + '.0').split('.')[1])} ns"


def test_end_far_off_loses_its_row(tmp_path: Path) -> None:
    endless = f"7,aclnnAdd_Add,Add,AI_VECTOR_CORE,1736408883704643.212\t,{2 * 10**12},0,8\r\n"
    _, tables, problems = run(request(tmp_path, files=kernels(endless)))
    assert len(tables["kernels"]) == 2
    assert [(one.code, one.where, one.found) for one in problems] == [
        ("outside_recording", "Duration(us)", f"{2 * 10**15} ns")
    ]


def test_a_release_far_off_is_unknown(tmp_path: Path) -> None:
    header = "Name,Size(KB),Allocation Time(us),Release Time(us)\r\n"
    rows = [
        f"aten::add,1,173640888370464{number}.0\t,{free}\t\r\n"
        for number, free in enumerate((1736408883704650.0, 5, ""))
    ]
    files = {**kernels(), "operator_memory.csv": header + "".join(rows)}
    _, tables, problems = run(request(tmp_path, files=files))
    memory = tables["op_memory"]
    assert memory.ints("alloc_ns").tolist() == [1736408883704640000 + 1000 * number for number in range(3)]
    assert memory.ints("release_ns").tolist() == [1736408883704650000, NULL_INT, NULL_INT]
    assert [(one.code, one.where) for one in problems] == [("bad_cell", "Release Time(us)")]


def test_a_table_of_another_clock_stays(tmp_path: Path) -> None:
    """Times since the start of the machine: what was recorded is right, and the list begins with the others."""
    header = "Name,Size(KB),Allocation Time(us)\r\n"
    rows = [f"aten::add,1,17216358167{number}.0\t\r\n" for number in range(2)]
    more = [row.replace("aclnn", f"{number}") for number in range(2) for row in ROWS]
    meta, tables, problems = run(
        request(tmp_path, files={**kernels(*more), "operator_memory.csv": header + "".join(rows)})
    )
    assert len(tables["op_memory"]) == 2 and problems == [] and meta["start_ns"] == FIRST
