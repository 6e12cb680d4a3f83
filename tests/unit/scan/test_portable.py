"""The scanner as it is built for processors without SSE2 gives the same columns."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest

from tb_npu_plugin.installation import SCANNER_VARIABLE
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan import scan_trace, source
from tests.support.scanners import differences, needs_native, told

pytestmark = [needs_native, pytest.mark.full]

ROOT = Path(__file__).parents[3]
NATIVE = ROOT / "tb_npu_plugin" / "scan" / "native"
SOURCES = ("module", "walker", "blocks", "columns", "json", "decimal", "interner")
#: Quotes, escapes, control characters and what is not ASCII at all places of a word, and beside each other.
STRINGS = b",".join(
    b'{"name": "' + b"x" * before + odd + b"y" * after + b'", "args": {"k": "' + odd * 2 + b"x" * after + b'"}}'
    for odd in (b"", rb"\"", rb"\\", rb"\n\"", b"\x1f", b" !", "é".encode(), b"\xff", b"\x7f", b'!"', rb"\ud83d\ude00")
    for before in range(18)
    for after in (0, 1, 7, 8, 15, 16)
)


@pytest.fixture(scope="module")
def portable(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The extension, built without SIMD."""
    compiler = next(filter(shutil.which, [os.environ.get("CC", ""), "cc", "gcc", "clang"]), None)
    include = sysconfig.get_path("include")
    if compiler is None or not (Path(include) / "Python.h").is_file():
        pytest.skip("no C compiler or no Python headers here")
    target = tmp_path_factory.mktemp("portable") / "_native.abi3.so"
    flags = [
        "-std=c11",
        "-O2",
        "-ffp-contract=off",
        "-fPIC",
        "-shared",
        "-DTB_NPU_NO_SIMD",
        "-DPy_LIMITED_API=0x03090000",
    ]
    files = [str(NATIVE / f"{name}.c") for name in SOURCES]
    subprocess.run([compiler, *flags, f"-I{include}", *files, "-lm", "-o", str(target)], check=True)
    spec = importlib.util.spec_from_file_location("_native", target)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("chunk", [1000, 1 << 20])
def test_strings(chunk: int, portable: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "CHUNK", chunk)
    monkeypatch.setenv(SCANNER_VARIABLE, "c")
    path, logs = tmp_path / "t.json", (ProblemLog(), ProblemLog())
    path.write_bytes(b"[" + STRINGS + b"]")
    usual = scan_trace(path, logs[0], lambda _: None)
    monkeypatch.setattr("tb_npu_plugin.scan.native_scanner._native", portable)
    found = scan_trace(path, logs[1], lambda _: None)
    assert differences(usual, found, path.read_bytes()) == [] and told(logs[0]) == told(logs[1])
    assert len(found) > 500
