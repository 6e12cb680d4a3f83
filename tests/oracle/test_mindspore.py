"""Results of MindSpore: what its parser makes of the events (specs/mindspore.md 2.3), and that text and databases agree."""

from __future__ import annotations

import re
import sqlite3
from bisect import bisect_right
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.raw import Event, ns, raw
from tests.support.mock_mindspore import results

BUBBLE = re.compile(r"hcom_\w+SendRecv__\d+|hcom_send__\d+|hcom_receive__\d+|Receive-op|Send-op")
NAMES = ("Computing", "Communication", "Communication(Not Overlapped)")


def steps(folder: Path) -> list[tuple[str, Decimal, Decimal]]:
    """(step, start, end) of the marks on the host; without marks one step for ever."""
    marks = [e for e in raw(folder).process("MindSpore") if "ProfilerStep#" in e["name"]]
    found = [(e["name"].split("#")[1], e["ts"], e["ts"] + e["dur"]) for e in marks]
    return sorted(found, key=lambda step: step[1]) or [("0", Decimal(0), Decimal("Infinity"))]


@pytest.mark.parametrize("folder", results("step_trace_time.csv", "trace_view.json"))
def test_steps_count_events_whole_where_they_begin_and_clip_only_free(folder: Path) -> None:
    r = raw(folder)
    rows = r.csv("step_trace_time.csv")
    assert [row["Step"] for row in rows] == [step for step, _, _ in steps(folder)]
    lanes: dict[str, list[Event]] = {name: [] for name in (*NAMES, "Free")}
    for event in r.process("Overlap Analysis"):
        lanes[event["name"]].append(event)
    for row, (_, start, end) in zip(rows, steps(folder)):
        for name in NAMES:
            assert Decimal(row[name]) == sum(e["dur"] for e in lanes[name] if start <= e["ts"] <= end), name
        clipped = (min(e["ts"] + e["dur"], end) - max(e["ts"], start) for e in lanes["Free"])
        assert Decimal(row["Free"]) == sum(part for part in clipped if part > 0)
        alone, bubble = Decimal(row["Communication(Not Overlapped)"]), Decimal(row["Bubble"])
        assert Decimal(row["Overlapped"]) == Decimal(row["Communication"]) - alone
        assert Decimal(row["Communication(Not Overlapped and Exclude Receive)"]) == alone - bubble
        busy = min(e["ts"] for name in NAMES[:2] for e in lanes[name] if e["ts"] >= start)
        host = start or min(e["ts"] for e in r.process("MindSpore") if e.get("cat") != "python_function")
        assert Decimal(row["Preparing"]) == busy - host


@pytest.mark.parametrize("folder", results("step_trace_time.csv", "trace_view.json"))
def test_stage_and_bubble_are_those_of_the_hccl_events(folder: Path) -> None:
    r = raw(folder)
    for row, (_, start, end) in zip(r.csv("step_trace_time.csv"), steps(folder)):
        found = sorted((e for e in r.process("HCCL") if start <= e["ts"] <= end), key=lambda e: (e["ts"], e["dur"]))
        bubble = sum((e["dur"] for e in found if BUBBLE.match(e["name"])), Decimal(0))
        assert Decimal(row["Bubble"]) == bubble
        whole = found[-1]["ts"] + found[-1]["dur"] - found[0]["ts"] if found else Decimal(0)
        assert Decimal(row["Stage"]) == whole - bubble


@pytest.mark.parametrize("folder", results("kernel_details.csv", "trace_view.json"))
def test_kernels_are_named_after_their_launch_and_lie_in_their_step(folder: Path) -> None:
    r = raw(folder)
    windows = {step: (start, end) for step, start, end in steps(folder)}
    launched = {(e["ts"], e["name"]): e["args"].get("mindspore_op") for e in r.process("Ascend Hardware")}
    for row in r.computing:
        launch, _, kernel = row["Name"].rpartition("/")
        assert launched[Decimal(row["Start Time(us)"]), kernel] == launch
        if row["Type"] != "N/A":  # level 0
            assert re.fullmatch(rf"{row['Type']}-op\d+", launch.rpartition("/")[2])
    flows = [e for e in r.events if e["ph"] == "s" and e.get("cat") == "HostToDevice"]
    inside = sorted((e["ts"], e["ts"] + e["dur"]) for e in r.process("MindSpore") if "KernelLaunch" in e["name"])
    for flow in flows:
        start, end = inside[bisect_right(inside, (flow["ts"], Decimal("Infinity"))) - 1]
        assert start <= flow["ts"] <= end
    for row in r.kernels:
        if "Step ID" in row:
            start, end = windows[row["Step ID"]]
            assert start <= Decimal(row["Start Time(us)"]) <= end


@pytest.mark.parametrize("folder", results("memory_record.csv"))
def test_memory_is_the_sum_of_its_components(folder: Path) -> None:
    last: dict[str, dict[str, str]] = {}
    both = 0
    for row in raw(folder).csv("memory_record.csv"):
        if row["Component"] == "MindSpore+GE":
            both += 1
            for name in ("Total Allocated(MB)", "Total Reserved(MB)", "Total Active(MB)"):
                assert abs(Decimal(row[name]) - sum(Decimal(known[name]) for known in last.values())) <= Decimal("1e-9")
        else:
            last[row["Component"]] = row
    assert both > 0


def query(folder: Path, sql: str, database: str) -> list[Any]:
    (path,) = (folder / "ASCEND_PROFILER_OUTPUT").glob(database)
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


PROFILER = "ascend_mindspore_profiler_*.db"
BOTH = [param for param in results("kernel_details.csv") if list(param.values[0].glob(f"*/{PROFILER}"))]


@pytest.mark.parametrize("folder", BOTH)
def test_kernels_of_text_and_database_agree(folder: Path) -> None:
    found = query(
        folder,
        "SELECT name.value, startNs, endNs - startNs, type.value FROM COMPUTE_TASK_INFO AS info "
        "JOIN TASK USING (globalTaskId) JOIN STRING_IDS AS name ON name.id = info.name "
        "JOIN STRING_IDS AS type ON type.id = info.opType",
        PROFILER,
    )
    rows = [
        (r["Name"].rpartition("/")[2], ns(r["Start Time(us)"]), ns(r["Duration(us)"]), r["Type"])
        for r in raw(folder).computing
    ]
    assert Counter(rows) == Counter(found) and rows


@pytest.mark.parametrize("folder", [p for p in BOTH if "cluster" in str(p.id)])
def test_communication_of_text_and_databases_agrees(folder: Path) -> None:
    r = raw(folder)
    ops = query(
        folder, "SELECT value, startNs, endNs - startNs FROM COMMUNICATION_OP JOIN STRING_IDS ON id = opName", PROFILER
    )
    rows = [(row["Name"], ns(row["Start Time(us)"]), ns(row["Duration(us)"])) for row in r.communicating]
    assert Counter(rows) == Counter(ops) and rows
    times = query(
        folder,
        "SELECT hccl_op_name || '@' || group_name, elapse_time, transit_time, wait_time FROM CommAnalyzerTime",
        "communication_analyzer.db",
    )
    expected = {}
    for kinds in r.json("communication.json").values():
        for key, op in kinds["collective"].items():
            figures = op["Communication Time Info"]
            expected[key] = [figures[f"{name} Time(ms)"] for name in ("Elapse", "Transit", "Wait")]
    expected.pop("Total Op Info")
    assert {key: figures for key, *figures in times} == expected
    tables = query(folder, "SELECT name FROM sqlite_master WHERE type = 'table'", "communication_analyzer.db")
    assert {name for (name,) in tables} == {"CommAnalyzerTime", "CommAnalyzerBandwidth", "CommAnalyzerMatrix"}
    # one row an operator and link, which the JSON sums up by type; of sends and receives the type is the name
    moved: dict[tuple[str, str, str], list[float]] = {}
    matrix = query(folder, "SELECT * FROM CommAnalyzerMatrix", "communication_analyzer.db")
    for name, group, src, dst, _, size, time, _ in matrix:
        type_ = f"{name}@{group}" if re.match("hcom_(send|receive)", name) else name.split("_")[1].lower()
        entry = moved.setdefault((type_, group, f"{src}-{dst}"), [0, 0])
        entry[0] += size
        entry[1] += time
    found: dict[tuple[str, str, str], list[float]] = {}
    for kinds in r.json("communication_matrix.json").values():
        for key, links in kinds["collective"].items():
            head, _, group = key.rpartition("@")
            type_, _, stat = head.rpartition("-")
            for link, figures in links.items():
                assert ("op_name" in figures) is (stat != "total")
                if stat == "total":
                    entry = found.setdefault((type_, group, link), [0, 0])
                    entry[0] += figures["Transit Size(MB)"]
                    entry[1] += figures["Transit Time(ms)"]
    assert set(found) == set(moved)
    for place, figures in found.items():
        assert figures == pytest.approx(moved[place])
