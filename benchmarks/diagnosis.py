"""`tb-npu diagnose`: of a large simulated trace that is already read, of 64 simulated ranks from nothing, and of the demo; and
how the rule about links grows with their number.

Judged is the CPU time of the whole command, its start included, against a Python that only imports numpy and DuckDB: the speed of
machines differs. The limits are 1.5 s and 1 s where that takes 0.3 s. The 64 ranks are judged by what
the command takes longer than `tb-npu ingest` of the same files into an empty cache.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import harness
from benchmarks.harness import ROOT, Bar, Usage
from tb_npu_plugin.analysis.communication.statistics import Link
from tb_npu_plugin.analysis.findings import slow_link
from tb_npu_plugin.analysis.findings.run_data import RunData

#: Events of the large trace (1 GB), ranks, and links.
EVENTS, RANKS, LINKS, ROUNDS = 4_000_000, 64, 4_000, 5
#: A read large trace and the demo, against the imports; seconds for 64 ranks from nothing, beyond reading.
LARGE, DEMO, MANY = 5.0, 3.3, 10.0
IMPORTS = "import numpy, duckdb"
#: Four times as many links take at most this many times as long.
MORE, GROWTH = 4, 6.0
DEMO_RUN = "transformer_slow_rank"


def command(name: str, path: Path, cache: Path, *more: str) -> Usage:
    """What a command of tb-npu took."""
    environment = {"TB_NPU_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    return harness.run([sys.executable, "-m", "tb_npu_plugin", name, path, *more], environment)


def diagnose(path: Path, cache: Path, *more: str) -> Usage:
    """The command; it must have concluded something."""
    used = command("diagnose", path, cache, *more, "--json")
    assert '"checked"' in used.output, used.output
    return used


def from_cache(path: Path, cache: Path, *more: str) -> tuple[Usage, list[float]]:
    """What reading took, and CPU seconds of the diagnosis of what was read."""
    shutil.rmtree(cache, ignore_errors=True)
    reading = command("ingest", path, cache)
    return reading, [diagnose(path, cache, *more).cpu for _ in range(ROUNDS)]


def simulated(path: Path, *settings: str) -> Path:
    """A simulated run, made unless it is there."""
    if not path.exists():
        harness.run([sys.executable, "-m", "tb_npu_plugin", "mock", "--out", path, *settings])
    return path


def time_of_links(count: int) -> float:
    """Seconds to judge so many links, of which each moves pieces of another size."""
    run = RunData([])
    links = [
        Link(
            None,
            "1",
            "g",
            "allreduce",
            at,
            at + 1,
            None,
            None,
            "HCCS",
            1_000_000 + 1_000 * at,
            60_000 + 60 * at,
            None,
            1,
        )
        for at in range(count)
    ]
    vars(run)["links"] = links
    start = time.process_time()
    slow_link.find(run)
    return time.process_time() - start


def main() -> int:
    """Run all; 1 when a bar falls short."""
    options = harness.arguments(__doc__)
    events, count = (80_000, 8) if options.quick else (EVENTS, RANKS)
    unjudged = "not judged at this size" if options.quick else ""
    with harness.data_folder() as folder:
        cache = folder / "diagnosis_cache"
        large = simulated(folder / f"mock_{events}", "--events", str(events))
        reading, times = from_cache(large, cache)
        data = f"a simulated rank of {events:,} events"
        how = f"reading it takes {reading.cpu:.1f} s CPU"
        imports = [harness.run([sys.executable, "-c", IMPORTS]).cpu for _ in range(ROUNDS)]
        bars = [
            Bar.of_times(
                "large trace, read, CPU", times, imports, LARGE, IMPORTS, data=f"{data}; {how}", unjudged=unjudged
            )
        ]

        many = simulated(folder / f"mock_{count}_ranks", "--model", "tiny", "--ranks", str(count), "--steps", "2")
        fresh = folder / "diagnosis_fresh_cache"  # creating files takes longer right after others were deleted
        ours = diagnose(many, fresh)
        reading, times = from_cache(many, cache)
        data, how = f"{count} simulated ranks", f"tb-npu ingest takes {reading.cpu:.1f} s CPU"
        beyond = ours.cpu - reading.cpu
        bars += [
            Bar("64 ranks from nothing, CPU beyond reading", beyond, MANY, "s", how, data=data, unjudged=unjudged),
            Bar("64 ranks, read, CPU", min(times), None, "s", "", {"CPU, s": times}, data),
        ]
        few, more = ([time_of_links(size) for _ in range(ROUNDS)] for size in (LINKS, MORE * LINKS))
        data = f"{MORE * LINKS:,} links against {LINKS:,}"
        bars.append(Bar.of_times("rule about links", more, few, GROWTH, "a quarter of the links", data=data))

        _, times = from_cache(ROOT / "fixtures" / "demo", cache, "--run", DEMO_RUN)
        bars.append(Bar.of_times("demo, read, CPU", times, imports, DEMO, IMPORTS, data=f"the run {DEMO_RUN}"))
        shutil.rmtree(cache)
        shutil.rmtree(fresh)
    return harness.report(bars)


if __name__ == "__main__":
    sys.exit(main())
