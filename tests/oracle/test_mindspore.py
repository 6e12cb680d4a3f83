"""Results of MindSpore: what the views show, computed anew from the files with csv and json alone."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.store.timeline.build import build_timeline
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.views.base import ViewInput
from tb_npu_plugin.views.registry import VIEWS
from tests.oracle.raw import folded, us, whole
from tests.oracle.shown import rows_of
from tests.support.span import found_spans

RESULTS = Path(__file__).parents[2] / "fixtures" / "results"
FIXTURES = ("mindspore_two_ranks", "mindspore_windows", "mindspore_data")


@cache
def folder_of(fixture: str) -> Path:
    return sorted((RESULTS / fixture).rglob("ASCEND_PROFILER_OUTPUT"))[0]


def rows(fixture: str, name: str) -> list[dict[str, str]]:
    with (folder_of(fixture) / name).open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def shown(fixture: str, view: str) -> Any:
    found = next(entry for entry in VIEWS if entry.id == view)
    spans = found_spans(RESULTS / fixture)
    return found.build(ViewInput(spans if found.scope == "run" else spans[:1], {}))


@pytest.mark.parametrize("fixture", FIXTURES)
def test_kernels_by_the_last_part_of_their_names(fixture: str) -> None:
    sums: dict[str, list[int]] = defaultdict(list)
    for row in rows(fixture, "kernel_details.csv"):
        sums[" ".join(folded(row["Name"].split("/")[-1]))].append(us(row["Duration(us)"]) or 0)
    result = shown(fixture, "kernel")
    found = {
        " ".join(filter(None, (row["name"], row.get("group")))): (row["calls"], row["total_ns"])
        for row in rows_of(result.tables["statistic"].table)
    }
    assert found == {name: (len(durations), sum(durations)) for name, durations in sums.items()}
    computing = [
        r for r in rows(fixture, "kernel_details.csv") if r["Accelerator Core"] not in ("HCCL", "COMMUNICATION")
    ]
    assert result.data["computing_ns"] == sum(us(row["Duration(us)"]) or 0 for row in computing)
    everything = rows_of(result.tables["all"].table)
    assert [row["full_name"] for row in everything] == [row["Name"] for row in rows(fixture, "kernel_details.csv")]


@pytest.mark.parametrize("fixture", FIXTURES)
def test_peaks_to_the_byte(fixture: str) -> None:
    peaks: dict[str, int] = {}
    for row in rows(fixture, "memory_record.csv"):
        if row["Component"] != "APP":  # a MB of this file is 1000 KB of 1024 bytes
            size = whole(row["Total Allocated(MB)"], 1024 * 1000) or 0
            assert abs(Decimal(row["Total Allocated(MB)"]) * 1024 * 1000 - size) < Decimal("0.001")  # whole bytes
            peaks[row["Component"]] = max(size, peaks.get(row["Component"], 0))
    found = {peak["component"]: peak["allocated_bytes"] for peak in shown(fixture, "memory").data["peaks"]}
    assert found == {**peaks, "APP": None}
    sizes = [row["size_bytes"] for row in rows_of(shown(fixture, "memory").tables["allocations"].table)]
    assert sizes == [whole(row["Size(KB)"], 1024) for row in rows(fixture, "operator_memory.csv")]


def test_sends_and_receives_are_point_to_point() -> None:
    content = json.loads((folder_of("mindspore_two_ranks") / "communication.json").read_text(encoding="utf-8"))
    names = [name.partition("@")[0] for step in content.values() for kind in step.values() for name in kind]
    sends = sorted(name for name in names if "send" in name.lower() or "receive" in name.lower())
    assert sends and not any("Send" in name for name in sends)  # the trap: the file has them under collective
    ops = found_spans(RESULTS / "mindspore_two_ranks")[0].tables["comm_ops"]
    kinds = dict(zip(ops.text("name").tolist(), ops.text("kind").tolist()))
    assert sorted(name for name, kind in kinds.items() if kind == "p2p") == sends


def test_operators_get_the_device_time_of_what_they_launch(tmp_path: Path) -> None:
    trace = folder_of("mindspore_two_ranks") / "trace_view.json"
    events = json.loads(trace.read_text(encoding="utf-8"), parse_float=Decimal)
    processes = {e["pid"]: e["args"]["name"] for e in events if e.get("name") == "process_name"}
    hardware = {
        (str(e["ts"]), e["tid"]): e for e in events if e["ph"] == "X" and processes[e["pid"]] == "Ascend Hardware"
    }
    launched: dict[str, Decimal] = defaultdict(Decimal)
    for event in hardware.values():
        if "mindspore_op" in event["args"]:
            launched[event["args"]["mindspore_op"]] += Decimal(str(event["dur"]))
    (tmp_path / "timeline").mkdir()
    build_timeline(trace, tmp_path / "timeline", ProblemLog(), lambda count: None)
    table = rows_of(Timeline.open(tmp_path / "timeline", trace).operators())
    frames = {e["name"] for e in events if e.get("cat") == "python_function"}
    ours = [e for e in events if e["ph"] == "X" and processes[e["pid"]] == "MindSpore" and e["name"] not in frames]
    assert len(table) == sum("ProfilerStep" not in e["name"] for e in ours)
    found: dict[str, int] = defaultdict(int)
    for row in table:
        found[row["name"]] += row["device_self_ns"]
        assert 0 <= row["host_self_ns"] <= row["host_total_ns"]
    computing = {name: time for name, time in launched.items() if name in found}
    assert computing
    for name, time in computing.items():
        assert found[name] == us(time), name
