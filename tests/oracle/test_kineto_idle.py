"""Idle time of GPUs by the launch call of the task that ends it, recomputed from the file with json alone."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from tb_npu_plugin.analysis.idle.of_span import idle_of
from tests.oracle.kineto import TRAINING, WRITTEN, Event, events_of, params, slices
from tests.support.reading import open_spans

WORK = ("kernel", "Kernel", "gpu_memcpy", "gpu_memset", "Memcpy", "Memset")
CALLS = ("cuda_runtime", "cuda_driver", "Runtime")


def pieces(tasks: list[Event], calls: dict[int, Event], since: int) -> Counter[str]:
    """Time of a device without a task: before the launch call of the next task, inside it, and after it returned, ns.
    A gap is cut where any task begins. since: start of the first step."""
    out: Counter[str] = Counter()
    tasks = [task for task in tasks if task["start"] >= since]
    reached = tasks[0]["end"]
    for task in tasks[1:]:
        start, end = reached, task["start"]
        if end > start:
            call = calls.get(task["args"].get("correlation", 0))
            if call is None:
                out["unknown"] += end - start
            else:
                called = min(max(call["start"], start), end)
                returned = min(max(call["end"], called), end)
                out["before"] += called - start
                out["inside"] += returned - called
                out["after"] += end - returned
        reached = max(reached, task["start"], task["end"])
    return out


@pytest.mark.parametrize("path", params(*WRITTEN, *TRAINING))
def test_idle_time_is_cut_at_the_launch_calls(path: Path, tmp_path: Path) -> None:
    events = events_of(path)
    calls = {event["args"]["correlation"]: event for event in slices(events, *CALLS) if "correlation" in event["args"]}
    devices: dict[int, list[Event]] = {}
    for event in slices(events, *WORK):
        devices.setdefault(event["args"]["device"], []).append(event)
    shutil.copy(path, tmp_path)
    found = [idle for span in open_spans(tmp_path, tmp_path / "cache") for idle in idle_of(span)]
    assert len(found) == len(devices)
    for idle, (_, tasks) in zip(found, sorted(devices.items())):
        expected = pieces(tasks, calls, idle.steps[0].start_ns or 0)
        total = {launch: idle.time_of(launch) for launch in ("late", "before", "unknown")}
        for one in idle.between_steps:
            total[one.launch] += one.time_ns
        assert sum(total.values()) == sum(expected.values())
        # A task without an arrow has no launch, even if a call has its number: a graph is launched once for all its tasks.
        lacking = total["unknown"] - expected["unknown"]
        assert 0 <= expected["before"] + expected["inside"] - total["late"] <= lacking
        assert 0 <= expected["after"] - total["before"] <= lacking
