"""Builds the observer of shapes (native/observer.cpp) against the PyTorch that is there, for this user."""

from __future__ import annotations

import importlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tb_npu_plugin.capture.mock import compiling, observer, torch_profiler
from tb_npu_plugin.errors import NpuPluginError
from tb_npu_plugin.user_cache import open_to_others

_BUILDING = ".building-"
#: Remains of builds that were killed are removed after this time, in seconds.
_ABANDONED = 3600.0
_COMPILERS = ("c++", "g++", "clang++")
_GET_COMPILER = "Install g++ 10 or later, or clang++; CXX names one that is not in PATH."
_WITHOUT = "Captures work without the observer, too."
_ELSEWHERE = "TB_NPU_CACHE_DIR names another folder: for captures, too."
#: Run by a Python of its own: what does not fit PyTorch may take the process with it.
_TRY = """
import sys
from pathlib import Path
import torch
from tb_npu_plugin.capture.mock import observer
native = observer.load(Path(sys.argv[1]))
native.start()
torch.ones(2).neg()
sys.exit(None if b"aten::neg" in native.stop() else "it observes nothing")
"""


class NotBuilt(NpuPluginError):
    """The observer cannot be built or used here."""

    code = "not_built"


def build(tell: Callable[[str], None]) -> Path:
    """Build what is not built yet; returns where it is. tell: what is being done. Raises NotBuilt."""
    torch = _torch()
    native = observer.installed(torch)
    if native is not None:
        return Path(str(native.__file__))
    try:
        path = observer.path_of(torch)
        for folder in (path.parent.parent, path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _require_own(path.parent)
        _clear_abandoned(path.parent)
        if path.is_file():
            tell("Trying what was built before")
            if open_to_others(path) is None and not _trouble(path):
                return path
        with tempfile.TemporaryDirectory(prefix=_BUILDING, dir=path.parent) as name:
            _build(torch, Path(name) / path.name, tell)
            (Path(name) / path.name).replace(path)
    except OSError as error:
        raise NotBuilt(f"the observer cannot be written: {error}", _ELSEWHERE) from error
    except RuntimeError as error:
        raise NotBuilt(f"there is no folder for the observer: {error}", _ELSEWHERE) from error
    return path


def _torch() -> Any:
    try:
        torch: Any = importlib.import_module("torch")
        is_new = torch_profiler.tells_nanoseconds()
    except ModuleNotFoundError as error:
        raise NotBuilt(
            f"the observer belongs to a PyTorch, and {sys.executable} has none",
            "Install PyTorch there, or use the tb-npu of the environment that has it.",
        ) from error
    except (ImportError, OSError) as error:
        raise NotBuilt(f"PyTorch does not load here: {error}", "Mend or install it again.") from error
    if not is_new:
        raise NotBuilt(f"{torch_profiler.OLD}, and this one is {torch.__version__}", "Install a newer one.")
    if not (Path(torch.__file__).parent / "include" / "ATen" / "record_function.h").is_file():
        raise NotBuilt("this PyTorch came without its headers", f"Those of PyPI bring them. {_WITHOUT}")
    return torch


def _require_own(folder: Path) -> None:
    shared = open_to_others(folder)
    if shared is not None:
        raise NotBuilt(
            f"{folder} is no place for code that is loaded: others can write to {shared}, or it is another user's",
            f"Make it yours alone (chmod go-w). {_ELSEWHERE}",
        )


def _clear_abandoned(folder: Path) -> None:
    for left in folder.glob(f"{_BUILDING}*"):
        with suppress(FileNotFoundError):  # another build has ended
            if time.time() - left.stat().st_mtime > _ABANDONED:
                shutil.rmtree(left, ignore_errors=True)


def _build(torch: Any, out: Path, tell: Callable[[str], None]) -> None:
    """Raises NotBuilt; OSError."""
    compiler = _compiler()
    include = Path(sysconfig.get_paths()["include"])
    if not (include / "Python.h").is_file():
        raise NotBuilt(f"there is no Python.h in {include}", "Install Python's headers (python3-dev, python3-devel).")
    tell(f"Compiling with {compiler[0]} against PyTorch {torch.__version__}")
    flags = [_standard(compiler), *compiling.compiler_flags(torch), f"-I{include}", "-fPIC", "-shared"]
    command = [*compiler, *flags, str(observer.SOURCE), "-o", str(out), *compiling.linker_flags(torch)]
    done = subprocess.run(command, cwd=out.parent, capture_output=True, text=True, errors="replace")
    if done.returncode < 0:
        raise NotBuilt(f"{compiler[0]} was ended by signal {-done.returncode}", "It takes 1 GB of memory.")
    if done.returncode or not out.is_file():
        raise NotBuilt(f"{compiler[0]} cannot compile the observer: {_reason(done)}", f"{_GET_COMPILER} {_WITHOUT}")
    out.chmod(0o700)
    tell("Trying it")
    trouble = _trouble(out)
    if trouble:
        raise NotBuilt(f"the observer was built, and does not work with this PyTorch: {trouble}", _WITHOUT)


def _compiler() -> list[str]:
    named = shlex.split(os.environ.get("CXX", ""))
    if named:
        if shutil.which(named[0]) is None:
            raise NotBuilt(f"CXX is {named[0]!r}, which is no program", _GET_COMPILER)
        return named
    found = next(filter(shutil.which, _COMPILERS), None)
    if found is None:
        raise NotBuilt("there is no compiler for C++", _GET_COMPILER)
    return [found]


def _standard(compiler: list[str]) -> str:
    """The newest that the compiler knows. g++ 9 has what older releases of PyTorch need, under another name."""
    for standard in compiling.STANDARDS:
        command = [*compiler, standard, "-fsyntax-only", "-x", "c++", os.devnull]
        if not subprocess.run(command, capture_output=True).returncode:
            return standard
    return compiling.STANDARDS[0]  # its own message says what is wrong


def _trouble(path: Path) -> str:
    """What goes wrong where it is used; empty: nothing."""
    command = [sys.executable, "-c", _TRY, str(path)]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, errors="replace")
    return _reason(done) if done.returncode else ""


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    """The line that says why a program failed: its first error, else its last."""
    if done.returncode < 0:
        return f"signal {-done.returncode}"
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if "error: " in line]
    return next(iter([*errors, *lines[-1:]]), f"exit code {done.returncode}")
