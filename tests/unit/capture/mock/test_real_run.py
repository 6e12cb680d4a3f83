"""A real PyTorch run on the CPU gives result folders in which everything fits together."""

from __future__ import annotations

import os
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
from tests.oracle.raw import Raw
from tests.unit.capture.mock.training import train
from tests.unit.store.results import settle

pytest.importorskip("torch", reason="PyTorch is not installed: see docs/capture.md")

ALL = {"record_shapes": True, "profile_memory": True, "with_stack": True, "with_modules": True}
#: Each level, the activities alone, and each switch on somewhere and off somewhere.
RUNS: dict[str, dict[str, Any]] = {
    "level1": {**ALL, "config": {"gc_detect_threshold": 0.0}},
    "level0": {"level": "Level0", "config": {"l2_cache": True}},
    "level2": {
        "level": "Level2",
        "metrics": "Memory",
        "record_shapes": True,
        "with_modules": True,
        "with_flops": True,
        "config": {"l2_cache": True},
    },
    "level_none": {"level": "Level_none", "profile_memory": True, "with_stack": True},
    "cpu": {**ALL, "npu": False},
    "task_queue_0": {**ALL, "level": "Level2"},
    "task_queue_2": ALL,
    "npu": {"level": "Level2", "cpu": False, "profile_memory": True, "config": {"data_simplification": False}},
}
#: What the environment of a run says beside RANK.
VARIABLES = {"task_queue_0": {"TASK_QUEUE_ENABLE": "0"}, "task_queue_2": {"TASK_QUEUE_ENABLE": "2"}}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The result folder of a run of RUNS, made once."""

    @cache
    def folder(name: str) -> Path:
        with mock.patch.dict(os.environ, {"RANK": "0", **VARIABLES.get(name, {})}):
            made = train(tmp_path_factory.mktemp(name), export=("text", "db"), **RUNS[name])
        settle(made)  # what was written a moment ago is said to be still being written
        return made

    return folder


@pytest.mark.parametrize("name", RUNS)
def test_the_doctor_finds_nothing(result: Callable[[str], Path], name: str) -> None:
    said = CliRunner().invoke(cli, ["doctor", str(result(name).parent)])
    assert "1 taken, 0 not taken, 0 problems" in said.output


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
    assert convolution["Input Shapes"] == '"2,1,16,16,8;16,1,16,8"'
    assert convolution["Output Shapes"] == '"2,2,4,4,8"'
    assert {"Conv2DBackpropFilter", "MatMulV2", "LayerNormV3", "Gelu"} <= {row["Type"] for row in kernels}
    assert {row["Step Id"] for row in kernels} == {"2", "3"}


def test_the_same_raw_data_give_the_same_files(result: Callable[[str], Path], tmp_path: Path) -> None:
    folder = result("level1")
    parse(folder, tmp_path, ["text"], lambda progress: None)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (folder / "ASCEND_PROFILER_OUTPUT" / path.name).read_bytes(), path.name


def test_the_api_opens_it(result: Callable[[str], Path]) -> None:
    assert len(api.open(result("level1").parent)) == 1


def test_a_folder_that_cannot_be_written_costs_the_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmp_path.chmod(0o500)
    train(Path("/sys") if os.geteuid() == 0 else tmp_path)  # root may write everywhere else
    said = capsys.readouterr().out
    assert "[ERROR]" in said and "The training goes on." in said


def test_a_file_in_place_of_the_folder_costs_the_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "result").write_text("")
    train(tmp_path / "result")
    assert "The training goes on." in capsys.readouterr().out
