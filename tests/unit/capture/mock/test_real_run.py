"""A real PyTorch run on the CPU gives result folders in which everything fits together."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from click.testing import CliRunner

from tb_npu_plugin import api
from tb_npu_plugin.capture.mock.parse import parse
from tb_npu_plugin.cli import cli
from tests.oracle import test_databases as databases
from tests.oracle import test_invariants as invariants
from tests.oracle.raw import Raw
from tests.unit.capture.mock.training import train
from tests.unit.store.results import settle

pytest.importorskip("torch", reason="PyTorch is not installed: see docs/capture.md")

ALL = {"record_shapes": True, "profile_memory": True, "with_stack": True, "with_modules": True}
RUNS: dict[str, dict[str, Any]] = {
    "level1": {**ALL, "export": ("text", "db")},
    "level0": {"level": "Level0"},
    "level2": {"level": "Level2", "record_shapes": True, "with_modules": True},
    "level_none": {"level": "Level_none", "profile_memory": True},
    "cpu": {**ALL, "npu": False},
    "task_queue_0": {**ALL, "level": "Level2", "export": ("text", "db")},
    "task_queue_2": {**ALL, "export": ("text", "db")},
}
#: What the environment of a run says beside RANK.
VARIABLES = {"task_queue_0": {"TASK_QUEUE_ENABLE": "0"}, "task_queue_2": {"TASK_QUEUE_ENABLE": "2"}}
TRACE = ("trace_view.json",)
KERNELS = (*TRACE, "kernel_details.csv")
STEPS = (*TRACE, "step_trace_time.csv")
CHECKS: list[tuple[Callable[[Path], None], tuple[str, ...]]] = [
    (invariants.test_01_communication_is_overlapped_and_not, STEPS),
    (invariants.test_02_overlap_rows_sum_to_the_step_trace, STEPS),
    (invariants.test_03_computing_alone_and_free_tile_the_stage, STEPS),
    (invariants.test_04_stage_and_preparing_lie_on_the_float_grid, STEPS),
    (invariants.test_05_computing_is_the_union_of_the_kernels, KERNELS),
    (invariants.test_06_op_statistic_groups_the_kernels, ("op_statistic.csv",)),
    (invariants.test_07_kernels_are_sorted_and_wait_is_the_gap, KERNELS),
    (invariants.test_08_every_kernel_is_in_the_trace, KERNELS),
    (invariants.test_09_operator_details_follow_from_the_trace, TRACE),
    (invariants.test_10_memory_identities, ("memory_record.csv",)),
    (invariants.test_11_api_statistic_groups_the_cann_calls, ("api_statistic.csv",)),
    (invariants.test_13_flows_have_both_ends_on_slices, TRACE),
    (invariants.test_14_metric_times_and_ratios_agree, KERNELS),
]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The result folder of a run of RUNS, made once."""

    @cache
    def folder(name: str) -> Path:
        with mock.patch.dict(os.environ, {"RANK": "0", **VARIABLES.get(name, {})}):
            made = train(tmp_path_factory.mktemp(name), **RUNS[name])
        settle(made)  # what was written a moment ago is said to be still being written
        return made

    return folder


@pytest.mark.parametrize("name", RUNS)
def test_the_invariants_hold(result: Callable[[str], Path], name: str) -> None:
    folder = result(name)
    checked = [check(folder) for check, needs in CHECKS if Raw(folder).has(*needs)]
    expected = {"level1": 13, "level2": 12, "level0": 10, "task_queue_0": 13, "task_queue_2": 13}
    assert len(checked) == expected.get(name, 3)


@pytest.mark.parametrize("name", RUNS)
def test_the_doctor_finds_nothing(result: Callable[[str], Path], name: str) -> None:
    said = CliRunner().invoke(cli, ["doctor", str(result(name).parent)])
    assert "1 taken, 0 not taken, 0 problems" in said.output


def test_files_follow_level_and_switches(result: Callable[[str], Path]) -> None:
    files = {name: {path.name for path in (result(name) / "ASCEND_PROFILER_OUTPUT").iterdir()} for name in RUNS}
    assert files["cpu"] == {
        "analyse.done", "trace_view.json", "operator_details.csv", "operator_memory.csv", "memory_record.csv",
    }  # fmt: skip
    assert "api_statistic.csv" in files["level1"] & files["level2"] - files["level0"]
    assert "operator_memory.csv" in files["level1"] - files["level0"]
    assert {"ascend_pytorch_profiler_0.db", "analysis.db"} <= files["level1"]


def test_the_host_is_what_ran(result: Callable[[str], Path]) -> None:
    raw = Raw(result("level1"))
    rows = raw.csv("operator_details.csv")
    (convolution, *_) = [row for row in rows if row["Name"] == "aten::conv2d"]
    assert convolution["Input Shapes"].startswith("2,3,16,16;\r\n16,3,4,4;\r\n16;\r\n")
    assert "training.py" in convolution["Call Stack"]
    assert {"nn.Module: Conv2d_0", "nn.Module: TransformerEncoderLayer_0"} <= {e["name"] for e in raw.slices}
    assert [step for step, _, _ in raw.steps] == ["2", "3"]
    blocks = {row["Name"] for row in raw.csv("operator_memory.csv")}
    assert "aten::empty" in blocks or "aten::resize_" in blocks
    backward = [e for e in raw.slices if e["name"] == "ConvolutionBackward0"]
    main_tid = next(e["tid"] for e in raw.slices if e["name"] == "aten::conv2d")
    assert len(backward) == 2
    assert all(event["tid"] != main_tid and event["args"]["Fwd thread id"] for event in backward)


def test_the_device_runs_the_kernels_of_the_operators(result: Callable[[str], Path]) -> None:
    kernels = Raw(result("level1")).kernels
    (convolution, *_) = [row for row in kernels if row["Type"] == "Conv2D"]
    assert convolution["Input Shapes"] == '"2,3,16,16;16,3,4,4"'
    assert convolution["Output Shapes"] == '"2,16,4,4"'
    assert {"Conv2DBackpropFilter", "MatMulV2", "LayerNormV3", "Gelu"} <= {row["Type"] for row in kernels}
    assert {row["Step Id"] for row in kernels} == {"2", "3"}


def test_ranges_of_mstx_are_shown(result: Callable[[str], Path]) -> None:
    assert [e["name"] for e in Raw(result("level2")).slices].count("a range") == 2


def test_databases_agree(result: Callable[[str], Path]) -> None:
    folder = result("level1")
    databases.test_15_step_trace_follows_from_the_tasks(folder)
    databases.test_15_every_task_was_launched_by_a_call(folder)
    databases.test_15_kernels_are_those_of_the_text(folder)
    databases.test_memory_is_that_of_the_text(folder)
    with sqlite3.connect(folder / "ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db") as connection:
        names = dict(connection.execute("SELECT name, value FROM META_DATA"))
    assert json.loads(names["tb_npu_simulated"]) is True


def test_it_says_that_it_is_simulated(result: Callable[[str], Path]) -> None:
    assert json.loads((result("level0") / "profiler_metadata.json").read_text())["tb_npu_simulated"] is True


def test_the_same_raw_data_give_the_same_files(result: Callable[[str], Path], tmp_path: Path) -> None:
    folder = result("level1")
    parse(folder, tmp_path, ["text"], lambda progress: None)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (folder / "ASCEND_PROFILER_OUTPUT" / path.name).read_bytes(), path.name


def test_the_api_opens_it(result: Callable[[str], Path]) -> None:
    assert len(api.open(result("level1").parent)) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_costs_the_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmp_path.chmod(0o500)
    train(tmp_path)
    assert "[ERROR]" in capsys.readouterr().out


def test_a_file_in_place_of_the_folder_costs_the_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "result").write_text("")
    train(tmp_path / "result")
    assert "The training goes on." in capsys.readouterr().out
