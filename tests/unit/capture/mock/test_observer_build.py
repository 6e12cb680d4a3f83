"""tb-npu build-observer: the observer of shapes for one user, where the install brought none."""

from __future__ import annotations

import shutil
import stat
import sysconfig
from pathlib import Path

import pytest
from click.testing import CliRunner

from tb_npu_plugin.capture.mock import observer, torch_profiler
from tb_npu_plugin.capture.mock.observer_build import NotBuilt, build
from tb_npu_plugin.capture.observer_command import build_observer
from tests.oracle.raw import FULL
from tests.unit.capture.scripts import needs_torch, run_python

pytestmark = needs_torch
needs_headers = pytest.mark.skipif(
    not (Path(sysconfig.get_path("include")) / "Python.h").is_file(), reason="Python's headers are not installed"
)
#: Takes every standard, then does what a test says where it is to write "$out".
COMPILER = """#!/bin/sh
for word; do
  [ "$word" = -fsyntax-only ] && exit 0
  [ "$last" = -o ] && out=$word
  last=$word
done
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it is built; the install brought none."""
    monkeypatch.setenv("TB_NPU_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(observer, "installed", lambda torch: None)
    return tmp_path.resolve() / "cache" / "observer"


def refused() -> str:
    with pytest.raises(NotBuilt) as caught:
        build(lambda doing: None)
    return f"{caught.value.message}. {caught.value.hint}"


@needs_headers
@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
@FULL
def test_it_is_built_tried_and_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.delenv("CXX", raising=False)
    done = CliRunner().invoke(build_observer)
    assert done.exit_code == 0, done.output
    (path,) = folder.iterdir()
    assert str(path) in done.output and torch.__version__ in path.name
    assert {stat.S_IMODE(part.stat().st_mode) for part in (folder.parent, folder, path)} == {0o700}
    native = observer.built(torch)
    assert native is not None
    native.start()
    torch.ones(2, 3).neg()
    assert b'["aten::neg",["float",2,3]]' in native.stop()
    monkeypatch.setenv("CXX", "false")  # it is not compiled again
    assert build(lambda doing: None) == path
    folder.chmod(0o777)
    assert observer.built(torch) is None, "others could have put it there"


@needs_headers
@pytest.mark.parametrize(
    ("compiler", "reason"),
    [
        ("echo 'x.cpp:1: note: here' >&2; echo 'x.cpp:2: error: no such type' >&2; exit 1", "x.cpp:2: error: no such"),
        ("exit 3", "exit code 3"),
        ("kill -9 $$", "ended by signal 9"),
        ('echo garbage > "$out"', "does not work with this PyTorch: ImportError"),
        ("", "there is no compiler"),
        ("/no/such -m64", "'/no/such', which is no"),
    ],
)
def test_a_compiler_that_fails_or_is_missing_is_reported_and_leaves_nothing(
    compiler: str, reason: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "compiler"
    script.write_text(f"{COMPILER}{compiler}\n")
    script.chmod(0o755)
    is_missing = compiler in ("", "/no/such -m64")
    monkeypatch.setenv("CXX", compiler if is_missing else str(script))
    if is_missing:
        monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    said = refused()
    assert reason in said and (not is_missing or "Install g++" in said)
    assert not folder.exists() or list(folder.iterdir()) == []


def test_without_pytorch_or_with_one_that_is_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_profiler, "tells_nanoseconds", lambda: False)
    assert "PyTorch 2.4 or later" in refused()
    with pytest.raises(RuntimeError, match=r"PyTorch 2\.4 or later"):
        torch_profiler.refuse_second()
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError('No module named torch', name='torch')")
    code = "import sys; sys.argv[1:] = ['build-observer']; from tb_npu_plugin.cli import main; main()"
    done = run_python(code, tmp_path, tmp_path)
    assert done.returncode == 1
    assert "the observer belongs to a PyTorch" in done.stderr and "Install PyTorch there" in done.stderr
