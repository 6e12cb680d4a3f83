"""Captures of MindSpore with the simulated NPU become results of an NPU."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from tb_npu_plugin.capture.mindspore.graphs import merged
from tb_npu_plugin.capture.mindspore.parse import parse_folder
from tb_npu_plugin.capture.mindspore.raw_data import read
from tb_npu_plugin.discovery.scan import scan
from tb_npu_plugin.errors import BadFile
from tb_npu_plugin.schema.torch_npu_json import LEFT_OUT, MEMORY_BLOCKS, SIMULATED, SUNK_GRAPH
from tests.support.invariants import check_all, query
from tests.support.span import found_spans
from tests.unit.capture.mindspore.captures import (
    COMPUTED_US,
    LAUNCHING,
    NODES,
    PID,
    START,
    STEP_US,
    STEPS,
    write_capture,
)


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "ASCEND_PROFILER_OUTPUT" / name).open(newline="") as file:
        return list(csv.DictReader(file))


def test_each_launch_is_one_kernel_in_order(tmp_path: Path) -> None:
    folder = write_capture(tmp_path)
    parse_folder(folder)
    kernels = rows(folder, "kernel_details.csv")
    assert [row["Name"].rpartition("/")[0] for row in kernels] == [
        f"Kernel::KernelLaunch::{node}" for node in NODES
    ] * STEPS
    assert [row["Step ID"] for row in kernels] == ["1"] * 4 + ["2"] * 4
    assert kernels[0]["Input Shapes"].strip('"') == "8,64;128,64"
    assert [row["Input Shapes"] for row in rows(folder, "operator_details.csv")][:2] == ["8,64;128,64", "8,128;128"]
    assert check_all(folder) == {"05", "06", "07", "08", "11", "14"}
    (span,) = found_spans(tmp_path)
    assert span.capture.simulated and not [one for one in span.problems if one.severity != "info"]


@pytest.mark.parametrize(("launching", "apart"), [(PID, 400 - COMPUTED_US), (LAUNCHING, 400)])
def test_computation_that_holds_up_the_main_thread_is_no_time_of_the_host(
    tmp_path: Path, launching: int, apart: int
) -> None:
    """Of another thread's computation that is what the main thread waited for: that of the last launch."""
    folder = write_capture(tmp_path, launching=launching)
    parse_folder(folder)
    trace = json.loads((folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_bytes())
    launches = [one for one in trace if one["name"].startswith("Kernel::KernelLaunch::") and one["ph"] == "X"]
    assert {one["tid"] for one in launches} == {launching}
    starts = [float(one["ts"]) for one in launches]
    between = [later - earlier for earlier, later in zip(starts[:3], starts[1:4])]
    assert between == pytest.approx([apart] * 3, abs=15)  # CANN takes some time for a launch
    first, second = (float(one["ts"]) for one in trace if one["name"] in ("ProfilerStep#1", "ProfilerStep#2"))
    computed = 4 * COMPUTED_US if launching == PID else COMPUTED_US
    assert second - first == pytest.approx(STEP_US - computed, abs=60)


def test_database_holds_the_same_kernels_and_the_marks(tmp_path: Path) -> None:
    folder = write_capture(tmp_path, export_type=["text", "db"], mstx=True)
    parse_folder(folder)
    database = "ascend_mindspore_profiler_0.db"
    assert query(folder, "select count(*) from COMPUTE_TASK_INFO", database) == [(8,)]
    assert query(folder, "select count(*) from MSTX_EVENTS", database) == [(1,)]


def test_executions_alone_are_enough(tmp_path: Path) -> None:
    """Without the runtime profiler there are no threads and no steps."""
    folder = write_capture(tmp_path, runtime=False)
    parse_folder(folder)
    assert len(rows(folder, "kernel_details.csv")) == 8
    assert len(rows(folder, "step_trace_time.csv")) == 1


def test_unknown_shapes_stay_unknown(tmp_path: Path) -> None:
    """MindSpore before 2.10 does not list them in PyNative mode."""
    folder = write_capture(tmp_path, shapes=False)
    parse_folder(folder)
    kernels = rows(folder, "kernel_details.csv")
    assert [row["Type"] for row in kernels[:4]] == ["MatMulV3", "BiasAdd", "MatMulV3", "ApplyAdamWV2"]
    assert {row["Input Shapes"] for row in kernels} == {"N/A"} == {row["Output Data Types"] for row in kernels}


def test_types_are_those_of_the_compiled_graphs(tmp_path: Path) -> None:
    """An operator that they do not describe as MindSpore launched it has shapes and no types."""
    folder = write_capture(tmp_path, graphs=True)
    parse_folder(folder)
    first, second = rows(folder, "kernel_details.csv")[:2]
    assert first["Input Data Types"] == "FLOAT16;FLOAT16" and first["Output Data Types"] == "FLOAT16"
    assert first["Output Shapes"].strip('"') == "8,128"  # its second input is transposed
    assert second["Input Shapes"].strip('"') == "8,128;128" and second["Input Data Types"] == "N/A"


def test_what_two_graphs_say_differently_is_unknown() -> None:
    """The same network with two sizes of batches has types and no outputs."""
    nodes = [("MatMul", {"inputs": ["float32"], "output": [[size], "float32"], "group": ""}) for size in (8, 3, 8)]
    assert merged(nodes) == {"MatMul": {"inputs": ["float32"], "output": None, "group": ""}}
    assert merged(nodes[:1]) == dict(nodes[:1])


def test_convolution_has_kernels(tmp_path: Path) -> None:
    """Where its output is unknown, it is one kernel."""
    folder = write_capture(tmp_path, graphs=True)
    replaced = {"MatMul": "Conv2D", "[8, 64];input_2:[128, 64]": "[8, 3, 9, 9];input_2:[16, 3, 3, 3]"}
    for path in folder.rglob("*"):
        if path.is_file():
            text = path.read_text()
            for old, new in {**replaced, "[8, 128]": "[8, 16, 9, 9]"}.items():
                text = text.replace(old, new)
            path.write_text(text)
    parse_folder(folder)
    kinds = [row["Type"] for row in rows(folder, "kernel_details.csv")]
    assert kinds[:6] == ["TransData", "TransData", "Conv2D", "TransData", "BiasAdd", "Conv2D"]


def test_events_after_the_capture_are_left_out(tmp_path: Path) -> None:
    """With Model.train in PyNative mode MindSpore adds them to the files."""
    folder = write_capture(tmp_path)
    (path,) = folder.rglob("RuntimeProfilerDetail*.csv")
    lines = path.read_text().splitlines()
    later = str(START + STEPS * STEP_US * 1000)
    path.write_text("\n".join([*lines, *(re.sub(r"start_time:\d+", f"start_time:{later}", line) for line in lines)]))
    data = read(folder)
    assert len(data.steps) == STEPS and {launch.tid for launch in data.launches} == {LAUNCHING}


def test_result_says_what_is_left_out(tmp_path: Path) -> None:
    folder = write_capture(tmp_path)
    metadata = {SIMULATED: {"by": "tb-npu-plugin", LEFT_OUT: [MEMORY_BLOCKS, SUNK_GRAPH, "of a newer version"]}}
    (folder / "profiler_metadata.json").write_text(json.dumps(metadata))
    parse_folder(folder)
    (span,) = found_spans(tmp_path)
    assert span.capture.simulated
    problems = [one for one in span.problems if one.code == "not_simulated"]
    assert [one.where for one in problems] == [MEMORY_BLOCKS, SUNK_GRAPH]
    assert "profile_memory" in problems[0].found and {one.severity for one in problems} == {"info"}


def test_capture_that_was_not_parsed_says_how(tmp_path: Path) -> None:
    folder = write_capture(tmp_path)
    (skipped,) = scan({"": tmp_path}).skipped
    assert "tb_npu_plugin.capture.mindspore.parse" in str(skipped) and "CANN" not in skipped.action
    (folder / "FRAMEWORK" / "host.json").unlink()
    (skipped,) = scan({"": tmp_path}).skipped
    assert "parse_folder" not in str(skipped)


def test_other_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile):
        parse_folder(tmp_path)
