"""Kernels, steps and communication operators rebuilt from a trace that lost the files beside it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tb_npu_plugin.discovery.scan import scan
from tb_npu_plugin.store.span import Span
from tb_npu_plugin.tables import Table
from tests.support import mock
from tests.support.reading import open_spans
from tests.support.real_data import recording

#: Vendors' parsers compute times in float64 us: start, end and duration are a ns off, stage and preparing a quarter of a us.
NS, QUARTER = 1, 250
OUTPUT = "ASCEND_PROFILER_OUTPUT"


def alone(result: Path, out: Path, name: str = "trace_view.json") -> Span:
    """The span of the trace of a result without its other files."""
    (out / "run").mkdir(parents=True)
    shutil.copy(result / OUTPUT / "trace_view.json", out / "run" / name)
    (span,) = open_spans(out / "run", out / "read")
    return span


def assert_equal(full: Table | None, rebuilt: Table | None, exact: str, off: dict[str, int]) -> None:
    assert full is not None and rebuilt is not None and len(full) == len(rebuilt) > 0
    for key in exact.split():
        assert full.data[key].tolist() == rebuilt.data[key].tolist(), key
    for key, most in off.items():
        assert np.abs(full.ints(key) - rebuilt.ints(key)).max() <= most, key


def operators(span: Span) -> list[tuple[object, ...]]:
    """In no order: communication.json has those between two ranks first."""
    table = span.table("comm_ops")
    assert table is not None and len(table)
    return sorted(zip(*(table.data[key].tolist() for key in ("step", "kind", "name", "elapse_ns"))))


def assert_rebuilt(result: Path, out: Path) -> Span:
    (out / "full").mkdir()
    shutil.copytree(result, out / "whole" / result.name, ignore=shutil.ignore_patterns("*.db"))
    (full,) = open_spans(out / "whole", out / "full")
    found = alone(result, out)
    times = {"start_ns": NS, "dur_ns": NS, "wait_ns": 3 * NS}
    assert_equal(full.table("kernels"), found.table("kernels"), "step name stream_id task_id model_id", times)
    sums = "step computing communication_not_overlapped overlapped communication free bubble"
    assert_equal(full.table("step_trace"), found.table("step_trace"), sums, {"stage": QUARTER, "preparing": QUARTER})
    assert operators(full) == operators(found)
    return found


@pytest.mark.parametrize(("run", "rank"), [("cluster", 3), ("cluster_910a", 0), ("both_not_synced", 3)])
def test_kernels_and_steps_equal_those_of_the_full_result(tmp_path: Path, run: str, rank: int) -> None:
    found = assert_rebuilt(mock.rank_folder(mock.run(run)[0], rank), tmp_path)
    assert [problem.code for problem in found.problems if problem.code == "trace_alone"] == ["trace_alone"]
    assert found.source("kernels") == "trace_view.json" and found.rows("operators")
    kernels = found.table("kernels")
    assert kernels is not None and {*kernels.ints("device_id").tolist()} == {rank}


@pytest.mark.parametrize("rank", [0, 1])
def test_so_do_those_of_a_recorded_result(tmp_path: Path, rank: int) -> None:
    assert_rebuilt(recording("ascend_pt_text_level1") / f"rank{rank}_ascend_pt", tmp_path)


def test_a_recorded_trace_of_2023(tmp_path: Path) -> None:
    (span,) = open_spans(recording("ascend_pt_trace_alone"), tmp_path)
    kernels = span.table("kernels")
    assert kernels is not None and (len(kernels), span.rows("step_trace")) == (274, 1)
    assert {"MEMCPY_ASYNC", "AI_CORE"}.isdisjoint({*kernels.text("name").tolist(), *kernels.text("core").tolist()})


def test_a_full_result_takes_nothing_from_its_trace(tmp_path: Path) -> None:
    (span,) = open_spans(mock.rank_folder(mock.run("cluster")[0], 3), tmp_path)
    assert span.source("kernels") == "kernel_details.csv"
    assert not [problem for problem in span.problems if problem.code == "trace_alone"]


def test_an_exported_trace_is_known_by_its_content_under_any_name(tmp_path: Path) -> None:
    result = mock.rank_folder(mock.run("cluster")[0], 3)
    found = alone(result, tmp_path, "decode_rank3.json")
    assert (found.format, found.capture.rank, found.source("kernels")) == ("torch_npu", 3, "decode_rank3.json")
    assert found.rows("kernels") == alone(result, tmp_path / "other").rows("kernels")
    mended = json.loads((result / OUTPUT / "trace_view.json").read_text())
    for event in mended:  # as for viewers that want numbers
        event["ts"] = float(event.get("ts", 0)) - 1_749_000_000_000_000
    (tmp_path / "mended").mkdir()
    (tmp_path / "mended" / "for perfetto.json").write_text(json.dumps({"traceEvents": mended}))
    (place,) = scan({"": tmp_path / "mended"}).places()
    assert (place.span.format, place.span.files[0].name) == ("torch_npu", "trace_view.json")


def test_a_task_outside_computing_is_no_kernel(tmp_path: Path) -> None:
    """Real traces hold tasks of the type of kernels that compute nothing, such as those that only wrap others."""
    result = mock.rank_folder(mock.run("cluster")[0], 3)
    trace = result / OUTPUT / "trace_view.json"
    events = json.loads(trace.read_text())
    task = next(event for event in events if event.get("args", {}).get("Task Type") == "AI_CORE")
    free = next(event for event in events if event["name"] == "Free" and event["ph"] == "X")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "trace_view.json").write_text(json.dumps([*events, {**task, "ts": free["ts"], "dur": 0.001}]))
    (span,) = open_spans(tmp_path / "run", tmp_path / "read")
    assert span.rows("kernels") == alone(result, tmp_path / "plain").rows("kernels")


def test_a_copy_is_known_by_its_type_or_by_its_name(tmp_path: Path) -> None:
    result = mock.rank_folder(mock.run("cluster")[0], 3)
    trace = result / OUTPUT / "trace_view.json"
    events = json.loads(trace.read_text())
    task = next(event for event in events if event.get("args", {}).get("Task Type") == "AI_CORE")
    typed = {**task, "name": "a", "args": {**task["args"], "Task Type": "MEMCPY_ASYNC"}}
    named = {**task, "name": "MEMCPY_ASYNC", "args": {**task["args"], "Task Type": "a"}}
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "trace_view.json").write_text(json.dumps([*events, typed, named]))
    (span,) = open_spans(tmp_path / "run", tmp_path / "read")
    assert span.rows("kernels") == alone(result, tmp_path / "plain").rows("kernels")
