"""A real PyTorch run on the CPU gives a result folder in which everything fits together."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from unittest import mock

import pytest
from click.testing import CliRunner

from tb_npu_plugin.capture.mock.parse import parse
from tb_npu_plugin.cli import cli
from tests.oracle.raw import Raw
from tests.support.invariants import check_all
from tests.unit.capture.mock.training import train
from tests.unit.capture.scripts import needs_torch
from tests.unit.store.results import settle

pytestmark = needs_torch
ALL = {"record_shapes": True, "profile_memory": True, "with_stack": True, "with_modules": True}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result folder of a run with all switches, as text and database."""
    with mock.patch.dict(os.environ, {"RANK": "0"}):
        made = train(tmp_path_factory.mktemp("run"), export=("text", "db"), config={"gc_detect_threshold": 0.0}, **ALL)
    settle(made)
    return made


def test_the_invariants_hold(result: Path) -> None:
    """All but those of communication."""
    assert check_all(result) == {f"{number:02}" for number in range(1, 17)} - {"12"}


def test_the_doctor_finds_no_problem(result: Path) -> None:
    output = CliRunner().invoke(cli, ["doctor", str(result.parent)]).output
    assert "1 taken, 0 not taken, 0 problems" in output


def test_the_host_is_what_ran(result: Path) -> None:
    raw = Raw(result)
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


def test_the_device_runs_the_kernels_of_the_operators(result: Path) -> None:
    kernels = Raw(result).kernels
    (convolution, *_) = [row for row in kernels if row["Type"] == "Conv2D"]
    assert convolution["Input Shapes"] == '"2,1,16,16,8;16,1,16,8"'
    assert convolution["Output Shapes"] == '"2,2,4,4,8"'
    assert {"Conv2DBackpropFilter", "MatMulV2", "LayerNormV3", "Gelu"} <= {row["Type"] for row in kernels}
    assert {row["Step Id"] for row in kernels} == {"2", "3"}


def test_the_result_says_that_it_is_simulated(result: Path) -> None:
    assert json.loads((result / "profiler_metadata.json").read_text())["tb_npu_simulated"] is True
    with sqlite3.connect(result / "ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db") as connection:
        names = dict(connection.execute("SELECT name, value FROM META_DATA"))
    assert json.loads(names["tb_npu_simulated"]) is True


def test_the_same_raw_data_give_the_same_files(result: Path, tmp_path: Path) -> None:
    parse(result, tmp_path, ["text"], lambda progress: None)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (result / "ASCEND_PROFILER_OUTPUT" / path.name).read_bytes(), path.name


def test_a_folder_that_cannot_be_made_ends_the_capture_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "result").write_text("")
    train(tmp_path / "result")
    output = capsys.readouterr().out
    assert "[ERROR]" in output and "The training goes on." in output
