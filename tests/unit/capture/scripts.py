"""Scripts that tests run in separate processes."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NO_TORCH = "PyTorch is not installed: see docs/capture.md"
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason=NO_TORCH)
#: In front of a script: the fake recorder of api/fake.py with the parser of that name ("": the mock device).
PROLOGUE = """
import json, os, resource, signal, sys, threading, time
from pathlib import Path
parser = {parser!r}
log = []
if parser:
    from tb_npu_plugin.capture import backend
    from tests.unit.capture.api import fake
    backend.new_recorder = lambda *where: fake.FakeRecorder(log, {{}}, [], *where)
    backend.PARSER = f"{{fake.__name__}}:{{parser}}"
from tb_npu_plugin.capture.pytorch import *
from tb_npu_plugin.capture.pytorch import _KinetoProfile
"""


def run_python(
    code: str, folder: Path | None = None, *paths: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run Python code with these folders on its path; the output ends when the last process that has it does."""
    # Python 3.11 keeps the bytecode that a limit on file sizes cuts off; other processes could not import that module.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT, *paths)))
    environment.pop("ASCEND_WORK_PATH", None)
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, start_new_session=True, check=False
    )


def run_script(folder: Path, script: str, parser: str = "parse", status: int = 0, **variables: str) -> str:
    """Run a script that uses the capture API and check its exit status; gives what it printed."""
    done = run_python(PROLOGUE.format(parser=parser) + script, folder, TB_NPU_BACKEND="mock", **variables)
    # Python forgets that it was Ctrl-C when what runs at its end (parsing, after start() alone) calls exec()
    assert done.returncode in {status, 1 if status == -2 else status}, done.stderr
    assert status or "Traceback" not in done.stderr
    return done.stdout


def own_lines(out: str) -> list[str]:
    """What a script printed, without the lines of the profiler."""
    return [line for line in out.splitlines() if not line.startswith("[2")]


def is_parsed(folder: Path) -> bool:
    """The result folder holds a complete result."""
    return (folder / "ASCEND_PROFILER_OUTPUT/analyse.done").is_file()
