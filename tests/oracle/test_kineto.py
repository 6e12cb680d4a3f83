"""Traces of GPUs: what the tables say against the file, read with the standard library alone."""

from __future__ import annotations

import gzip
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.formats import READERS
from tb_npu_plugin.schema.formats import KINETO
from tb_npu_plugin.store.timeline.build import build_timeline
from tb_npu_plugin.tables import NULL_INT, Table
from tests.support.fixtures import FIXTURES

TRACES = sorted(path for path in (FIXTURES / "results").glob("kineto_*/*") if path.is_file())
RECORDED = sorted((FIXTURES / "recorded").glob("kineto_*/*"))
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def _raw(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    whole = json.loads(data, parse_float=Decimal)
    base = whole.get("baseTimeNanoseconds", 0)
    events = whole["traceEvents"]
    for event in events:
        event["start"] = int(Decimal(event["ts"]) * 1000) + base
        event["ns"] = int(Decimal(event.get("dur", 0)) * 1000)
        event["end"] = event["start"] + event["ns"]
        event.setdefault("args", {})
    return whole, events


def _of(events: list[dict[str, Any]], *categories: str) -> list[dict[str, Any]]:
    return [event for event in events if event["ph"] == "X" and event.get("cat") in categories]


@pytest.fixture(params=[*TRACES, *RECORDED], ids=lambda path: path.parent.name + "/" + path.name[:10])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[dict[str, Table], list[dict[str, Any]]]:
    reader, out = READERS[KINETO.id], tmp_path / "timeline"
    out.mkdir()
    log = ProblemLog()
    tables = build_timeline(request.param, out, log, lambda _: None, None, reader.scan, reader.derive)
    assert not [problem for problem in log.list() if problem.severity != "info"]
    return tables, _raw(request.param)[1]


def _rows(table: Table) -> list[dict[str, Any]]:
    columns = {}
    for column in table.columns:
        data = table.data[column.key]
        columns[column.key] = data.tolist()  # type: ignore[union-attr]
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def test_kernels(case: tuple[dict[str, Table], list[dict[str, Any]]]) -> None:
    tables, events = case
    expected = sorted(_of(events, *DEVICE), key=lambda event: event["start"])
    assert ("kernels" in tables) == bool(expected)
    if not expected:
        return
    steps = [event for event in _of(events, "user_annotation") if event["name"].startswith("ProfilerStep#")]
    calls = {event["args"]["correlation"]: event for event in _of(events, "cuda_runtime")}
    ended: dict[int, int] = {}
    for row, event in zip(_rows(tables["kernels"]), expected):
        args = event["args"]
        assert (row["name"], row["start_ns"], row["dur_ns"]) == (event["name"], event["start"], event["ns"])
        assert (row["device_id"], row["stream_id"]) == (args["device"], args["stream"])
        assert row["grid"] == (" × ".join(map(str, args["grid"])) if "grid" in args else None)
        launch = calls[args["correlation"]]["start"]
        step = next((one["name"].split("#")[1] for one in steps if one["start"] <= launch < one["end"]), None)
        assert row["step"] == step
        reach = ended.get(args["device"], 0)
        assert row["wait_ns"] == (max(event["start"] - reach, 0) if reach else NULL_INT)
        assert (row["core"] == "COMMUNICATION") == ("nccl" in event["name"])
        ended[args["device"]] = max(reach, event["end"])
    assert len(tables["kernels"]) == len(expected)


def test_operators(case: tuple[dict[str, Table], list[dict[str, Any]]]) -> None:
    tables, events = case
    ops = sorted(_of(events, "cpu_op"), key=lambda event: (event["start"], -event["ns"]))
    work: dict[int, int] = {}
    for event in _of(events, *DEVICE):
        work[event["args"]["External id"]] = work.get(event["args"]["External id"], 0) + event["ns"]
    rows = _rows(tables["operators"])
    assert [row["name"] for row in rows] == [event["name"] for event in ops]
    for row, event in zip(rows, ops):
        inside = [
            one
            for one in ops
            if one is not event
            and one["tid"] == event["tid"]
            and event["start"] <= one["start"]
            and one["end"] <= event["end"]
        ]
        direct = [
            one
            for one in inside
            if not any(
                other["start"] <= one["start"] and one["end"] <= other["end"] for other in inside if other is not one
            )
        ]
        assert row["host_total_ns"] == event["ns"]
        assert row["host_self_ns"] == event["ns"] - sum(one["ns"] for one in direct)
        own = work.get(event["args"]["External id"], 0)
        assert row["device_self_ns"] == own
        assert row["device_total_ns"] == own + sum(work.get(one["args"]["External id"], 0) for one in inside)
    assert sum(row["device_self_ns"] for row in rows) == sum(work.values())


def test_memory(case: tuple[dict[str, Table], list[dict[str, Any]]]) -> None:
    tables, events = case
    found = [event for event in events if event["name"] == "[memory]"]
    assert ("memory_record" in tables) == bool(found)
    if not found:
        return
    found.sort(key=lambda event: event["start"])
    record = _rows(tables["memory_record"])
    assert [row["allocated_bytes"] for row in record] == [event["args"]["Total Allocated"] for event in found]
    live: dict[tuple[int, int], dict[str, Any]] = {}
    expected = []
    for event in found:
        args = event["args"]
        key = (args["Device Type"], args["Addr"])
        if args["Bytes"] > 0:
            live[key] = {"size": args["Bytes"], "start": event["start"], "end": None}
            expected.append(live[key])
        elif key in live:
            live.pop(key)["end"] = event["start"]
    rows = _rows(tables["op_memory"])
    assert [(row["size_bytes"], row["alloc_ns"]) for row in rows] == [(one["size"], one["start"]) for one in expected]
    assert [None if row["release_ns"] == NULL_INT else row["release_ns"] for row in rows] == [
        one["end"] for one in expected
    ]


def test_collectives(case: tuple[dict[str, Table], list[dict[str, Any]]]) -> None:
    tables, events = case
    expected = sorted(
        (event for event in _of(events, "kernel") if "nccl" in event["name"]), key=lambda event: event["start"]
    )
    assert ("comm_ops" in tables) == bool(expected)
    if not expected:
        return
    ops, traffic = _rows(tables["comm_ops"]), _rows(tables["comm_bandwidth"])
    assert [row["elapse_ns"] for row in ops] == [event["ns"] for event in expected]
    assert [row["size_bytes"] for row in traffic] == [event["args"]["In msg nelems"] * 4 for event in expected]
    assert [row["group"] for row in ops] == [event["args"]["Process Group Name"] for event in expected]
    for row in traffic:
        assert row["bandwidth"] == pytest.approx(row["size_bytes"] / row["time_ns"])


def test_call_stacks(case: tuple[dict[str, Table], list[dict[str, Any]]]) -> None:
    """Python numbers its functions and names the caller of each: our stacks come of times alone."""
    tables, events = case
    functions = {event["args"]["Python id"]: event for event in _of(events, "python_function")}
    stacks = tables["operators"].text("call_stack").tolist()
    if not functions:
        assert set(stacks) == {None}
        return
    ops = sorted(_of(events, "cpu_op"), key=lambda event: (event["start"], -event["ns"]))
    for op, stack in zip(ops, stacks):
        around = [
            one for one in functions.values() if one["tid"] == op["tid"] and one["start"] <= op["start"] <= one["end"]
        ]
        innermost = max(around, key=lambda one: (one["start"], -one["ns"]), default=None)
        expected = []
        while innermost is not None:
            expected.append(re.sub(" at 0x[0-9a-f]+", "", innermost["name"]))
            innermost = functions.get(innermost["args"]["Python parent id"])
        assert (stack or "").split(";\r\n") == (expected or [""]), op["name"]
    assert any(stack and "nn.Module: Linear" in stack for stack in stacks)
