"""Facts that a result tells of its process and its tasks."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tb_npu_plugin.capture.simulation.chips import CHIPS, DEFAULT_CHIP
from tb_npu_plugin.capture.simulation.device import COPIES
from tb_npu_plugin.capture.simulation.records import HostOp, OpInfo, Process, Segment, Task
from tb_npu_plugin.capture.writers.dialect import NEW, Options
from tb_npu_plugin.capture.writers.result import TextResult
from tb_npu_plugin.capture.writers.result_db import DatabaseResult

T = 1_700_000_000_000_000_000
OP = HostOp(OpInfo("aten::op"), 1, T, T + 9)


def process(rank: int = 0) -> Process:
    return Process(7, 3, rank, 1, T, T + 50_000, soc=CHIPS[DEFAULT_CHIP].soc, marks=False)


@pytest.mark.parametrize("numbered, file, rank", [(True, "_5.db", 5), (False, ".db", -1)])
def test_an_unknown_rank_is_minus_one(tmp_path: Path, numbered: bool, file: str, rank: int) -> None:
    result = DatabaseResult(tmp_path, process(5), Options(), NEW, numbered)
    result.close()
    connection = sqlite3.connect(tmp_path / f"ascend_pytorch_profiler{file}")
    found = connection.execute("SELECT rankId, deviceId FROM RANK_DEVICE_MAP").fetchall()
    connection.close()
    assert found == [(rank, 3)]


def test_copies_show_their_direction(tmp_path: Path) -> None:
    result = TextResult(tmp_path, process(), Options(level=2), NEW)
    tasks = [Task(COPIES[to_host], T + 10 * to_host, 5, 2, 1, 1 + to_host, T, 1, OP, 64) for to_host in (False, True)]
    result.add(Segment(until=T + 100, tasks=tasks, ops=[OP]))
    result.close()
    events = json.loads((tmp_path / "trace_view.json").read_text())
    copies = [event["args"]["memcpy direction"] for event in events if event["name"] == "MEMCPY_ASYNC"]
    assert copies == ["host to device", "device to host"]
