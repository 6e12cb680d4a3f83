"""Break one line at a time, and run the tests that cover it: what do they miss?

    python -m coverage run --source=tb_npu_plugin -m pytest -p tools.mutants tests/unit tests/oracle …
    python tools/mutants.py --seed 14 --count 150

The first command writes which test runs which line (`.coverage`). The second picks mutants at random, the same ones for the
same seed and code, and prints one line for each: killed, survived or timeout. Run it in a clone: it changes sources in place.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

ROOT = Path(__file__).parents[1]
ROOMS = ("analysis", "views", "readers", "store")
TIMEOUT_S = 600

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


class Mutant(NamedTuple):
    """One change: the bytes from `start` to `end` of `path` become `text`; `line` counts from 1."""

    path: str
    line: int
    start: int
    end: int
    old: str
    text: str


def changed(node: ast.AST) -> Optional[ast.AST]:
    """The node with one thing changed; None where there is nothing to change."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        return ast.Compare(node.left, [COMPARISONS[type(node.ops[0])](), *node.ops[1:]], node.comparators)
    if isinstance(node, ast.BoolOp):
        return ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS and not _is_text(node.left):
        return ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return ast.Constant(not node.value)
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return ast.Constant(node.value + 1)
    if isinstance(node, ast.IfExp):
        return ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    return None


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _conditions(tree: ast.AST) -> Iterator[ast.AST]:
    """Expressions that run: neither annotations nor what only type checkers read."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or (
                isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
            ):
                continue
            if isinstance(child, ast.expr):
                yield child
            yield from _conditions(child)


def mutants(path: Path) -> Iterator[Mutant]:
    """All mutants of a file of Python."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in _conditions(ast.parse(source)):
        new = changed(node)
        if new is not None and isinstance(node, ast.expr) and node.end_lineno and node.end_col_offset is not None:
            start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            text = f"({ast.unparse(ast.fix_missing_locations(ast.Expression(new)))})"  # type: ignore[arg-type]
            yield Mutant(path.relative_to(ROOT).as_posix(), node.lineno, start, end, source[start:end].decode(), text)


def covering(mutant: Mutant, data: Any) -> list[str]:
    """Ids of the tests that run the mutant's line; those of its whole file for a line that runs at import."""
    lines = data.contexts_by_lineno(str(ROOT / mutant.path))
    tests = {name for name in lines.get(mutant.line, []) if name}
    if not tests and lines.get(mutant.line):
        tests = {name for names in lines.values() for name in names if name}
    return sorted(tests, key=lambda name: (not name.startswith("tests/unit"), name))  # quick ones first


def verdict(mutant: Mutant, tests: list[str]) -> str:
    """killed, survived, timeout, or uncovered: the result of the tests that run the line, then of their files.

    What tests of a file share is computed in the first of them, so coverage names only that one.
    """
    if not tests:
        return "uncovered"
    result = _run(mutant, tests)
    return _run(mutant, sorted({test.partition("::")[0] for test in tests})) if result == "survived" else result


def _run(mutant: Mutant, tests: list[str]) -> str:
    path = ROOT / mutant.path
    source = path.read_bytes()
    environment: dict[str, str] = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "HYPOTHESIS_STORAGE_DIRECTORY": ""}
    try:
        path.write_bytes(source[: mutant.start] + mutant.text.encode() + source[mutant.end :])
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as ids:
            ids.write("\n".join(tests))
            ids.flush()
            command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"@{ids.name}"]
            found = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=TIMEOUT_S)
        return "survived" if found.returncode == 0 else "killed"
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        path.write_bytes(source)


def sample(seed: int, count: int) -> list[Mutant]:
    """Mutants picked at random from the rooms; each file weighs what it holds."""
    paths = sorted(path for room in ROOMS for path in (ROOT / "tb_npu_plugin" / room).rglob("*.py"))
    found = [mutant for path in paths for mutant in mutants(path)]
    return random.Random(seed).sample(found, min(count, len(found)))


def main() -> None:
    """Print a line for each mutant, and how many were killed."""
    import coverage

    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seed", type=int, default=14)
    options.add_argument("--count", type=int, default=150)
    options.add_argument("--only", default="", help="numbers of mutants, as 3,14,15; all by default")
    chosen = options.parse_args()
    data = coverage.CoverageData(str(ROOT / ".coverage"))
    data.read()
    counts: dict[str, int] = {}
    only = {int(number) for number in chosen.only.split(",") if number}
    for at, mutant in enumerate(sample(chosen.seed, chosen.count)):
        if only and at not in only:
            continue
        tests = covering(mutant, data)
        result = verdict(mutant, tests)
        counts[result] = counts.get(result, 0) + 1
        old, new = " ".join(mutant.old.split()), " ".join(mutant.text.split())
        print(f"{at} {result} {len(tests)} {mutant.path}:{mutant.line} {old} -> {new}", flush=True)
    print(counts)


class _Contexts:
    """Give each test a context of its own in coverage's data."""

    @staticmethod
    def pytest_runtest_protocol(item: Any) -> None:
        import coverage

        current: Union[coverage.Coverage, None] = coverage.Coverage.current()
        if current is not None:
            current.switch_context(item.nodeid)


def pytest_configure(config: Any) -> None:
    """Be a plugin of pytest: `-p tools.mutants`."""
    config.pluginmanager.register(_Contexts())


if __name__ == "__main__":
    main()
