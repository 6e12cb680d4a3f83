"""Mutation test: change one expression at a time and run the tests that cover its line.

`python tools/mutants.py [--seed 33] [--count 60]` measures which test runs which line, picks mutants in ROOMS, prints a
verdict for each, and exits 1 when fewer than GOAL of them are killed. A mutant's rank is a hash of the seed and its text, so
that a change of one function changes few of the picks. Mutants that change nothing stand in equivalent_mutants.txt.
Constants that say how many rows or bytes are processed at once (_PIECES) have no mutants: no result depends on them.

The tests run in copies of the working tree in a temporary folder.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple, Optional

ROOT = Path(__file__).parents[1]
ROOMS = ("service", "store", "server", "analysis/findings")
TESTS = (
    *("tests/unit", "tests/commands", "tests/http", "tests/golden", "tests/property", "tests/oracle", "tests/faults"),
    "--ignore=tests/unit/capture",
)
EQUIVALENT = ROOT / "tools" / "equivalent_mutants.txt"
#: Share of the mutants that are not equivalent which the tests must kill.
GOAL = 0.9
JOBS = 2
#: s of test time: the first tests of the line, see Measures.covering; what survives them meets the test files of the line.
FEW_S, MORE_S = 6.0, 30.0
TIMEOUT_S = 240
#: Environment variable: the folder where the plugin of pytest writes lines and durations.
MEASURES = "TB_NPU_MUTANTS"
#: Names of constants without mutants.
_PIECES = re.compile(r"_?(PIECE|BATCH|CHUNK|TILE|(\w+_)?AT_ONCE)")
_NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", "node_modules", "__pycache__", ".hypothesis", ".*_cache", "build", "dist"
)

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
    """One change: the bytes from `start` to `end` of `path` become `text`; `line` counts from 1, `code` is its text."""

    path: str
    line: int
    code: str
    start: int
    end: int
    old: str
    text: str

    def __str__(self) -> str:
        """Path, line of code, old and new text: what equivalent_mutants.txt lists."""
        return f"{self.path} | {self.code} | {' '.join(self.old.split())} -> {' '.join(self.text.split())}"


class Measures(NamedTuple):
    """lines: path -> line -> ids of the tests that run it, "" at import. durations: id -> s."""

    lines: dict[str, dict[int, list[str]]]
    durations: dict[str, float]

    def covering(self, mutant: Mutant) -> list[str]:
        """Tests that run the mutant's line: those in a file with the name of its module first, then the quickest. For a line
        that runs at import: those that run a line with a name that it defines, else those of the whole file."""
        lines = self.lines.get(mutant.path, {})
        found = set(lines.get(mutant.line, ()))
        if found == {""}:
            found = self._using(defined(ROOT / mutant.path, mutant.line)) - {""}
            found = found or {name for names in lines.values() for name in names}
        module = Path(mutant.path).stem
        return sorted(
            found - {""},
            key=lambda name: (module not in name.partition("::")[0], self.durations.get(name, 0.0), name),
        )

    def _using(self, names: list[str]) -> set[str]:
        """Tests that run a line with one of these names."""
        uses = re.compile(rf"\b({'|'.join(names)})\b") if names else re.compile("(?!)")
        found = set[str]()
        for path, lines in self.lines.items():
            text = (ROOT / path).read_text(encoding="utf-8").splitlines()
            found.update(name for line, names in lines.items() if uses.search(text[line - 1]) for name in names)
        return found

    def within(self, names: list[str], seconds: float) -> list[str]:
        """The first tests or files of tests, until they take so long; at least one."""
        out, total = [], 0.0
        for name in names:
            total += sum(taken for test, taken in self.durations.items() if test.startswith(name))
            if out and total > seconds:
                break
            out.append(name)
        return out


def changed(node: ast.AST) -> Optional[ast.expr]:
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


def defined(path: Path, line: int) -> list[str]:
    """Names that the innermost statement at this line of a file of Python defines; none if it is an expression or a class."""
    around = [
        node
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line)
    ]
    own = max(around, key=lambda node: (node.lineno, node.col_offset))
    if isinstance(own, ast.FunctionDef):
        return [own.name]
    targets = own.targets if isinstance(own, ast.Assign) else [own.target] if isinstance(own, ast.AnnAssign) else []
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_piece(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and all(
        isinstance(target, ast.Name) and _PIECES.fullmatch(target.id) for target in node.targets
    )


def _expressions(tree: ast.AST) -> Iterator[ast.expr]:
    """Expressions that run: neither annotations, decorators and options of classes nor what only type checkers read, and no
    sizes of pieces."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list") or (
            name == "keywords" and isinstance(tree, ast.ClassDef)
        ):
            continue
        for child in value if isinstance(value, list) else [value]:
            if (
                not isinstance(child, ast.AST)
                or _is_piece(child)
                or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test))
            ):
                continue
            if isinstance(child, ast.expr):
                yield child
            yield from _expressions(child)


def mutants(path: Path) -> Iterator[Mutant]:
    """All mutants of a file of Python."""
    source = path.read_bytes()
    lines, starts = source.splitlines(keepends=True), [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for node in _expressions(ast.parse(source)):
        new = changed(node)
        if new is not None and node.end_lineno and node.end_col_offset is not None:
            start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            text = f"({ast.unparse(ast.fix_missing_locations(ast.Expression(new)))})"  # type: ignore[arg-type]
            code, old = lines[node.lineno - 1].decode().strip(), source[start:end].decode()
            yield Mutant(path.relative_to(ROOT).as_posix(), node.lineno, code, start, end, old, text)


def pick(seed: int, count: int) -> list[Mutant]:
    """Mutants of the rooms by the hash of what they change."""
    paths = sorted(path for room in ROOMS for path in (ROOT / "tb_npu_plugin" / room).rglob("*.py"))
    seen, ranked = Counter[str](), []
    for mutant in (mutant for path in paths for mutant in mutants(path)):
        seen[str(mutant)] += 1  # equal changes at several places of a file
        ranked.append((hashlib.sha256(f"{seed} {seen[str(mutant)]} {mutant}".encode()).digest(), mutant))
    return [mutant for _, mutant in sorted(ranked)[:count]]


def measure(folder: Path) -> Measures:
    """Run the tests under coverage. Raises CalledProcessError if one fails."""
    import coverage

    environment = {**os.environ, MEASURES: str(folder)}
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(JOBS), "-p", "tools.mutants", *TESTS]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    data = coverage.CoverageData(str(folder / "lines"))
    for part in folder.glob("lines.*"):
        other = coverage.CoverageData(str(part))
        other.read()
        data.update(other)
    lines = {Path(path).relative_to(ROOT).as_posix(): data.contexts_by_lineno(path) for path in data.measured_files()}
    durations: dict[str, float] = {}
    for part in folder.glob("durations.*"):
        durations.update(json.loads(part.read_text()))
    return Measures(lines, durations)


def verdict(mutant: Mutant, measures: Measures, copy: Path) -> str:
    """killed, timeout, survived or uncovered.

    What tests of a file share is computed in the first of them, and coverage names only that one: a mutant that its tests do
    not notice meets the files of these tests.
    """
    tests = measures.covering(mutant)
    if not tests:
        return "uncovered"
    result = _run(mutant, measures.within(tests, FEW_S), copy)
    if result != "survived":
        return result
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    return _run(mutant, measures.within(list(files), MORE_S), copy)


def _run(mutant: Mutant, tests: list[str], copy: Path) -> str:
    path = copy / mutant.path
    source = path.read_bytes()
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    ids = copy / "mutants.txt"
    ids.write_text("\n".join(tests))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", f"@{ids}"]
    try:
        path.write_bytes(source[: mutant.start] + mutant.text.encode() + source[mutant.end :])
        found = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=TIMEOUT_S)
        return "survived" if found.returncode == 0 else "killed"
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        path.write_bytes(source)


def judge(chosen: list[Mutant], measures: Measures, folder: Path) -> Counter[str]:
    """Verdicts of the mutants, counted; prints a line for each."""
    free = SimpleQueue[Path]()
    for number in range(JOBS):
        free.put(Path(shutil.copytree(ROOT, folder / f"copy{number}", ignore=_NOT_COPIED)))

    def run(mutant: Mutant) -> str:
        copy = free.get()
        try:
            return verdict(mutant, measures, copy)
        finally:
            free.put(copy)

    counts = Counter[str]()
    with ThreadPoolExecutor(JOBS) as pool:
        runs = {pool.submit(run, mutant): mutant for mutant in chosen}
        for done in as_completed(runs):
            counts[done.result()] += 1
            print(f"{done.result():9} {runs[done].line:4} {runs[done]}", flush=True)
    return counts


def main() -> int:
    """Return the exit status."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seed", type=int, default=33)
    options.add_argument("--count", type=int, default=60)
    given = options.parse_args()
    equivalent = set(EQUIVALENT.read_text(encoding="utf-8").splitlines())
    chosen = [mutant for mutant in pick(given.seed, given.count) if str(mutant) not in equivalent]
    with tempfile.TemporaryDirectory() as name:
        counts = judge(chosen, measure(Path(name)), Path(name))
    killed = counts["killed"] + counts["timeout"]
    print(f"{killed} of {len(chosen)} mutants killed ({given.count - len(chosen)} are equivalent): {dict(counts)}")
    return int(killed < GOAL * len(chosen))


class _Plugin:
    """Plugin of pytest: lines and durations of each test, a file of each per process."""

    instance: Optional[_Plugin] = None

    def __init__(self, folder: Path) -> None:
        import coverage

        self._durations, self._folder = Counter[str](), folder
        rooms = [str(ROOT / "tb_npu_plugin" / room / "*") for room in ROOMS]
        self._coverage = coverage.Coverage(folder / "lines", data_suffix=True, config_file=False, include=rooms)
        self._coverage.start()

    def pytest_runtest_protocol(self, item: Any) -> None:
        self._coverage.switch_context(item.nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._durations[report.nodeid] += report.duration

    def pytest_unconfigure(self) -> None:
        self._coverage.stop()
        self._coverage.save()
        (self._folder / f"durations.{os.getpid()}").write_text(json.dumps(self._durations))


def pytest_load_initial_conftests() -> None:
    """Measure in the processes that run tests, from the first import on."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        _Plugin.instance = _Plugin(Path(os.environ[MEASURES]))


def pytest_configure(config: Any) -> None:
    """Follow the tests."""
    if _Plugin.instance is not None:
        config.pluginmanager.register(_Plugin.instance)


if __name__ == "__main__":
    sys.exit(main())
