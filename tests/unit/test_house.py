"""Files and functions are short: what grows is split by meaning. Functions of TypeScript: frontend/biome.json."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILE_LINES, FUNCTION_LINES = 350, 60
FOLDERS = ("tb_npu_plugin", "tests", "benchmarks", "fixtures", "tools", "frontend/src", "frontend/tests")
#: Written by tools.
GENERATED = re.compile(r"\.gen\.ts$|/static/")
#: A function of C: from a line that begins at the margin to the brace there.
C_FUNCTION = re.compile(r"^[a-z][^;={}]*\([^;{}]*\)\n?\s*\{\n.*?^\}", re.MULTILINE | re.DOTALL)


def sources(*endings: str) -> Iterator[tuple[str, str]]:
    """(path, text) of the files written by hand."""
    for path in [ROOT / "setup.py", *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))]:
        name = path.relative_to(ROOT).as_posix()
        if path.suffix in endings and not GENERATED.search(name):
            yield name, path.read_text(encoding="utf-8")


def test_files_are_short() -> None:
    lengths = {
        name: len(text.splitlines()) for name, text in sources(".py", ".ts", ".tsx", ".css", ".c", ".h", ".js", ".sh")
    }
    assert len(lengths) > 900
    assert {name: length for name, length in lengths.items() if length > FILE_LINES} == {}


def test_functions_of_python_are_short() -> None:
    lengths = {
        f"{name}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for name, text in sources(".py")
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    assert len(lengths) > 5000
    assert {name: length for name, length in lengths.items() if length > FUNCTION_LINES} == {}


def test_functions_of_c_are_short() -> None:
    lengths = {
        f"{name} {found[0].splitlines()[0]}": found[0].count("\n") + 1
        for name, text in sources(".c", ".h")
        for found in C_FUNCTION.finditer(text)
    }
    assert len(lengths) > 50
    assert {name: length for name, length in lengths.items() if length > FUNCTION_LINES} == {}
