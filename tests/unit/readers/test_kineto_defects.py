"""Traces of GPUs with figures that none can be, and marks and versions that differ from the usual ones."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.formats import READERS
from tb_npu_plugin.scan import MEMORY
from tb_npu_plugin.schema.formats import KINETO
from tb_npu_plugin.store.timeline.build import build_timeline
from tb_npu_plugin.tables import Table
from tb_npu_plugin.views.base import device_kind
from tests.support.span import TestSpan


def slice_(cat: str, name: str, tid: int, ts: float, dur: float, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}


def kernel(number: int, ts: float, dur: float, name: str = "k", **args: Any) -> dict[str, Any]:
    return slice_("kernel", name, 7, ts, dur, correlation=number, device=0, stream=7, **args)


def launch(number: int, ts: float) -> dict[str, Any]:
    return slice_("cuda_runtime", "cudaLaunchKernel", 1, ts, 5, correlation=number)


def read(folder: Path, events: list[dict[str, Any]], **head: Any) -> tuple[dict[str, Table], list[Problem]]:
    trace, log, reader = folder / "node_1.pt.trace.json", ProblemLog(), READERS[KINETO.id]
    trace.write_text(json.dumps({"schemaVersion": 1, **head, "traceEvents": events}))
    (folder / "timeline").mkdir()
    return build_timeline(trace, folder / "timeline", log, lambda _: None, None, reader.scan, reader.derive), log.list()


def test_events_that_end_before_they_begin_are_in_no_table(tmp_path: Path) -> None:
    """The timeline left them out, and tables had their times, less than nothing."""
    events = [slice_("cpu_op", "a", 1, 0, -10), slice_("cpu_op", "b", 1, 0, 10), kernel(1, 20, -5), kernel(2, 40, 5)]
    tables, problems = read(tmp_path, events)
    assert tables["operators"].text("name").tolist() == ["b"]
    assert tables["kernels"].ints("dur_ns").tolist() == [5_000]
    assert tables["step_trace"].ints("stage").tolist() == [5_000]
    assert ("incomplete_event", 2) in {(problem.code, problem.count) for problem in problems}


def test_two_marks_of_one_step_are_that_step(tmp_path: Path) -> None:
    """A column had the same text twice, and the budget two rows of one step."""
    marks = [slice_("user_annotation", "ProfilerStep#1", 1, start, 100) for start in (0, 200)]
    tables, _ = read(tmp_path, [*marks, launch(1, 10), launch(2, 210), kernel(1, 20, 5), kernel(2, 220, 5)])
    assert tables["kernels"].text("step").tolist() == ["1", "1"]
    assert list(tables["kernels"].text("step").values) == ["1"]
    assert tables["step_trace"].text("step").tolist() == ["1"]
    assert tables["step_trace"].ints("preparing").tolist() == [20_000]


@pytest.mark.parametrize("base", [10**19, -5, True, "1700000000000000000", 1.5])
def test_a_base_that_is_no_moment_leaves_times_as_they_are(tmp_path: Path, base: Any) -> None:
    """One that no int64 holds cost the trace. That the times are not those of the day is told."""
    tables, problems = read(tmp_path, [kernel(1, 20, 5)], baseTimeNanoseconds=base)
    assert tables["kernels"].ints("start_ns").tolist() == [20_000]
    (found,) = [problem for problem in problems if problem.severity == "warning"]
    assert (found.code, found.where, found.found) == ("bad_base_time", "baseTimeNanoseconds", str(base))


BASE = 1_700_000_000_000_000_000


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("moment, base", [(20, BASE), (BASE / 1000 + 20, 0)])
def test_a_base_behind_the_events(tmp_path: Path, packed: bool, moment: float, base: int) -> None:
    """Of a packed file it was not seen: the trace began in 1970."""
    trace, reader = tmp_path / ("node_1.pt.trace.json" + ".gz" * packed), READERS[KINETO.id]
    last = f', "baseTimeNanoseconds": {base}' if base else ""
    text = json.dumps({"schemaVersion": 1, "traceEvents": [kernel(1, moment, 5)]})[:-1] + last + "}"
    trace.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    events = reader.scan(trace, ProblemLog(), lambda _: None, MEMORY)
    assert events.ts.tolist() == [BASE + 20_000]


def test_a_base_behind_the_events_of_a_packed_file_that_was_cut(tmp_path: Path) -> None:
    trace, log = tmp_path / "node_1.pt.trace.json.gz", ProblemLog()
    trace.write_bytes(gzip.compress(json.dumps({"schemaVersion": 1, "traceEvents": [kernel(1, 20, 5)]}).encode())[:-9])
    assert READERS[KINETO.id].scan(trace, log, lambda _: None, MEMORY).ts.tolist() == [20_000]
    assert [problem.code for problem in log.list()] == ["truncated_gzip"]


def test_messages_of_sizes_that_are_none(tmp_path: Path) -> None:
    events = [
        kernel(1, 20, 5, "ncclDevKernel_AllReduce", **{"In msg nelems": 2**62, "dtype": "Double"}),
        kernel(2, 30, 5, "ncclDevKernel_AllReduce", **{"In msg nelems": True, "dtype": "Float"}),
        kernel(3, 40, 5, "ncclDevKernel_AllReduce", **{"In msg nelems": 10, "dtype": "Float"}),
    ]
    tables, _ = read(tmp_path, events)
    assert len(tables["comm_ops"]) == 3
    assert tables["comm_bandwidth"].ints("size_bytes").tolist() == [40]
    assert tables["comm_bandwidth"].floats("bandwidth").tolist() == [40 / 5_000]


@pytest.mark.parametrize(
    ("key", "value", "found"),
    [
        ("cuda_runtime_version", 12040, {"CUDA runtime": "12.4"}),
        ("hip_runtime_version", 60241134, {"HIP runtime": "6.2.41134"}),
        ("hip_driver_version", 303, {"HIP driver": "303"}),
        ("cuda_driver_version", 0, {}),
    ],
)
def test_versions_are_written_as_their_makers_do(tmp_path: Path, key: str, value: int, found: dict[str, str]) -> None:
    """HIP 6.2 was called 60241.13."""
    trace = tmp_path / "node_1.pt.trace.json"
    trace.write_text(json.dumps({"schemaVersion": 1, key: value, "traceEvents": []}))
    assert READERS[KINETO.id].capture(tmp_path, [trace.name], ProblemLog()).versions == found


def test_shapes_that_no_number_holds_are_unknown(tmp_path: Path) -> None:
    """They cost the trace."""
    events = [slice_("cpu_op", "a", 1, 0, 10, **{"Input Dims": [["SIZE", 2]]}), slice_("cpu_op", "b", 1, 20, 10)]
    trace = json.dumps({"schemaVersion": 1, "traceEvents": events}).replace('"SIZE"', "9" * 5000)
    (tmp_path / "node_1.pt.trace.json").write_text(trace)
    (tmp_path / "timeline").mkdir()
    reader = READERS[KINETO.id]
    tables = build_timeline(
        tmp_path / "node_1.pt.trace.json",
        tmp_path / "timeline",
        ProblemLog(),
        lambda _: None,
        None,
        reader.scan,
        reader.derive,
    )
    assert tables["operators"].text("input_shapes").tolist() == [None, None]


def test_a_trace_of_an_mtia_device_is_no_gpus(tmp_path: Path) -> None:
    events = [slice_("cpu_op", "aten::add", 1, 0, 10), slice_("mtia_ccp_events", "k", 7, 5, 9)]
    tables, problems = read(tmp_path, events)
    assert "kernels" not in tables
    assert [(problem.code, problem.found) for problem in problems] == [("other_device", "events of an MTIA device")]
    assert device_kind(TestSpan(tables, format=KINETO.id)) == ""
