"""Traces of GPUs: what the tables say against the file, read with the standard library alone."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from tests.oracle.kineto import RECORDED, WRITTEN, Event, events_of, params, slices, tables_of
from tests.oracle.shown import Rows, rows_of

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
TABLES = {"kernels", "operators", "memory_record", "op_memory", "comm_ops", "comm_bandwidth"}
Case = tuple[dict[str, Rows], list[Event]]


@pytest.fixture(params=params(*WRITTEN, *RECORDED))
def case(request: pytest.FixtureRequest) -> Case:
    """Rows of the tables, and the events."""
    tables = tables_of(request.param)
    return {name: rows_of(tables[name]) for name in TABLES & tables.keys()}, events_of(request.param)


def test_kernels(case: Case) -> None:
    tables, events = case
    expected = slices(events, *DEVICE)
    assert ("kernels" in tables) == bool(expected)
    if not expected:
        return
    steps = [event for event in slices(events, "user_annotation") if event["name"].startswith("ProfilerStep#")]
    calls = {event["args"]["correlation"]: event for event in slices(events, "cuda_runtime")}
    ended: dict[int, int] = {}
    for row, event in zip(tables["kernels"], expected):
        args = event["args"]
        assert (row["name"], row["start_ns"], row["dur_ns"]) == (event["name"], event["start"], event["ns"])
        assert (row["device_id"], row["stream_id"]) == (args["device"], args["stream"])
        assert row["grid"] == (" × ".join(map(str, args["grid"])) if "grid" in args else None)
        launch = calls[args["correlation"]]["start"]
        step = next((one["name"].split("#")[1] for one in steps if one["start"] <= launch < one["end"]), None)
        assert row["step"] == step
        reach = ended.get(args["device"], 0)
        assert row["wait_ns"] == (max(event["start"] - reach, 0) if reach else None)
        assert (row["core"] == "COMMUNICATION") == ("nccl" in event["name"])
        ended[args["device"]] = max(reach, event["end"])
    assert len(tables["kernels"]) == len(expected)


def test_operators(case: Case) -> None:
    tables, events = case
    ops = slices(events, "cpu_op")
    work: Counter[int] = Counter()
    for event in slices(events, *DEVICE):
        work[event["args"]["External id"]] += event["ns"]
    expected = [[event["name"], event["ns"], event["ns"], *[work[event["args"]["External id"]]] * 2] for event in ops]
    opened: dict[int, list[int]] = {}
    for number, event in enumerate(ops):
        around = opened.setdefault(event["tid"], [])
        while around and ops[around[-1]]["end"] < event["end"]:
            around.pop()
        if around:
            expected[around[-1]][2] -= event["ns"]  # self time of the parent
        for parent in around:
            expected[parent][4] += work[event["args"]["External id"]]
        around.append(number)
    keys = ("name", "host_total_ns", "host_self_ns", "device_self_ns", "device_total_ns")
    assert [[row[key] for key in keys] for row in tables["operators"]] == expected
    assert sum(row["device_self_ns"] for row in tables["operators"]) == sum(work.values())


def test_memory(case: Case) -> None:
    tables, events = case
    found = sorted((e for e in events if e["name"] == "[memory]"), key=lambda event: event["start"])
    assert ("memory_record" in tables) == bool(found)
    if not found:
        return
    record = tables["memory_record"]
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
    rows = tables["op_memory"]
    assert [(row["size_bytes"], row["alloc_ns"]) for row in rows] == [(one["size"], one["start"]) for one in expected]
    assert [row["release_ns"] for row in rows] == [one["end"] for one in expected]


def test_collectives(case: Case) -> None:
    tables, events = case
    expected = [event for event in slices(events, "kernel") if "nccl" in event["name"]]
    assert ("comm_ops" in tables) == bool(expected)
    if not expected:
        return
    ops, traffic = tables["comm_ops"], tables["comm_bandwidth"]
    assert [row["elapse_ns"] for row in ops] == [event["ns"] for event in expected]
    assert [row["size_bytes"] for row in traffic] == [event["args"]["In msg nelems"] * 4 for event in expected]
    assert [row["group"] for row in ops] == [event["args"]["Process Group Name"] for event in expected]
    for row in traffic:
        assert row["bandwidth"] == pytest.approx(row["size_bytes"] / row["time_ns"])


def test_call_stacks(case: Case) -> None:
    """Python numbers its functions and names the caller of each; the product derives stacks from times."""
    tables, events = case
    functions = {event["args"]["Python id"]: event for event in slices(events, "python_function")}
    stacks = [row["call_stack"] for row in tables["operators"]]
    if not functions:
        assert set(stacks) == {None}
        return
    for op, stack in zip(slices(events, "cpu_op"), stacks):
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
