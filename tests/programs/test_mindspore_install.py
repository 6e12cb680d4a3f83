"""Our wheel installed beside MindSpore 2.10 and the numpy below 2 that it needs: both stay, and both work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.programs import python_of
from tests.programs.test_mindspore import MODEL, SCHEDULE

pytestmark = pytest.mark.full


def _run(folder: Path, *command: str | Path) -> str:
    environment = {**os.environ, "HOME": str(folder), "TB_NPU_CACHE_DIR": str(folder / "cache")}
    environment.pop("PYTHONPATH", None)  # the wheel, not the sources
    done = subprocess.run(
        [str(one) for one in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def _packages(python: Path) -> Path:
    (found,) = (python.parents[1] / "lib").glob("python*/site-packages")
    return found


def test_the_wheel_beside_mindspore(tmp_path: Path) -> None:
    theirs = _packages(python_of("mindspore"))
    _run(tmp_path, sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", tmp_path, ROOT)
    # An environment on top of MindSpore's: pip takes its packages as installed, and what it replaced would lie here.
    _run(tmp_path, sys.executable, "-m", "venv", tmp_path / "env")
    python = tmp_path / "env/bin/python"
    (_packages(python) / "beside.pth").write_text(f"{theirs}\n")
    (wheel,) = tmp_path.glob("tb_npu_plugin-*.whl")
    report = tmp_path / "report.json"
    try:
        _run(tmp_path, python, "-m", "pip", "install", "--quiet", "--report", report, wheel)
    except AssertionError as problem:
        pytest.skip(f"pip reaches no index: {str(problem)[-200:]}")
    before = {one.name.partition("-")[0].lower() for one in theirs.glob("*.dist-info")}
    installed = {one["metadata"]["name"].replace("-", "_").lower() for one in json.loads(report.read_text())["install"]}
    assert "tb_npu_plugin" in installed and {"numpy", "mindspore", "protobuf"} <= before
    assert not installed & (before | {"numpy", "pandas"})
    _run(tmp_path, python, "-m", "pip", "check")

    script = tmp_path / "training.py"
    script.write_text(MODEL + SCHEDULE)
    command = tmp_path / "env/bin/tb-npu"
    _run(tmp_path, command, "run", script)
    view = json.loads(_run(tmp_path, command, "show", "kernel", tmp_path / "result", "--json"))
    assert view["data"]["steps"] == ["1", "2"] and view["data"]["kernels"] > 100
    ((span,),) = (
        worker["spans"]
        for run in json.loads(_run(tmp_path, command, "doctor", tmp_path / "result", "--json"))["runs"]
        for worker in run["workers"]
    )
    assert span["problems"] == 0
