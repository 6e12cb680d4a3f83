"""Figures of MindSpore's own CPU recordings against their CSV and JSON files, with the standard library."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path

import pytest

from tb_npu_plugin.analysis.data_pipeline import analyse_pipeline
from tb_npu_plugin.analysis.operators.statistics import by_name
from tb_npu_plugin.views.base import ViewInput
from tb_npu_plugin.views.distributed import VIEW as DISTRIBUTED
from tests.support.real_data import recording
from tests.support.span import found_spans


@pytest.fixture(scope="module")
def folder() -> Path:
    return recording("mindspore_cpu")


def test_each_recording_opens(folder: Path) -> None:
    spans = found_spans(folder)
    assert Counter((span.format, span.capture.rank) for span in spans) == {
        ("mindspore_cpu", 0): 6,
        ("mindspore_cpu", 1): 1,
        ("minddata", 0): 1,
    }
    assert not [problem for span in spans for problem in span.problems if problem.severity == "error"]


def test_operators_sum_to_those_of_the_recorder(folder: Path) -> None:
    compared = 0
    for path in folder.rglob("cpu_op_detail_info_*.csv"):
        if path.parent.name != "FRAMEWORK":
            continue
        (span,) = found_spans(path.parents[1])
        table = span.table("operators")
        assert table is not None
        calls, times = Counter[str](), defaultdict[str, Decimal](Decimal)
        with path.open(newline="") as stream:
            for row in csv.DictReader(stream):
                calls[row["op_type"]] += int(row["op_occurrences"])
                times[row["op_type"]] += Decimal(row["op_total_time(ms)"]) * 1_000_000
        named = by_name(table)
        names = [str(name) for name in named.text("name").tolist()]
        assert dict(zip(names, named.ints("calls").tolist())) == calls
        for name, total in zip(names, named.ints("host_total_ns").tolist()):
            assert abs(total - times[name]) <= 1 + times[name] / 100_000, name  # six digits of each figure
        # shapes: every launch that has some in the recorder's list, in its order
        launches = (path.parent / path.name.replace("op_detail_info", "framework")).with_suffix(".txt")
        shaped = sum("[" in line for line in launches.read_text().splitlines())
        assert int((table.text("input_shapes").codes >= 0).sum()) == shaped
        compared += 1
    assert compared == 6


def test_memory_equals_the_record(folder: Path) -> None:
    paths = sorted(folder.rglob("cpu_ms_memory_record_*.txt"))
    assert len(paths) == 6
    for path in paths:
        (span,) = found_spans(path.parents[1])
        memory = span.table("memory_record")
        assert memory is not None
        with path.open(newline="") as stream:
            rows = [[int(cell) for cell in row] for row in list(csv.reader(stream))[1:]]
        keys = ("time_ns", "allocated_bytes", "reserved_bytes", "active_bytes")
        assert [list(row) for row in zip(*(memory.ints(key).tolist() for key in keys))] == rows


def test_ranks_communicate(folder: Path) -> None:
    """AllReduce of both ranks; each operator's time is that of its executions."""
    spans = found_spans(folder / "cpu_2ranks")
    ops = DISTRIBUTED.build(ViewInput(spans, {})).tables["ops"].table
    shown = dict(zip(ops.ints("rank").tolist(), ops.ints("elapse_ns").tolist()))
    for path in (folder / "cpu_2ranks").rglob("cpu_op_execute_timestamp_*.txt"):
        lines = [line for line in path.read_text().splitlines() if "AllReduce-op" in line.partition(";")[0]]
        times = [Decimal(one.split(",")[1]) for line in lines for one in line.split(";")[2].split()]
        assert shown[int(path.stem[-1])] == sum(times) * 1_000_000


def test_machine_cpu_of_the_data_pipeline(folder: Path) -> None:
    """Every second figure of the machine is a placeholder; the first sample is the base."""
    (span,) = found_spans(folder / "cpu_minddata")
    found = analyse_pipeline(span.table("minddata_ops"), span.table("minddata_batches"), span.table("minddata_cpu"))
    samples = json.loads((folder / "cpu_minddata" / "minddata_cpu_utilization_0.json").read_bytes())
    idle = samples["device_info"]["idle_utilization"][::2][1:]
    assert found.machine_cpu == pytest.approx(100 - sum(idle) / len(idle))
    assert round(float(found.machine_cpu or 0), 1) == 28.9
