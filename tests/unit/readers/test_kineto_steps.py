"""Steps of unusual GPU traces: marks of several threads, names that come again, launches that were not recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tb_npu_plugin.analysis.steps.partition import Step, from_step_trace
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.formats import READERS
from tb_npu_plugin.schema.formats import KINETO
from tb_npu_plugin.store.timeline.build import build_timeline
from tb_npu_plugin.tables import Table


def mark(name: str, start: int, end: int, tid: int = 1) -> dict[str, Any]:
    event = {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{name}", "pid": 9, "tid": tid}
    return {**event, "ts": start, "dur": end - start}


def task(start: int, dur: int, number: int = 0, call: int | None = None, tid: int = 1, **args: Any) -> list[Any]:
    """A kernel; `call`: when it was launched, on a thread."""
    found: list[Any] = [
        {
            "ph": "X",
            "cat": "kernel",
            "name": "k",
            "pid": 0,
            "tid": 7,
            "ts": start,
            "dur": dur,
            "args": {"device": 0, "stream": 7, "correlation": number, **args},
        }
    ]
    if call is not None:
        found.append(
            {
                "ph": "X",
                "cat": "cuda_runtime",
                "name": "cudaLaunchKernel",
                "pid": 9,
                "tid": tid,
                "ts": call,
                "dur": 1,
                "args": {"correlation": number},
            }
        )
    return found


def steps_of(tmp_path: Path, *events: Any) -> tuple[list[Step], dict[str, Table]]:
    flat = [one for event in events for one in (event if isinstance(event, list) else [event])]
    path = tmp_path / "x.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": flat}))
    (tmp_path / "out").mkdir()
    reader = READERS[KINETO.id]
    tables = build_timeline(path, tmp_path / "out", ProblemLog(), lambda _: None, None, reader.scan, reader.derive)
    return from_step_trace(tables["step_trace"]), tables


def seen(steps: list[Step]) -> list[tuple[str | None, int | None, int | None, int | None]]:
    """us"""
    return [(s.step, *(None if v is None else v // 1000 for v in (s.stage, s.computing, s.free))) for s in steps]


def test_a_launch_that_was_not_recorded_belongs_to_the_step_in_which_it_ran(tmp_path: Path) -> None:
    """On the host steps 2 and 3 have begun long before: they start no earlier on the device for that."""
    steps, tables = steps_of(
        tmp_path,
        mark("1", 0, 10),
        mark("2", 10, 20),
        mark("3", 20, 200),
        task(12, 3),
        task(30, 20, 1, call=5),
        task(52, 8),
        task(70, 20, 2, call=15),
        task(95, 2),
        task(100, 10, 3, call=25),
    )
    assert seen(steps) == [("1", 40, 28, 12), ("2", 30, 22, 8), ("3", 10, 10, 0)]
    assert tables["kernels"].text("step").tolist() == [None, "1", "1", "2", "2", "3"]


def test_each_thread_has_its_own_marks_and_others_have_all(tmp_path: Path) -> None:
    """Thread 2 is a step behind; the backward pass of thread 3 has no marks. One name is one step."""
    steps, tables = steps_of(
        tmp_path,
        mark("1", 0, 10),
        mark("2", 10, 20),
        mark("1", 5, 15, tid=2),
        mark("2", 15, 30, tid=2),
        task(40, 5, 1, call=2),
        task(50, 5, 2, call=12, tid=2),
        task(60, 5, 3, call=12),
        task(70, 5, 4, call=25, tid=3),
    )
    assert tables["kernels"].text("step").tolist() == ["1", "1", "2", "2"]
    assert seen(steps) == [("1", 20, 10, 10), ("2", 15, 10, 5)]


def test_a_name_that_comes_again_is_another_step(tmp_path: Path) -> None:
    steps, _ = steps_of(
        tmp_path,
        mark("5", 0, 10),
        mark("6", 10, 20),
        mark("5", 20, 30),
        task(40, 5, 1, call=2),
        task(50, 5, 2, call=12),
        task(60, 5, 3, call=22),
    )
    assert seen(steps) == [("5", 10, 5, 5), ("6", 10, 5, 5), ("5 (2)", 5, 5, 0)]


def test_without_marks_the_capture_is_one_step_and_a_step_without_tasks_is_none(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert seen(steps_of(tmp_path / "a", task(10, 10, 1, call=5), task(30, 5, 2, call=6))[0]) == [(None, 25, 15, 10)]
    (tmp_path / "b").mkdir()
    steps, tables = steps_of(
        tmp_path / "b",
        mark("1", 0, 10),
        mark("2", 10, 20),
        mark("3", 20, 30),
        task(40, 5, 1, call=2),
        task(60, 5, 2, call=22),
    )
    assert seen(steps) == [("1", 20, 5, 15), ("3", 5, 5, 0)]
    assert len(tables["step_marks"]) == 3
