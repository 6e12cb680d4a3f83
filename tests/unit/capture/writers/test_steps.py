"""Steps in which little or nothing runs."""

from __future__ import annotations

import csv
import sqlite3
from pathlib import Path

from tb_npu_plugin.capture.simulation.chips import CHIPS, DEFAULT_CHIP
from tb_npu_plugin.capture.simulation.device import COPIES
from tb_npu_plugin.capture.simulation.records import HostOp, Kernel, OpInfo, Process, Segment, Step, Task
from tb_npu_plugin.capture.writers.analysis_db import Analysis
from tb_npu_plugin.capture.writers.dialect import NEW, Options
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.result import TextResult

KERNEL = Kernel("k", "K", "AI_CORE", "AI_CORE")
OP = HostOp(OpInfo("aten::op"), 1, 0, 1)
T = 1_700_000_000_000_000_000


def task(kernel: Kernel, start: int, dur: int, acl: int, connection: int) -> Task:
    return Task(kernel, T + start, dur, 2, connection, connection, T + acl, 1, OP)


def segments() -> list[Segment]:
    """A step whose kernel ends behind it, and one that only copies, beside that kernel."""
    first = Segment(Step(1, T, T + 10_000), T + 10_000, tasks=[task(KERNEL, 8_000, 12_000, 5_000, 1)])
    second = Segment(Step(2, T + 10_000, T + 30_000), T + 30_000, tasks=[task(COPIES[False], 12_000, 9_000, 11_000, 2)])
    last = Segment(Step(3, T + 30_000, T + 50_000), T + 50_000, tasks=[task(KERNEL, 35_000, 1_000, 31_000, 3)])
    return [first, second, last]


def test_a_step_that_only_copies(tmp_path: Path) -> None:
    output = Output(tmp_path, Process(7, 0, 0, 1, T, T + 50_000, soc=CHIPS[DEFAULT_CHIP].soc), Options(), NEW)
    text = TextResult(tmp_path, output.process, output.options, NEW)
    database = Analysis(output)
    for segment in segments():
        text.add(segment)
        database.add(segment)
    text.close()
    database.close()
    with (tmp_path / "step_trace_time.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["Step"], row["Free"], row["Preparing"]) for row in rows] == [
        ("1", "0.0", "8.0"),
        ("2", "15.0", "0.0"),
        ("3", "0.0", "5.0"),
    ]
    connection = sqlite3.connect(tmp_path / "analysis.db")
    found = connection.execute("SELECT step, free, preparing FROM StepTraceTime").fetchall()
    connection.close()
    assert found == [("1", 0, 8), ("2", 15, 0), ("3", 0, 5)]
