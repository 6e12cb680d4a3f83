"""docs/problems.md names every problem that the package can report."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.conftest import ROOT

#: Calls and the place of the code among their arguments; readers/report.py has its words under the code.
CALLS = {"Problem": 0, "problem": 0, "damaged": 0, "unreadable": 0, "fail": 1}
CODE = re.compile(r"[a-z_]+")


def used() -> set[str]:
    """Codes in the sources."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "tb_npu_plugin").rglob("*.py"))
    nodes = (code for tree in trees for node in ast.walk(tree) for code in codes(node))
    return {str(node.value) for node in nodes if isinstance(node, ast.Constant) and CODE.fullmatch(str(node.value))}


def codes(node: ast.AST) -> Iterator[ast.expr | None]:
    if isinstance(node, ast.Dict):
        yield from (key for key, value in zip(node.keys, node.values) if name(value) == "Words")
    elif isinstance(node, ast.Call) and name(node) in CALLS:
        yield from node.args[CALLS[name(node)] :][:1]
        yield from (keyword.value for keyword in node.keywords if keyword.arg == "code")


def name(node: ast.expr) -> str:
    """Name of what is called, without underscores in front."""
    called = node.func if isinstance(node, ast.Call) else None
    found = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return str(found).lstrip("_")


def test_every_code_is_explained_once() -> None:
    page = (ROOT / "docs" / "problems.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    explained = [code for cell in cells for code in re.findall(r"`(\w+)`", cell)]
    assert len(explained) == len(set(explained))
    assert set(explained) == used()
    assert len(explained) > 40
