"""Tables of 5 million kernels: reading kernel_details.csv, then sorting, paging, filtering and grouping through HTTP.

The file has 46 columns and unique names, see make_kernels. It is read by `tb-npu ingest` into an empty cache; the
baseline of that is the csv module alone, which makes neither numbers nor a table. The questions go to a TensorBoard
that has just been started; the same in pandas, on a table of the sort column alone, stands beside them.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import harness, make_kernels
from benchmarks.harness import ROOT, Bar
from benchmarks.process_memory import TreeMemory
from benchmarks.server import tensorboard

ROWS, QUICK_ROWS = 5_000_000, 200_000
#: Kernels need no trace; the baseline reads so many rows of the file and is taken in proportion.
BASELINE_ROWS = 500_000
FIRST_MS, DEEP_MS, GROUP_MS, SERVER_GB = 110.0, 180.0, 20.0, 1.5
INGEST_CPU, INGEST_SHARE, CACHE_SHARE = 2.4, 0.45, 0.25
ROUNDS = 5
PREFIX = "data/plugin/npu_profiler/api/"

GROUP = """
import sys, time
from pathlib import Path
from tb_npu_plugin.analysis.grouping import group_rows
from tb_npu_plugin.store.cache.memory import MemoryCache
from tb_npu_plugin.store.tables.database import read_table
from tb_npu_plugin.tables import GroupByQuery
table = read_table(Path(sys.argv[1]), "kernels", MemoryCache())
for _ in range(5):
    start = time.perf_counter()
    groups = group_rows(table, GroupByQuery(("type",), ("dur_ns",)))
    print(1000 * (time.perf_counter() - start))
assert int(groups.count.sum()) == int(sys.argv[2])
"""
PANDAS = """
import sys, time
import numpy as np
import pandas as pd
rows = int(sys.argv[1])
rng = np.random.default_rng(0)
frame = pd.DataFrame({"dur": rng.integers(5000, 75000, rows), "type": pd.Categorical.from_codes(rng.integers(0, 9, rows), list("abcdefghi"))})
for work in (lambda: frame["dur"].sort_values(ascending=False, kind="stable").head(200),
             lambda: frame.groupby("type", observed=True)["dur"].agg(["sum", "count"])):
    best = 1e9
    for _ in range(3):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    print(1000 * best)
"""


def make(run: Path, rows: int) -> Path:
    """A capture with kernels alone, unless it is there."""
    file = run / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        make_kernels.write(part, rows)
        os.utime(part, (0, 0))  # what has just been written is read again when it has settled
        part.rename(file)
    return file


def read_rows(path: Path, rows: int) -> None:
    """The csv module on the first rows; nothing is kept."""
    with path.open(newline="") as file:
        for _ in zip(range(rows), csv.reader(file)):
            pass


class Client:
    """Asks one server for tables of one span."""

    def __init__(self, url: str) -> None:
        self._url = url + PREFIX
        catalog = self._get("catalog")
        self._span = catalog["runs"][0]["workers"][0]["spans"][0]["id"]

    def table(self, **query: Any) -> dict[str, Any]:
        """A page of all kernels."""
        return self._get("table/kernel.all", span=self._span, **query)

    def view(self, name: str) -> dict[str, Any]:
        """A view; it is ready."""
        answer = self._get(f"view/{name}", span=self._span)
        assert answer["state"] == "ready", answer["state"]
        return answer

    def wait(self) -> None:
        """Until the kernels are ready."""
        end = time.monotonic() + 60
        while self._get("view/kernel", span=self._span)["state"] != "ready":
            if time.monotonic() > end:
                raise RuntimeError("the kernels are not ready")
            time.sleep(0.2)

    def _get(self, route: str, **query: Any) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self._url}{route}?{urllib.parse.urlencode(query)}") as answer:
            found: dict[str, Any] = json.load(answer)
        return found


def milliseconds(work: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """Elapsed time of each round."""
    return [1000 * seconds for seconds in harness.wall_seconds(work, rounds)]


def questions(client: Client, rows: int) -> list[tuple[str, float | None, list[float]]]:
    """Name, limit and milliseconds of each question; the first round of each finds nothing loaded."""
    deep = iter((rows // 2, rows // 3, rows - 500, rows // 5, rows * 3 // 4))
    return [
        ("sort by a number, first page", FIRST_MS, milliseconds(lambda: client.table(sort="dur_ns", desc=1))),
        ("sort by name, first page", FIRST_MS, milliseconds(lambda: client.table(sort="name"))),
        (
            "sort by a number, deep pages",
            DEEP_MS,
            milliseconds(lambda: client.table(sort="wait_ns", offset=next(deep))),
        ),
        (
            "filter by a part of a name, sorted",
            None,
            milliseconds(lambda: client.table(filter="_4999", sort="dur_ns", desc=1)),
        ),
        (
            "condition on a number, sorted",
            None,
            milliseconds(lambda: client.table(where="dur_ns:gt:60000", sort="start_ns")),
        ),
        ("Kernel view again", None, milliseconds(lambda: client.view("kernel"))),
        ("Overview", None, milliseconds(lambda: client.view("overview"))),
    ]


def main() -> int:
    """Run all; 1 when a bar falls short."""
    options = harness.arguments(__doc__, ("--rows", {"type": int, "help": "instead of 5 million"}))
    rows = options.rows or (QUICK_ROWS if options.quick else ROWS)
    unjudged = "" if rows == ROWS else "not judged at this size"
    with harness.data_folder() as folder:
        logdir, cache = folder / f"kernels_{rows}", folder / "kernels_cache"
        file = make(logdir / "run" / "kernels_ascend_pt", rows)
        size = file.stat().st_size
        data = f"{rows:,} rows x 46 columns, {size / 1e6:.0f} MB"
        shutil.rmtree(cache, ignore_errors=True)
        environment = {"TB_NPU_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
        (base,) = harness.cpu_seconds(lambda: read_rows(file, min(rows, BASELINE_ROWS)), 1)
        base *= rows / min(rows, BASELINE_ROWS)
        ingest = harness.run([sys.executable, "-m", "tb_npu_plugin", "ingest", str(logdir)], environment)
        (database,) = cache.rglob("tables.duckdb")
        bars = [
            Bar(
                "reading the CSV, peak anonymous memory",
                ingest.anonymous / size,
                INGEST_SHARE,
                "x",
                "the file",
                data=data,
                unjudged=unjudged,
            ),
            Bar(
                "reading the CSV, CPU",
                ingest.cpu / base,
                INGEST_CPU,
                "x",
                "csv module alone",
                data=data,
                unjudged=unjudged,
            ),
            Bar("reading the CSV", size / 1e6 / ingest.wall, None, "MB/s", "until it can be asked", data=data),
            Bar("cache", database.stat().st_size / size, CACHE_SHARE, "x", "the file", data=data, unjudged=unjudged),
        ]
        grouped = harness.run([sys.executable, "-c", GROUP, str(database), str(rows)], environment)
        pandas = harness.run([sys.executable, "-c", PANDAS, str(rows)]).output.split()
        times = [float(value) for value in grouped.output.split()]
        bars.append(
            Bar(
                "group by type",
                min(times),
                GROUP_MS,
                "ms",
                f"pandas {float(pandas[1]):.0f} ms",
                {"ours": times},
                data,
                unjudged,
            )
        )
        with tensorboard(logdir, environment) as server, TreeMemory(server.process.pid) as memory:
            client = Client(server.url)
            client.wait()
            for name, limit, found in questions(client, rows):
                usual = harness.percentile(found, 0.5)
                worst = max(found[0], usual) if name.endswith("pages") else usual
                how = f"pandas sorts in {float(pandas[0]):.0f} ms" if name.startswith("sort") else ""
                bars.append(Bar(name, worst, limit, "ms", how, {"ours": found}, data, unjudged))
        bars.append(
            Bar(
                "server, peak anonymous memory",
                memory.anonymous / 1e9,
                SERVER_GB,
                "GB",
                "all of the above",
                data=data,
                unjudged=unjudged,
            )
        )
        shutil.rmtree(cache)
    return harness.report(bars)


if __name__ == "__main__":
    sys.exit(main())
