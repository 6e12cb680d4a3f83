"""Steps of GPU traces in the views against the file, recomputed with json alone: where the device's time went, the course
of the steps, and the wait for the DataLoader. Real traces take part where they are found."""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.schema.formats import KINETO
from tb_npu_plugin.views import data_pipeline, diff, overview, step_trace
from tb_npu_plugin.views.base import View, ViewInput
from tests.support.fixtures import FIXTURES
from tests.support.span import REAL_DATA, TestSpan, tables_of_trace

TRACES = sorted(path for path in (FIXTURES / "results").glob("kineto_*/*") if path.is_file())
REAL = sorted((REAL_DATA / "gpu_kineto").glob("*/*.json.gz"))
COPIES = ("gpu_memcpy", "gpu_memset", "Memcpy", "Memset")
WORK = ("kernel", "Kernel", *COPIES)
PARTS = ("computing", "communication_not_overlapped", "overlapped", "copying", "free")


@dataclass(frozen=True)
class Task:
    start: int
    end: int
    kind: str
    step: str | None


def events_of(path: Path) -> list[dict[str, Any]]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    whole = json.loads(data, parse_float=Decimal)
    base = whole.get("baseTimeNanoseconds", 0)
    events = [event for event in whole["traceEvents"] if event["ph"] == "X" and "dur" in event]
    for event in events:
        event["start"] = int(Decimal(event["ts"]) * 1000) + base
        event["end"] = event["start"] + int(Decimal(event["dur"]) * 1000)
    return events


def marks_of(events: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """By name, in order."""
    found = [
        event
        for event in events
        if event["name"].startswith("ProfilerStep#") and event["cat"] in ("user_annotation", "Operator")
    ]
    return {
        event["name"].split("#")[1]: (event["start"], event["end"]) for event in sorted(found, key=lambda e: e["start"])
    }


def tasks_of(events: list[dict[str, Any]]) -> dict[int, list[Task]]:
    """By device."""
    marks = marks_of(events)
    calls = {
        event["args"]["correlation"]: event["start"]
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver", "Runtime") and event["args"].get("correlation")
    }
    out: dict[int, list[Task]] = defaultdict(list)
    for event in events:
        if event.get("cat") not in WORK:
            continue
        launch = calls[event["args"]["correlation"]]
        step = next((name for name, (start, end) in marks.items() if start <= launch < end), None)
        kind = "copies" if event["cat"] in COPIES else "communicates" if "nccl" in event["name"] else "computes"
        out[event["args"]["device"]].append(Task(event["start"], event["end"], kind, step))
    return out


def bounds_of(tasks: list[Task]) -> dict[str | None, tuple[int, int]]:
    """Start and end of each step on a device, in order."""
    named = [task for task in tasks if task.step is not None] or tasks
    starts: dict[str | None, int] = {}
    for task in sorted(named, key=lambda task: task.start):
        starts.setdefault(task.step, task.start)
    names = list(starts)
    last = max(task.end for task in named if task.step == names[-1])
    ends = [*list(starts.values())[1:], last]
    return {name: (starts[name], end) for name, end in zip(names, ends)}


def parts_of(tasks: list[Task], start: int, end: int) -> dict[str, int]:
    """What runs between each two neighbouring changes."""
    changes = [(start, "", 0), (end, "", 0)]
    for task in tasks:
        if task.end > start and task.start < end and task.end > task.start:
            changes += [(max(task.start, start), task.kind, 1), (min(task.end, end), task.kind, -1)]
    running = {"": 0, "computes": 0, "communicates": 0, "copies": 0}
    out = dict.fromkeys(PARTS, 0)
    changes.sort()
    for (at, kind, by), (until, _, _) in zip(changes, changes[1:]):
        running[kind] += by
        if running["computes"]:
            out["computing"] += until - at
            out["overlapped"] += until - at if running["communicates"] else 0
        elif running["communicates"]:
            out["communication_not_overlapped"] += until - at
        elif running["copies"]:
            out["copying"] += until - at
        else:
            out["free"] += until - at
    return out


@cache
def read(path: Path) -> tuple[TestSpan, list[Any]]:
    log = ProblemLog()
    tables = tables_of_trace(path, log)
    assert not [problem for problem in log.list() if problem.severity != "info"]
    return TestSpan(tables, format=KINETO.id, files=[path.name]), events_of(path)


@pytest.fixture(scope="module", params=[*TRACES, *REAL], ids=lambda path: f"{path.parent.name}/{path.name[:10]}")
def case(request: pytest.FixtureRequest) -> tuple[TestSpan, list[Any]]:
    return read(request.param)


def shown(view: View, span: TestSpan, **params: str) -> Any:
    return view.build(ViewInput([span], {param.name: "" for param in view.params} | params)).data


def test_overview(case: tuple[TestSpan, list[Any]]) -> None:
    span, events = case
    data = shown(overview.VIEW, span)
    assert data["steps_computed"]
    marks, expected = marks_of(events), tasks_of(events)
    rows = {(row["device_id"], row["step"]): row for row in data["steps"]}
    assert len(rows) == len(data["steps"]) == sum(len(bounds_of(tasks)) for tasks in expected.values()) > 0
    for device, tasks in expected.items():
        reached = None
        for name, (start, end) in bounds_of(tasks).items():
            row, parts = rows[device, name], parts_of(tasks, start, end)
            assert {key: row[key] for key in PARTS} == parts
            assert row["communication"] == parts["communication_not_overlapped"] + parts["overlapped"]
            assert row["stage"] == end - start == sum(parts.values()) - parts["overlapped"]
            assert reached in (None, start)  # nothing between steps, nothing in two
            assert row["preparing"] == (start - marks[name][0] if name is not None else None)
            assert row["exposed_preparing"] == (row["preparing"] if reached is None else 0)
            reached = end


def test_step_trace(case: tuple[TestSpan, list[Any]]) -> None:
    span, events = case
    for device, tasks in tasks_of(events).items():
        data = shown(step_trace.VIEW, span, device=str(device) if len(tasks_of(events)) > 1 else "")
        bounds = bounds_of(tasks)
        assert [step["step"] for step in data["steps"]] == list(bounds)
        assert data["averaged"] == (list(bounds)[:-1] or list(bounds))
        for step, (start, end) in zip(data["steps"], bounds.values()):
            own = [task for task in tasks if task.step == step["step"]]
            computed = max(min(task.end, end) for task in own if task.kind == "computes")
            last = max(min(task.end, end) for task in own)
            assert (step["total_ns"], step["fp_bp_ns"]) == (end - start, computed - start)
            assert step["tail_ns"] == last - computed
            assert step["gap_ns"] == (end - last if step["step"] != list(bounds)[-1] else None)
            communicated = parts_of(tasks, start, end)
            assert step["reduce_ns"] == communicated["overlapped"] + communicated["communication_not_overlapped"]
        lengths = [end - start for start, end in bounds.values()]
        lengths = lengths[:-1] or lengths
        assert abs(data["mean"]["total_ns"] - sum(lengths) / len(lengths)) <= 0.5


def shown_diff(before: TestSpan, after: TestSpan) -> Any:
    return diff.VIEW.build(ViewInput([before, after], {"step": ""})).data


def mean_of(events: list[Any]) -> tuple[float, dict[str, float], int]:
    """The mean step of the complete steps of all devices: its time, its parts, and the number of steps."""
    steps = []
    for tasks in tasks_of(events).values():
        bounds = list(bounds_of(tasks).values())
        steps += [(end - start, parts_of(tasks, start, end)) for start, end in bounds[:-1] or bounds]
    parts = {part: sum(own[part] for _, own in steps) / len(steps) for part in PARTS}
    return sum(length for length, _ in steps) / len(steps), parts, len(steps)


def test_diff(case: tuple[TestSpan, list[Any]]) -> None:
    """The headline is the mean of the complete steps; its classes are what runs in them, whichever step launched it."""
    span, events = case
    length, parts, _ = mean_of(events)
    entry = shown_diff(span, span)["steps"][0]
    lengths = [len(bounds_of(tasks)) for tasks in tasks_of(events).values()]
    assert entry["id"] == ("mean" if max(lengths) > 1 else "*")
    assert entry["baseline_count"] == max(max(lengths) - 1, 1)
    assert abs(entry["baseline_ns"] - length) <= 1
    times = {one["id"]: one["baseline_ns"] for one in entry["classes"]}
    assert sum(times.values()) == entry["baseline_ns"] and "computing" not in times
    named = {"copying": "copying", "communication": "communication_not_overlapped", "idle": "free"}
    for name, part in named.items():
        assert abs(times.pop(name, 0) - parts[part]) <= 1
    assert abs(sum(times.values()) - parts["computing"]) <= len(times)


def test_diff_of_each_step(case: tuple[TestSpan, list[Any]]) -> None:
    span, events = case
    by_device = list(tasks_of(events).values())
    if len(by_device) > 1:
        return
    bounds = bounds_of(by_device[0])
    found = {one["baseline_step"]: one for one in shown_diff(span, span)["steps"] if one["baseline_step"] is not None}
    assert list(found) == [name for name in bounds if name is not None]
    for name, entry in found.items():
        start, end = bounds[name]
        assert entry["baseline_ns"] == end - start
        started = [task for task in by_device[0] if start <= task.start < end]
        assert sum(one["baseline_calls"] for one in entry["classes"]) == len(started)


@pytest.mark.skipif(len(REAL) < 3, reason=f"real traces not found at {REAL_DATA} (set NPU_REAL_DATA)")
def test_diff_of_real_traces() -> None:
    before, after = (read(path) for name in ("num_workers_0", "num_workers_4") for path in REAL if name in str(path))
    entry = shown_diff(before[0], after[0])["steps"][0]
    for side, (_, events), known in (("baseline", before, 175.79), ("experimental", after, 136.34)):
        length, _, count = mean_of(events)
        assert (abs(entry[f"{side}_ns"] - length) <= 1000, entry[f"{side}_count"]) == (True, count)
        assert entry[f"{side}_ns"] / 1e6 == pytest.approx(known, abs=0.005)


def test_data_pipeline(case: tuple[TestSpan, list[Any]]) -> None:
    span, events = case
    loader = shown(data_pipeline.VIEW, span)["loader"]
    waits = [event for event in events if re.match(r"enumerate\(DataLoader\)", event["name"])]
    assert (loader is None) == (not waits)
    if loader is not None:
        marks = marks_of(events).values()
        assert loader["total_ns"] == sum(event["end"] - event["start"] for event in waits)
        assert loader["steps_ns"] == max(end for _, end in marks) - min(start for start, _ in marks)


#: Steps on the device in ms, idle and elapsed ms, the share of the marks' time that the host waited for the DataLoader.
KNOWN = {
    "resnet50_num_workers_0": ([176.219, 178.718, 174.983, 180.741, 168.287], 392.92, 996.48, 0.396),
    "resnet50_num_workers_4": ([139.665, 123.979, 128.020, 128.003, 162.050], 187.14, 801.55, 0.010),
    "ns_resolution": ([97.664, 95.737, 95.571, 95.664], 7.57, 480.03, None),
}


def test_known_truth_of_real_traces(case: tuple[TestSpan, list[Any]], request: pytest.FixtureRequest) -> None:
    span, _ = case
    name = next((name for name in KNOWN if name in request.node.name), None)
    if name is None:
        return
    lengths, idle, elapsed, share = KNOWN[name]
    steps = shown(overview.VIEW, span)["steps"]
    assert [step["stage"] / 1e6 for step in steps][:-1] == pytest.approx(lengths, abs=0.001)
    assert shown(step_trace.VIEW, span)["mean"]["total_ns"] / 1e6 == pytest.approx(
        sum(lengths) / len(lengths), abs=0.001
    )
    assert sum(step["free"] for step in steps) / 1e6 == pytest.approx(idle, abs=0.01)
    assert sum(step["stage"] for step in steps) / 1e6 == pytest.approx(elapsed, abs=0.01)
    loader = shown(data_pipeline.VIEW, span)["loader"]
    assert (share is None) == (loader is None)
    if loader is not None:
        assert loader["total_ns"] / loader["steps_ns"] == pytest.approx(share, abs=0.0005)
