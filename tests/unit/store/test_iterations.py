"""Iterations of serving engines in results of NPUs, modelled from their source code: a simulated result whose steps are marked
as vllm-ascend and MindIE mark iterations."""

from __future__ import annotations

import csv
import json
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_npu_plugin.analysis.findings.diagnose import diagnose
from tb_npu_plugin.schema.trace_events import DEVICE_SIDE, OVERLAP
from tb_npu_plugin.store.span import Span
from tb_npu_plugin.tables import Table
from tests.support import mock
from tests.support.cli import shown
from tests.support.reading import open_spans

OUTPUT = "ASCEND_PROFILER_OUTPUT"
#: Ranges in a row that make an iteration, with their ends as shares of it.
VLLM_ASCEND = {"prepare input": 0.1, "forward": 0.9, "post process": 1.0}
#: Files of the tables, and how long the device of a result without them lags behind the host, us: longer than both steps.
FILES, LAG = ("kernel_details.csv", "step_trace_time.csv", "communication.json"), 100_000
#: Kernels that a graph replays.
GRAPH = "aclnnInplaceRelu_Relu_Relu"
MINDIE = {"Decoder_layer::Execute": 0.9, "LmHead::Execute": 1.0}


def served(tmp_path: Path, marks: dict[str, float], removed: tuple[str, ...] = ()) -> Path:
    """A rank without steps in its files and with the marks of iterations in their place."""
    result = mock.rank_folder(mock.run("resnet")[0], 0)
    copy = tmp_path / "run" / result.name
    shutil.copytree(result, copy)
    for name in removed:
        (copy / OUTPUT / name).unlink()
    file = copy / OUTPUT / "trace_view.json"
    events: list[dict[str, Any]] = []
    read = json.loads(file.read_text())
    late = {event["pid"] for event in read if event.get("args", {}).get("name") in (*DEVICE_SIDE, OVERLAP)}
    for event in read:
        if removed and event["pid"] in late and "ts" in event:
            event["ts"] = str(Decimal(event["ts"]) + LAG)
        if event["name"] == GRAPH and "Model Id" in event.get("args", {}):
            event["args"]["Model Id"] = 1
        events += marked(event, marks) if event["name"].startswith("ProfilerStep#") else [event]
    file.write_text(json.dumps(events))
    for name, column in (("kernel_details.csv", "Step Id"), ("step_trace_time.csv", "Step")):
        table = copy / OUTPUT / name
        if table.exists():
            rows = list(csv.DictReader(table.read_text().splitlines()))
            with table.open("w", newline="") as out:
                writer = csv.DictWriter(out, [key for key in rows[0] if key != column], extrasaction="ignore")
                writer.writeheader()
                writer.writerows(rows)
    return copy


def marked(step: dict[str, Any], marks: dict[str, float]) -> list[dict[str, Any]]:
    start, length, begin = float(step["ts"]), float(step["dur"]), 0.0
    out = []
    for name, end in marks.items():
        out.append({**step, "name": name, "ts": start + begin * length, "dur": (end - begin) * length})
        begin = end
    return out


def opened(folder: Path, out: Path) -> Span:
    out.mkdir()
    (span,) = open_spans(folder, out)
    return span


def table_of(span: Span, name: str) -> Table:
    found = span.table(name)
    assert found is not None
    return found


@pytest.mark.parametrize(("marks", "engine"), [(VLLM_ASCEND, "vllm-ascend"), (MINDIE, "MindIE")])
@pytest.mark.parametrize("removed", [(), FILES])
def test_kernels_belong_to_the_iteration_that_launched_them(
    tmp_path: Path, marks: dict[str, float], engine: str, removed: tuple[str, ...]
) -> None:
    """Not to that in which they run. With and without the file of the kernels, whose rows keep their types and shapes."""
    whole = opened(mock.rank_folder(mock.run("resnet")[0], 0), tmp_path / "whole")
    span = opened(served(tmp_path, marks, removed).parent, tmp_path / "served")
    number = {"11": "1", "12": "2"}
    kernels = table_of(span, "kernels")
    expected = [number.get(step or "") for step in table_of(whole, "kernels").text("step").tolist()]
    assert kernels.text("step").tolist() == expected
    assert kernels.has("input_shapes") == (not removed)
    assert set(table_of(span, "comm_ops").text("step").tolist()) == {"1", "2"}
    found = table_of(span, "engine_iterations")
    assert (found.text("step").tolist(), found.text("engine").tolist()) == (["1", "2"], [engine] * 2)
    assert found.ints("kernels").tolist() == [expected.count("1"), expected.count("2")]
    replayed = kernels.text("step").take(np.flatnonzero(kernels.text("name").equals(GRAPH))).tolist()
    assert found.ints("graph_kernels").tolist() == [replayed.count("1"), replayed.count("2")] != [0, 0]
    steps = table_of(span, "step_trace")
    start, end = kernels.ints("start_ns"), kernels.ints("start_ns") + kernels.ints("dur_ns")
    for row, step in enumerate(("1", "2")):
        own = kernels.text("step").equals(step)
        stage = end[own].max() - start[own].min()
        assert (steps.text("step")[row], abs(steps.ints("stage")[row] - stage) <= 2) == (step, True)
    assert [problem.code for problem in span.problems if problem.code == "marks_from_code"] == ["marks_from_code"]


@pytest.mark.parametrize(("share", "count"), [(1.0, 2), (0.02, None)])
def test_calls_that_replay_a_graph_are_iterations_if_they_launch_nearly_all(
    tmp_path: Path, share: float, count: int | None
) -> None:
    span = opened(served(tmp_path, {"AscendCL@aclmdlRIExecuteAsync": share}).parent, tmp_path / "served")
    assert span.rows("engine_iterations") == count
    if count:
        assert table_of(span, "engine_iterations").text("engine").tolist() == [None] * count
        assert set(table_of(span, "kernels").text("step").tolist()) == {"1", "2"}


def test_views_speak_of_iterations(tmp_path: Path) -> None:
    folder = served(tmp_path, VLLM_ASCEND)
    found = diagnose([opened(folder.parent, tmp_path / "served")])
    assert len(found.steps) == 2 and "neither steps nor iterations" not in found.verdict.message
    answer = shown("step_trace", folder.parent)
    assert (answer["data"]["method"], answer["tables"]["groups"]["data"]["count"]) == ("iterations", [2])
    assert shown("overview", folder.parent)["data"]["period"] == "iteration"


def test_steps_come_before_iterations(tmp_path: Path) -> None:
    """A range called forward says nothing where a file has steps."""
    folder = served(tmp_path, VLLM_ASCEND)
    name = "step_trace_time.csv"
    shutil.copy(mock.rank_folder(mock.run("resnet")[0], 0) / OUTPUT / name, folder / OUTPUT / name)
    span = opened(folder.parent, tmp_path / "served")
    assert span.rows("engine_iterations") is None
    assert span.source("step_trace") == name and table_of(span, "step_trace").text("step").tolist() == ["11", "12"]
