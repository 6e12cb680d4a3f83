"""What `pip install .` puts in place."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel of what git tracks: what stands in the tree by chance must not be needed, or get in."""
    source = tmp_path_factory.mktemp("source")
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "tb_npu_plugin"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for name in filter(None, tracked.split("\0")):
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(out), "."],
        cwd=source, check=True,
    )  # fmt: skip
    return zipfile.ZipFile(next(Path(out).glob("*.whl")))


def test_wheel_holds_the_bundle_and_every_module(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "tb_npu_plugin").rglob("*.py")}
    bundle = {str(path.relative_to(ROOT)) for path in (ROOT / "tb_npu_plugin" / "static").iterdir()}
    assert "tb_npu_plugin/static/index.js" in bundle
    assert modules | bundle | {"tb_npu_plugin/py.typed"} <= names


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler: the wheel goes without the native scanner")
def test_wheel_holds_the_native_scanner_and_not_its_source(wheel: zipfile.ZipFile) -> None:
    names = [name for name in wheel.namelist() if name.endswith((".so", ".c", ".h"))]
    modules = ("analysis/_packing", "scan/_args", "scan/_native")
    assert sorted(names) == [f"tb_npu_plugin/{module}.abi3.so" for module in modules]


def test_without_a_compiler_it_is_said_and_left_out(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "setup.py", "build_ext", "--build-lib", str(tmp_path), "--build-temp", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True, text=True, env={**os.environ, "CC": "false"},
    )  # fmt: skip
    assert "the native trace scanner was not built" in done.stderr
    assert not list(tmp_path.rglob("*.so"))


def test_wheel_holds_nothing_else(wheel: zipfile.ZipFile) -> None:
    folders = {name.split("/")[0] for name in wheel.namelist()}
    assert {folder for folder in folders if not folder.endswith(".dist-info")} == {"tb_npu_plugin"}


def test_entry_points(wheel: zipfile.ZipFile) -> None:
    name = next(name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    text = wheel.read(name).decode()
    assert "npu_profiler = tb_npu_plugin.plugin:NpuPlugin" in text
    assert "tb-npu = tb_npu_plugin.cli:main" in text
