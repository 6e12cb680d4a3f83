"""What an install replaces: not the numpy or the pandas that is there. pip decides; nothing but numpy and pandas is installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.full
#: What people have: CANN 8.0, CANN 8.5 and MindSpore 2.10, others.
BESIDE = [("numpy==1.24.*", "pandas<2.2"), ("numpy==1.26.*",), ("numpy>=2", "pandas>=3")]


def pip(python: Path | str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel without C code, which fits every Python."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(out), str(ROOT)]
    subprocess.run(command, check=True, env={"PATH": "/usr/bin:/bin", "CC": "false"}, capture_output=True)
    return next(out.glob("*.whl"))


def would_install(python: Path | str, report: Path, *arguments: str) -> dict[str, str]:
    """Version by name of what pip would install. Skips where the index cannot be reached."""
    done = pip(python, "--dry-run", "--report", str(report), *arguments)
    if done.returncode and "No matching distribution" not in done.stderr and "conflict" not in done.stderr:
        pytest.skip(f"pip reaches no index: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stderr
    found: Any = json.loads(report.read_text())["install"]
    return {one["metadata"]["name"]: one["metadata"]["version"] for one in found}


@pytest.mark.parametrize("beside", BESIDE, ids=" ".join)
def test_an_install_replaces_neither_numpy_nor_pandas(beside: tuple[str, ...], wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    python = tmp_path / "env" / "bin" / "python"
    if pip(python, "--no-compile", *beside).returncode:
        pytest.skip(f"{' '.join(beside)} cannot be installed on this Python")
    found = would_install(python, tmp_path / "report.json", str(wheel))
    assert "tb-npu-plugin" in found and not {"numpy", "pandas"} & found.keys()


@pytest.mark.parametrize("numpy", ["numpy<2", "numpy>=2"])
@pytest.mark.parametrize("minor", [9, 10, 12, 13])
def test_other_pythons_get_wheels_and_keep_numpy(minor: int, numpy: str, wheel: Path, tmp_path: Path) -> None:
    of_python = ("--python-version", f"3.{minor}", "--only-binary", ":all:", "--target", str(tmp_path / "target"))
    if minor == 13 and numpy == "numpy<2":
        pytest.skip("numpy below 2 has no wheels for Python 3.13")
    found = would_install(sys.executable, tmp_path / "report.json", *of_python, str(wheel), numpy)
    assert "pandas" not in found and (found["numpy"] < "2") == (numpy == "numpy<2")
