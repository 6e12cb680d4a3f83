"""Scanning alone against json.load and a warm read of the same file; memory of a scan in a process of its own.

CPU times of one run, the best of some rounds each. "parse" is the Python scanner's decoding to events, without the
columns that it makes of them. Columns go to files, as they do when a span is opened.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import harness
from benchmarks.harness import Bar
from tb_npu_plugin.installation import SCANNER_VARIABLE
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan import ScanSink, scan_trace
from tb_npu_plugin.scan.columns import MemoryColumns
from tb_npu_plugin.scan.msgspec_events import PythonRows
from tb_npu_plugin.scan.msgspec_scanner import Scanner
from tb_npu_plugin.scan.source import PreviewSchedule, Source

THREADS_VARIABLE = "TB_NPU_SCAN_THREADS"
NAMES = {"c": "c", "python": "msgspec"}
#: Peak anonymous memory of a scan in sizes of the file: the build that follows needs its part of 0.5 and 1.0.
MEMORY = {"c": 0.35, "python": 0.4}
MEMORY_FROM = 500
#: Below, a read() fills memory that the process has already, and what a scan does once counts.
TIMES_FROM = 100
#: Elapsed time of a scan with two threads in times of one, where two cores are free. Of 1 GB, one thread takes 1.19 s of CPU,
#: two take 1.33 s: the texts of each block are numbered again when it is added to the others. 0.08 s of that, writing the
#: texts, is one thread's work. So two cores take (1.33 - 0.08) / 2 + 0.08 = 0.71 s at best, 0.59 of one.
TWO_THREADS = 0.6


def scan(path: Path, scanner: str, threads: int = 1) -> None:
    """Scan to columns in files of a temporary folder beside the trace."""
    os.environ.update({SCANNER_VARIABLE: scanner, THREADS_VARIABLE: str(threads)})
    log = ProblemLog()
    with tempfile.TemporaryDirectory(dir=path.parent) as spool:
        events = scan_trace(path, log, lambda _: None, ScanSink(spool=Path(spool)))
        assert events.scanner == NAMES[scanner] and events.complete and not log.list()


class Parser(Scanner):
    """The Python scanner without its columns."""

    def _add(self, events: object, text: bytes) -> None:
        """Forget them."""


def parse(path: Path) -> None:
    """Decode all events with the Python scanner."""
    log = ProblemLog()
    Parser(Source(path, log, lambda _: None), None, PythonRows(MemoryColumns()), PreviewSchedule(None, ())).scan()
    assert not log.list()


def bars(path: Path) -> list[Bar]:
    """All figures of one file."""
    megabytes = path.stat().st_size / 1e6
    data = f"{megabytes:.0f} MB trace"
    works: dict[str, tuple[Callable[[], object], int]] = {
        "warm read()": (path.read_bytes, 5),
        "C": (lambda: scan(path, "c"), 5),
        "Python parse": (lambda: parse(path), 3),
        "Python": (lambda: scan(path, "python"), 2),
        "json.load": (lambda: harness.json_load(path), 2),
    }
    harness.warm(path)
    times = {name: harness.cpu_seconds(work, rounds) for name, (work, rounds) in works.items()}

    def ratio(name: str, base: str, limit: float) -> Bar:
        small = "" if megabytes >= TIMES_FROM else f"not judged below {TIMES_FROM} MB"
        return Bar.of_times(f"scan {name} / {base}", times[name], times[base], limit, base, data=data, unjudged=small)

    out = [ratio("C", "json.load", 0.12), ratio("C", "warm read()", 2.5), ratio("Python parse", "json.load", 0.35)]
    python = times["Python"]
    out.append(
        Bar("scan Python / json.load", min(python) / min(times["json.load"]), rounds={"Python": python}, data=data)
    )
    one = harness.wall_seconds(lambda: scan(path, "c", 1), 5)
    two = harness.wall_seconds(lambda: scan(path, "c", 2), 5)
    small = "" if megabytes >= TIMES_FROM else f"not judged below {TIMES_FROM} MB"
    free = small or ("" if harness.cores_are_free() else "not judged: two processes take turns on the cores")
    name = "scan C, 2 threads / 1, elapsed"
    out.append(Bar.of_times(name, two, one, TWO_THREADS, "1 thread", data=data, unjudged=free))
    unjudged = "" if megabytes >= MEMORY_FROM else f"not judged below {MEMORY_FROM} MB"
    for scanner, limit in MEMORY.items():
        peak = harness.peak_memory([sys.executable, __file__, "--scan", scanner, str(path)])
        name = f"scan {scanner}, peak anonymous memory / file"
        out.append(Bar(name, peak / 1e6 / megabytes, limit, data=data, unjudged=unjudged))
    return out


def main() -> int:
    if sys.argv[1:2] == ["--scan"]:
        scan(Path(sys.argv[3]), sys.argv[2], threads=2)
        return 0
    options = harness.arguments(__doc__, ("--megabytes", {"type": float, "default": MEMORY_FROM}))
    with harness.data_folder() as folder:
        return harness.report(bars(harness.trace_file(folder, 20 if options.quick else options.megabytes)))


if __name__ == "__main__":
    sys.exit(main())
