"""Builds the extension of the simulated device (native/) against the PyTorch of this Python, once, keeps it and loads it."""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from tb_npu_plugin.errors import NpuPluginError
from tb_npu_plugin.user_cache import cache_root, open_to_others

NATIVE = Path(__file__).parent / "native"
#: Name of the extension module.
MODULE = "_npu_device"
#: PyTorch asks for C++17 up to 2.12 and for C++20 since; the newest that the compiler knows is taken.
_STANDARDS = ("-std=c++20", "-std=c++17")
_GET_COMPILER = "Install g++ 10 or later, or clang++ (CXX names one that is not in PATH), and Python's headers."
_BUILDING = ".building-"


class NotBuilt(NpuPluginError):
    """The simulated device cannot be built here."""

    code = "not_built"


def say_to_user(line: str) -> None:
    """Print a line for the user, away from what the script prints."""
    print(f"tb-npu: {line}", file=sys.stderr, flush=True)


@cache
def extension() -> Any:
    """The extension module, loaded once a process and built at the first need. Raises NotBuilt, and ImportError where it
    does not load."""
    spec = spec_from_file_location(MODULE, library(say_to_user))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def library(say: Callable[[str], None]) -> Path:
    """Path of the extension for this PyTorch; builds it first where it is missing.

    say takes one line for the user when a build starts. Raises NotBuilt.
    """
    torch, folder = _torch(), _folder(say)
    path = folder / f"{_key(torch)}.so"
    if path.is_file():
        return path
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until it is closed: one process of this user builds at a time
        if not path.is_file():  # another process may have built it meanwhile
            for left in folder.glob(f"{_BUILDING}*"):  # of killed builds
                shutil.rmtree(left, ignore_errors=True)
            _build(torch, path, say)
    return path


def _torch() -> Any:
    try:
        torch: Any = importlib.import_module("torch")
    except (ImportError, OSError) as error:
        raise NotBuilt(f"PyTorch cannot be imported: {error}", f"Install it for {sys.executable}.") from error
    if tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 4):
        raise NotBuilt(f"PyTorch {torch.__version__} is too old", "Install 2.4 or later.")
    return torch


def _folder(say: Callable[[str], None]) -> Path:
    """A folder of this user alone that can be written: in the cache directory, else among the temporary files."""
    problem: object = None
    for root in (cache_root, lambda: Path(tempfile.gettempdir()) / f"tb-npu-plugin-{os.geteuid()}"):
        try:
            folder = root() / "device"
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder = folder.resolve()
            if shared := open_to_others(folder):
                raise PermissionError(f"others can write to {shared}")
            if not os.access(folder, os.W_OK):
                raise PermissionError(f"{folder} is read-only")
            if problem:
                say(f"The cache directory cannot be used ({problem}). The simulated NPU is kept in {folder}.")
            return folder
        except (OSError, RuntimeError) as error:
            problem = error
    raise NotBuilt(f"no folder can be written: {problem}", "TB_NPU_CACHE_DIR names another one.")


def _key(torch: Any) -> str:
    """Differs where the extension would: by Python, PyTorch's build, and the sources."""
    core = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    digest = hashlib.blake2b(digest_size=8)
    digest.update(f"{torch.version.git_version} {torch.compiled_with_cxx11_abi()} {core.stat().st_size}".encode())
    for source in sorted(NATIVE.iterdir()):
        digest.update(source.name.encode() + source.read_bytes())
    return f"torch-{torch.__version__}-{sysconfig.get_config_var('SOABI')}-{digest.hexdigest()}"


def _build(torch: Any, path: Path, say: Callable[[str], None]) -> None:
    """Compile into a temporary folder, load the result in a separate process, then rename it to `path`: a file there is complete."""
    compiler = _compiler()
    say(f"Building the simulated NPU for PyTorch {torch.__version__}: half a minute, once.")
    try:
        with tempfile.TemporaryDirectory(prefix=_BUILDING, dir=path.parent) as name:
            out = Path(name) / path.name
            flags = compiler_flags(torch, compiler)
            _run([*compiler, *flags, str(NATIVE / "module.cpp"), "-o", str(out), *linker_flags(torch)])
            out.chmod(0o700)
            _run([sys.executable, "-c", _TRY, MODULE, str(out)], TORCH_DEVICE_BACKEND_AUTOLOAD="0")
            out.replace(path)
    except OSError as error:
        raise NotBuilt(f"cannot write it: {error}", "TB_NPU_CACHE_DIR names another folder.") from error


#: Loads the extension; what does not fit PyTorch may end the process.
_TRY = """
import sys, torch
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location(*sys.argv[1:])
module = module_from_spec(spec)
spec.loader.exec_module(module)
module.take_operators()
"""


def _run(command: list[str], **variables: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env={**os.environ, **variables})
    if done.returncode == 0:
        return
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if "error: " in line]
    ended = f"signal {-done.returncode}; it takes 2 GB of memory" if done.returncode < 0 else ""
    reason = ended or [*errors, *lines[-1:], f"exit status {done.returncode}"][0]
    raise NotBuilt(f"{Path(command[0]).name} failed: {reason}", _GET_COMPILER)


def _compiler() -> list[str]:
    named = shlex.split(os.environ.get("CXX", ""))
    found = named or [name for name in ("c++", "g++", "clang++") if shutil.which(name)][:1]
    if not found or shutil.which(found[0]) is None:
        missing = f"CXX is {found[0]!r}, which is not a program" if found else "there is no C++ compiler"
        raise NotBuilt(missing, _GET_COMPILER)
    return found


def compiler_flags(torch: Any, compiler: list[str]) -> list[str]:
    """Arguments of the compiler in front of the source. NDEBUG: as PyTorch was built."""
    include = Path(torch.__file__).parent / "include"
    python = Path(sysconfig.get_paths()["include"])
    if not (python / "Python.h").is_file():
        raise NotBuilt(f"there is no Python.h in {python}", "Install Python's headers (python3-dev, python3-devel).")
    if not (include / "ATen" / "ATen.h").is_file():
        raise NotBuilt("this PyTorch came without its headers", "Install one from PyPI.")
    bindings = [  # the types of PyTorch's Python module are found under this name
        f'-DPYBIND11_{name}="{value}"'
        for name in ("COMPILER_TYPE", "STDLIB", "BUILD_ABI")
        if (value := getattr(torch._C, f"_PYBIND11_{name}", None)) is not None
    ]
    return [
        *(_standard(compiler), "-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-DNDEBUG", "-DUSE_C10D"),
        *(f"-DTORCH_EXTENSION_NAME={MODULE}", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"),
        *bindings,
        *(f"-isystem{folder}" for folder in (include, include / "torch" / "csrc" / "api" / "include", python)),
    ]


def linker_flags(torch: Any) -> list[str]:
    """Arguments of the compiler behind the source."""
    return [f"-L{Path(torch.__file__).parent / 'lib'}", "-ltorch_python", "-ltorch_cpu", "-lc10"]


def _standard(compiler: list[str]) -> str:
    def knows(standard: str) -> bool:
        command = [*compiler, standard, "-fsyntax-only", "-x", "c++", os.devnull]
        return subprocess.run(command, capture_output=True).returncode == 0

    return next(filter(knows, _STANDARDS), _STANDARDS[-1])
