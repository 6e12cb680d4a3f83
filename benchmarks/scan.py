"""Scanning alone against json.load and a warm read of the same file; memory of a scan in a process of its own.

CPU times of one run, the best of some rounds each. "parse" is the Python scanner's decoding to events, without the
columns that it makes of them. Columns go to files, as they do when a span is opened.

What two threads gain is measured against what two cores give at all: two processes that scan a file each at the same time.
Rounds of one scan, of two at once and of one with two threads alternate, since other machines on the same host slow the cores
down for seconds.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import harness
from benchmarks.harness import Bar
from tb_npu_plugin.installation import SCANNER_VARIABLE
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan import ScanSink, scan_trace
from tb_npu_plugin.scan.columns import Columns
from tb_npu_plugin.scan.msgspec_events import Rows
from tb_npu_plugin.scan.msgspec_scanner import Scanner
from tb_npu_plugin.scan.source import PreviewSchedule, Source

THREADS_VARIABLE = "TB_NPU_SCAN_THREADS"
NAMES = {"c": "c", "python": "msgspec"}
#: Peak anonymous memory of a scan in sizes of the file: the build that follows needs its part of 0.5 and 1.0.
MEMORY = {"c": 0.35, "python": 0.4}
MEMORY_FROM = 500
#: Below, a read() fills memory that the process has already, and what a scan does once counts.
TIMES_FROM = 100
#: Elapsed time of a scan with two threads in times of one, where two cores are free; and in times of half of two scans at once.
TWO_THREADS, TWO_THREADS_OF_BEST = 0.6, 1.2
#: Two scans at once take less than this in times of one where each has a core; elapsed time in times of CPU time where no other
#: programs run.
FREE = 1.1
#: Rounds of the comparison of threads.
THREAD_ROUNDS = 8


def scan(path: Path, scanner: str, threads: int = 1) -> float:
    """Scan to columns in files of a temporary folder beside the trace. Returns the elapsed seconds."""
    os.environ.update({SCANNER_VARIABLE: scanner, THREADS_VARIABLE: str(threads)})
    log = ProblemLog()
    with tempfile.TemporaryDirectory(dir=path.parent) as spool:
        start = time.perf_counter()
        events = scan_trace(path, log, lambda _: None, ScanSink(spool=Path(spool)))
        elapsed = time.perf_counter() - start
        assert events.scanner == NAMES[scanner] and events.complete and not log.list()
    return elapsed


class Scanning:
    """A process that scans a file when asked to, so that several can scan at once."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, __file__, "--scan-when-asked", str(path)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self, threads: int) -> None:
        """Begin a scan with this number of threads."""
        assert self._process.stdin
        print(threads, file=self._process.stdin, flush=True)

    def seconds(self) -> tuple[float, float]:
        """(elapsed, CPU) time of the scan that was started."""
        assert self._process.stdout
        elapsed, cpu = map(float, self._process.stdout.readline().split())
        return elapsed, cpu

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def scan_when_asked(path: Path) -> None:
    """Scan with as many threads as each line of the standard input says; print the elapsed and the CPU seconds."""
    for line in sys.stdin:
        before = time.process_time()
        elapsed = scan(path, "c", int(line))
        print(elapsed, time.process_time() - before, flush=True)


def thread_bars(path: Path, rounds: int, data: str, unjudged: str) -> list[Bar]:
    """One scan, two at once and one with two threads, in turn."""
    copy = path.with_suffix(".copy")
    shutil.copyfile(path, copy)
    first, second = Scanning(path), Scanning(copy)
    one: list[float] = []
    both: list[float] = []
    two: list[float] = []
    waiting = []  # elapsed time in times of CPU time
    for number in range(rounds + 1):
        for threads, scans, times in ((1, (first,), one), (1, (first, second), both), (2, (first,), two)):
            for each in scans:
                each.start(threads)
            elapsed, cpu = max([each.seconds() for each in scans])
            if number:  # the first round is a warm-up
                times.append(elapsed)
                waiting += [elapsed / cpu] if times is one else []
    for each in (first, second):
        each.close()
    copy.unlink()
    shared = min(both) / min(one)
    if min(waiting) > FREE:
        unjudged = unjudged or "not judged: other programs run"
    name = "scan C, 2 threads / 1, elapsed"
    taken = unjudged or ("" if shared < FREE else f"not judged: two scans at once take {shared:.2f} of one")
    best = [seconds / 2 for seconds in both]
    return [
        Bar.of_times(name, two, one, TWO_THREADS, "1 thread", data=data, unjudged=taken),
        Bar("half of two scans at once / 1 scan, elapsed", shared / 2, rounds={"two": both}, data=data),
        Bar.of_times(
            "scan C, 2 threads / half of two scans at once",
            two,
            best,
            TWO_THREADS_OF_BEST,
            "half of two scans",
            data=data,
            unjudged=unjudged,
        ),
    ]


class Parser(Scanner):
    """The Python scanner without its columns."""

    def _add(self, events: object, text: bytes) -> None:
        """Forget them."""


def parse(path: Path) -> None:
    """Decode all events with the Python scanner."""
    log = ProblemLog()
    Parser(Source(path, log, lambda _: None), None, Rows(Columns()), PreviewSchedule(None, ())).scan()
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
    small = "" if megabytes >= TIMES_FROM else f"not judged below {TIMES_FROM} MB"
    out += thread_bars(path, THREAD_ROUNDS, data, small)
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
    if sys.argv[1:2] == ["--scan-when-asked"]:
        scan_when_asked(Path(sys.argv[2]))
        return 0
    options = harness.arguments(__doc__, ("--megabytes", {"type": float, "default": MEMORY_FROM}))
    with harness.data_folder() as folder:
        return harness.report(bars(harness.trace_file(folder, 20 if options.quick else options.megabytes)))


if __name__ == "__main__":
    sys.exit(main())
