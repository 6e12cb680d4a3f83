"""200,000 kernels: kernel_details.csv read and its tables written, beside pandas.read_csv.

CPU of this process, all threads, without imports, ours and theirs in turn; the least of the rounds of each. pandas is given
the type of each column and makes a frame in memory, with texts as categories (distinct texts and codes, as our tables hold
them) or as strings; we also compute the columns of the Kernel view and write the DuckDB file. One file has distinct names and
shapes in every row, the other repeats 2,000 of them.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))

import pandas as pd  # type: ignore[import-untyped]

from benchmarks import harness, make_kernels
from benchmarks.harness import Bar
from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.store.pool import worker
from tb_npu_plugin.store.stages import Request

ROWS, QUICK_ROWS, NAMES = 200_000, 20_000, 2_000
ROUNDS = 5
#: By names: at most so many times the CPU of pandas with categories.
LIMITS = {0: 0.65, NAMES: 1.0}


def ingest(file: Path, output: Path) -> None:
    """Read the file and write its tables."""
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir()
    stat = file.stat()
    found = FoundFile(file.name, stat.st_size, stat.st_mtime_ns)
    done = worker.run(Request("tables", file.parent, (found,), output), lambda message: None)
    assert done["tables"]["kernels"]["rows"] > 0


def types(file: Path, text: str) -> dict[str, str]:
    """The type of each column, from its first rows; `text` for texts."""
    found = pd.read_csv(file, nrows=10_000).dtypes
    return {name: str(kind) if kind.kind in "if" else text for name, kind in found.items()}


def bars(file: Path, names: int, rows: int) -> list[Bar]:
    """The ratios of a file."""
    output, unjudged = file.with_suffix(".cache"), "" if rows == ROWS else "not judged at this size"
    categories, strings = types(file, "category"), types(file, "str")
    works: dict[str, Callable[[], object]] = {
        "ours": lambda: ingest(file, output),
        "categories": lambda: pd.read_csv(file, dtype=categories),
        "strings": lambda: pd.read_csv(file, dtype=strings),
    }
    rounds: dict[str, list[float]] = {name: [] for name in works}
    for number in range(ROUNDS + 1):
        for name, work in works.items():
            (cpu,) = harness.cpu_seconds(work, 1)
            if number:  # the first round imports
                rounds[name].append(cpu)
    shutil.rmtree(output)
    data = f"{rows:,} rows, {file.stat().st_size / 1e6:.0f} MB, {names or rows:,} names"
    best = {name: min(values) for name, values in rounds.items()}
    return [
        Bar(
            f"read and written / pandas with {name}",
            best["ours"] / best[name],
            LIMITS[names] if name == "categories" else None,
            "x",
            "CPU",
            {"ours": rounds["ours"], "pandas": rounds[name]},
            data,
            unjudged,
        )
        for name in ("categories", "strings")
    ]


def main() -> int:
    """Run all; 1 when a bar falls short."""
    rows = QUICK_ROWS if harness.arguments(__doc__).quick else ROWS
    found = []
    with harness.data_folder() as folder:
        for names in (0, NAMES):
            file = folder / f"kernels_{rows}_{names}" / "kernel_details.csv"
            if not file.exists():
                file.parent.mkdir()
                make_kernels.write(file, rows, names)
            found += bars(file, names, rows)
    return harness.report(found)


if __name__ == "__main__":
    sys.exit(main())
