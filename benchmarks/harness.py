"""What every benchmark script uses: measuring time and memory, and judging bars.

A script measures, makes a Bar of each figure and ends with `sys.exit(report(bars))`. Where NPU_BENCH_LINES names a
file, each bar, table and remark is also appended there as one line of JSON: benchmarks/all.py makes RESULTS.md of it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:  # a script is started by its path, from anywhere
    sys.path.insert(0, str(ROOT))

from benchmarks import make_trace  # noqa: E402
from benchmarks.process_memory import TreeMemory  # noqa: E402

# Without bytecode, each process would compile what it imports: 0.4 s of CPU that no user has.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

LINES_VARIABLE = "NPU_BENCH_LINES"
DATA_VARIABLE = "NPU_BENCH_DATA"


@dataclass(frozen=True)
class Bar:
    """One figure and its limit: at most `limit`, in `unit` ("x": times the baseline)."""

    name: str
    measured: float
    limit: float | None = None  #: None: a figure without a bar
    unit: str = "x"
    baseline: str = ""  #: what 1 x is, or how it was measured
    rounds: Mapping[str, Sequence[float]] = field(default_factory=dict)  #: every round of ours and of the baseline
    data: str = ""  #: what it was measured on, with sizes
    unjudged: str = ""  #: why the limit does not hold here, as "not judged at this size"

    @property
    def verdict(self) -> str:
        """ok, falls short, or why it is neither."""
        if self.limit is None or self.unjudged:
            return self.unjudged or "no bar"
        return "ok" if self.measured <= self.limit else "falls short"  # NaN falls short

    @classmethod
    def of_times(
        cls,
        name: str,
        ours: Sequence[float],
        base: Sequence[float],
        limit: float,
        baseline: str,
        *,
        data: str = "",
        unjudged: str = "",
    ) -> Bar:
        """The ratio of the best round of ours to the best of the baseline: the one least disturbed of each."""
        rounds = {"ours": list(ours), baseline: list(base)}
        return cls(name, min(ours) / min(base), limit, "x", baseline, rounds, data, unjudged)


@dataclass(frozen=True)
class Usage:
    """What a command took. Bytes and seconds."""

    anonymous: int  #: peak of all its processes at one moment, see TreeMemory
    high_water: int
    wall: float
    cpu: float
    output: str  #: its standard output


def report(bars: Iterable[Bar]) -> int:
    """Print the bars and hand them to all.py; 1 when one falls short, else 0."""
    bars = list(bars)
    for bar in bars:
        limit = "" if bar.limit is None else f"at most {bar.limit:g}"
        print(f"  {bar.name:52} {bar.measured:10.3f} {bar.unit:3} {limit:16} {bar.verdict}")
        if bar.rounds:
            print("".join(f"      {name}: {spread(values)}\n" for name, values in bar.rounds.items()), end="")
        _hand_over({"kind": "bar", **asdict(bar), "verdict": bar.verdict})
    sys.stdout.flush()
    return int(any(bar.verdict == "falls short" for bar in bars))


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table and hand it to all.py; cells are texts."""
    print(title)
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    for row in (header, *rows):
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    _hand_over({"kind": "table", "title": title, "header": list(header), "rows": [list(row) for row in rows]})


def remark(text: str) -> None:
    """Print a sentence that belongs to the results."""
    print(text)
    _hand_over({"kind": "remark", "text": text})


def spread(values: Sequence[float]) -> str:
    """All rounds, short; of many: the least, the median and the most."""
    if len(values) > 12:
        ordered = sorted(values)
        return f"{ordered[0]:.4g} .. {ordered[len(ordered) // 2]:.4g} .. {ordered[-1]:.4g} ({len(values)} rounds)"
    return " ".join(f"{value:.4g}" for value in values)


def cpu_seconds(work: Callable[[], object], rounds: int) -> list[float]:
    """User and system time of each round, of this process's threads and of the children that it waits for."""
    return [cpu for cpu, _ in _measure(work, rounds)]


def wall_seconds(work: Callable[[], object], rounds: int) -> list[float]:
    """Elapsed time of each round."""
    return [wall for _, wall in _measure(work, rounds)]


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def peak_memory(command: Sequence[str | Path], env: Mapping[str, str] | None = None) -> int:
    """Bytes: peak of the sum of RssAnon and RssShmem over all processes of a command; see run()."""
    return run(command, env).anonymous


def run(command: Sequence[str | Path], env: Mapping[str, str] | None = None) -> Usage:
    """Run a command to its end and tell what it took; `env` is added to ours.

    Raises:
        subprocess.CalledProcessError: it ended with another status than 0.
    """
    start, before = time.perf_counter(), _cpu()
    with subprocess.Popen(
        [str(part) for part in command], env={**os.environ, **(env or {})}, stdout=subprocess.PIPE, text=True
    ) as process:
        with TreeMemory(process.pid) as memory:
            output, _ = process.communicate()
        wall = time.perf_counter() - start
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args, output)
    return Usage(memory.anonymous, memory.high_water, wall, _cpu() - before, output)


@contextmanager
def data_folder() -> Iterator[Path]:
    """A folder for made data: that of NPU_BENCH_DATA, where data stay for the next script, else a temporary one."""
    given = os.environ.get(DATA_VARIABLE)
    if given:
        Path(given).mkdir(parents=True, exist_ok=True)
        yield Path(given)
        return
    with tempfile.TemporaryDirectory(prefix="npu-bench-") as folder:
        yield Path(folder)


def trace_file(folder: Path, megabytes: float) -> Path:
    """The synthetic trace of this size in `folder`, made unless it is there; see make_trace."""
    path = folder / f"trace_view_{megabytes:g}MB.json"
    if not path.exists():
        part = path.with_suffix(".part")
        make_trace.write(part, megabytes)
        part.rename(path)
    return path


def warm(path: Path) -> None:
    """Read a file once, so that it is in the page cache for whatever is measured next."""
    with path.open("rb", buffering=0) as file:
        while file.read(1 << 24):
            pass


def json_load(path: Path) -> None:
    """The baseline of most bars: the standard library's reader on the whole file."""
    with path.open("rb") as file:
        json.load(file)


def arguments(doc: str | None, *more: tuple[str, dict[str, Any]]) -> argparse.Namespace:
    """The command line: `--quick` (small sizes; bars that need large ones are not judged), and what a script adds."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes: does the script work?")
    for name, settings in more:
        parser.add_argument(name, **settings)
    return parser.parse_args()


def machine() -> dict[str, str]:
    """What it was measured on."""
    cpuinfo = Path("/proc/cpuinfo").read_text()
    models = [line.partition(":")[2].strip() for line in cpuinfo.splitlines() if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "CPU": f"{len(os.sched_getaffinity(0))} x {models[0] if models else platform.machine()}",
        "memory": f"{memory / 1e9:.1f} GB",
        "kernel": platform.release(),
        "Python": platform.python_version(),
    }


def _measure(work: Callable[[], object], rounds: int) -> Iterator[tuple[float, float]]:
    for _ in range(rounds):
        start, before = time.perf_counter(), _cpu()
        work()
        yield _cpu() - before, time.perf_counter() - start


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)  # os.times() counts in steps of 10 ms


def _hand_over(line: Mapping[str, object]) -> None:
    target = os.environ.get(LINES_VARIABLE)
    if target:
        with Path(target).open("a") as out:
            out.write(json.dumps({"script": Path(sys.argv[0]).stem, **line}) + "\n")
