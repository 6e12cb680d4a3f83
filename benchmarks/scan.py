"""Scan alone against json.load and a warm read of the same file: `scan.py [MEGABYTES]`.

Prints ratios of CPU time in one run, the best of some rounds each, and the peak memory of a scan in its own process.
Exits with 1 when a bar of specs/performance.md falls short: other programs on the machine spoil the figures.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import make_trace
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan import SCANNER_VARIABLE, scan_trace

#: measure -> (its baseline, at most this often the baseline)
BARS = {
    ("scan c", "json.load"): 0.12,
    ("scan c", "warm read"): 2.5,
    ("scan python", "json.load"): 0.55,
}
#: Peak anonymous memory of a scan, in sizes of the file; told of files of at least 500 MB.
MEMORY_BARS = {"c": 0.5, "python": 1.0}
MEMORY_FROM = 500


def cpu_seconds(work: Callable[[], object], rounds: int) -> list[float]:
    """User and system time of each round."""
    out = []
    for _ in range(rounds):
        before = os.times()
        work()
        after = os.times()
        out.append(after.user + after.system - before.user - before.system)
    return out


def scan(path: Path, scanner: str) -> None:
    os.environ[SCANNER_VARIABLE] = scanner
    log = ProblemLog()
    events = scan_trace(path, log, lambda _: None)
    assert events.scanner == {"c": "c", "python": "msgspec"}[scanner]
    assert events.complete and not log.list()


def load(path: Path) -> None:
    with path.open("rb") as file:
        json.load(file)


def peak_memory(path: Path, scanner: str) -> int:
    """Bytes of the peak resident set of a process that scans; the file is read, not mapped, so all of it is its own."""
    done = subprocess.run([sys.executable, __file__, "--scan", scanner, str(path)], check=True, stdout=subprocess.PIPE)
    return int(done.stdout)


def measure(path: Path) -> bool:
    size = path.stat().st_size
    path.read_bytes()  # into the page cache
    times = {
        "warm read": cpu_seconds(path.read_bytes, 5),
        "scan c": cpu_seconds(lambda: scan(path, "c"), 5),
        "scan python": cpu_seconds(lambda: scan(path, "python"), 3),
        "json.load": cpu_seconds(lambda: load(path), 2),
    }
    print(f"{size / 1e6:.0f} MB; CPU time, best of the rounds (all rounds)")
    for name, rounds in times.items():
        spread = " ".join(f"{one:.2f}" for one in rounds)
        print(f"  {name:12} {min(rounds):6.2f} s {size / 1e6 / min(rounds):7.0f} MB/s   ({spread})")
    good = True
    for (name, base), bar in BARS.items():
        good &= report(f"{name} / {base}", min(times[name]) / min(times[base]), bar)
    for scanner, bar in MEMORY_BARS.items():
        ratio = peak_memory(path, scanner) / size
        good &= report(f"peak memory {scanner} / file", ratio, bar, size >= MEMORY_FROM * 1e6)
    return good


def report(name: str, ratio: float, bar: float, counts: bool = True) -> bool:
    verdict = "" if not counts else "ok" if ratio <= bar else "FALLS SHORT"
    print(f"  {name:28} {ratio:6.3f}  bar {bar:5.2f}  {verdict}")
    return not counts or ratio <= bar


def main() -> int:
    if sys.argv[1:2] == ["--scan"]:
        scan(Path(sys.argv[3]), sys.argv[2])
        status = Path("/proc/self/status").read_text()  # not getrusage: a child begins with its parent's peak there
        print(int(re.search(r"VmHWM:\s*(\d+) kB", status).group(1)) * 1024)  # type: ignore[union-attr]
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace_view.json"
        make_trace.write(path, float(sys.argv[1]) if len(sys.argv) > 1 else MEMORY_FROM)
        return 0 if measure(path) else 1


if __name__ == "__main__":
    sys.exit(main())
