"""Steps of GPU traces in the views against the file, recomputed with json alone: where the device's time went, the course
of the steps, and the wait for the DataLoader. Real traces take part where they are found."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.schema.formats import KINETO
from tb_npu_plugin.views import data_pipeline, diagnosis, diff, overview, step_trace
from tb_npu_plugin.views.base import View, ViewInput
from tests.oracle.kineto import TRAINING, WRITTEN, Event, events_of, params, slices, tables_of
from tests.support.span import TestSpan

COPIES = ("gpu_memcpy", "gpu_memset", "Memcpy", "Memset")
WORK = ("kernel", "Kernel", *COPIES)
PARTS = ("computing", "communication_not_overlapped", "overlapped", "copying", "free")


@dataclass(frozen=True)
class Task:
    start: int
    end: int
    kind: str
    step: str | None


def marks_of(events: list[Event]) -> dict[str, tuple[int, int]]:
    """By name, in order."""
    found = [event for event in slices(events, "user_annotation", "Operator") if "ProfilerStep#" in event["name"]]
    return {event["name"].split("#")[1]: (event["start"], event["end"]) for event in found}


def tasks_of(events: list[Event]) -> dict[int, list[Task]]:
    """By device."""
    calls = {
        event["args"]["correlation"]: event["start"]
        for event in slices(events, "cuda_runtime", "cuda_driver", "Runtime")
        if event["args"].get("correlation")
    }
    marks = marks_of(events)
    out: dict[int, list[Task]] = defaultdict(list)
    for event in slices(events, *WORK):
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


Case = tuple[TestSpan, list[Event]]


@pytest.fixture(scope="module", params=params(*WRITTEN, *TRAINING))
def case(request: pytest.FixtureRequest) -> Case:
    path: Path = request.param
    return TestSpan(tables_of(path), format=KINETO.id, files=[path.name]), events_of(path)


def shown(view: View, *spans: TestSpan, **params: str) -> Any:
    return view.build(ViewInput(list(spans), {param.name: "" for param in view.params} | params)).data


def test_overview(case: Case) -> None:
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


def test_step_trace(case: Case) -> None:
    span, events = case
    for device, tasks in tasks_of(events).items():
        data = shown(step_trace.VIEW, span, device=str(device) if len(tasks_of(events)) > 1 else "")
        bounds = bounds_of(tasks)
        assert [step["step"] for step in data["steps"]] == list(bounds)
        whole = list(bounds)[:-1] or list(bounds)
        averaged = data["averaged"]
        assert (averaged["count"], averaged["first"], averaged["last"]) == (len(whole), whole[0], whole[-1])
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


def test_diff(case: Case) -> None:
    """The headline is the mean of the complete steps; its classes are what runs in them, whichever step launched it."""
    span, events = case
    entry = shown(diff.VIEW, span, span)["steps"][0]
    bounds = {device: list(bounds_of(tasks).values()) for device, tasks in tasks_of(events).items()}
    complete = [(tasks_of(events)[device], *step) for device, steps in bounds.items() for step in steps[:-1] or steps]
    length = sum(end - start for _, start, end in complete) / len(complete)
    sums = [parts_of(*step) for step in complete]
    parts = {part: sum(own[part] for own in sums) / len(complete) for part in PARTS}
    lengths = [len(steps) for steps in bounds.values()]
    assert entry["id"] == ("mean" if max(lengths) > 1 else "*")
    assert entry["baseline_count"] == max(max(lengths) - 1, 1)
    assert abs(entry["baseline_ns"] - length) <= 1
    times = {one["id"]: one["baseline_ns"] for one in entry["classes"]}
    assert sum(times.values()) == entry["baseline_ns"] and "computing" not in times
    named = {"copying": "copying", "communication": "communication_not_overlapped", "idle": "free"}
    for name, part in named.items():
        assert abs(times.pop(name, 0) - parts[part]) <= 1
    assert abs(sum(times.values()) - parts["computing"]) <= len(times)


def test_the_mean_step_leaves_out_the_cut_last_one_at_every_door(case: Case) -> None:
    """Diagnosis counted it, Diff did not."""
    span, events = case
    bounds = {device: list(bounds_of(tasks).items()) for device, tasks in tasks_of(events).items()}
    whole = {device: steps[:-1] or steps for device, steps in bounds.items()}
    own = {device: sum(end - start for _, (start, end) in steps) / len(steps) for device, steps in whole.items()}
    found = shown(diagnosis.VIEW, span)
    windows = {one["device_id"]: one["window_ns"] for one in found["ledgers"]}
    assert windows == pytest.approx(own if len(own) > 1 else {None: next(iter(own.values()))}, abs=1)
    longest: dict[str | None, int] = defaultdict(int)
    for name, (start, end) in (step for steps in whole.values() for step in steps):
        longest[name] = max(longest[name], end - start)
    mean = sum(longest.values()) / len(longest) / (found["repeats"] or 1)
    assert (found["mean_step_ms"] * 1e6, found["mean_steps"]) == (pytest.approx(mean, abs=1), len(longest))
    if len(own) == 1:
        compared = shown(diff.VIEW, span, span)["steps"][0]
        course = shown(step_trace.VIEW, span)["mean"]["total_ns"]
        assert [compared["baseline_ns"], compared["experimental_ns"], course] == [*windows.values()] * 3


def test_data_pipeline(case: Case) -> None:
    span, events = case
    loader = shown(data_pipeline.VIEW, span)["loader"]
    waits = [event for event in events if re.match(r"enumerate\(DataLoader\)", event["name"])]
    assert (loader is None) == (not waits)
    if loader is not None:
        marks = marks_of(events).values()
        assert loader["total_ns"] == sum(event["end"] - event["start"] for event in waits)
        assert loader["steps_ns"] == max(end for _, end in marks) - min(start for start, _ in marks)
