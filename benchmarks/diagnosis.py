"""`tb-npu diagnose`: of a large trace that is already read, of 64 small ranks from nothing, and of the demo.

Judged is the CPU time of the whole command, its start included: about 0.4 s of it are imports. Only the 64 ranks are judged
by the clock, since their files are read by several processes. The baseline is `tb-npu ingest` of the same files into an
empty cache.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import harness, make_ranks, ranks
from benchmarks.harness import ROOT, Bar, Usage

MEGABYTES, ROUNDS = 1000.0, 3
#: Seconds: CPU beyond reading a large trace; 64 ranks from nothing; CPU for the demo from the cache.
LARGE, MANY, DEMO = 1.5, 10.0, 1.0
DEMO_RUN = "transformer_slow_rank"


def command(name: str, path: Path, cache: Path, *more: str) -> Usage:
    """What a command of tb-npu took."""
    environment = {"TB_NPU_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    return harness.run([sys.executable, "-m", "tb_npu_plugin.cli", name, path, *more], environment)


def diagnose(path: Path, cache: Path, run: str) -> Usage:
    """The command; it must have concluded something."""
    used = command("diagnose", path, cache, "--run", run, "--json")
    assert '"checked"' in used.output, used.output
    return used


def from_cache(path: Path, cache: Path, run: str) -> tuple[Usage, list[float]]:
    """What reading took, and CPU seconds of the diagnosis of what was read."""
    shutil.rmtree(cache, ignore_errors=True)
    reading = command("ingest", path, cache)
    return reading, [diagnose(path, cache, run).cpu for _ in range(ROUNDS)]


def main() -> int:
    """Run all; 1 when a bar falls short."""
    options = harness.arguments(__doc__)
    megabytes, count = (20.0, 8) if options.quick else (MEGABYTES, ranks.RANKS)
    unjudged = "not judged at this size" if options.quick else ""
    with harness.data_folder() as folder:
        cache = folder / "diagnosis_cache"
        large = folder / f"diagnosis_{megabytes:g}MB"
        shutil.rmtree(large, ignore_errors=True)
        make_ranks.write_rank(large / "run", 0, trace=harness.trace_file(folder, megabytes))
        reading, times = from_cache(large, cache, "run")
        how = f"reading it takes {reading.cpu:.1f} s CPU"
        rounds = {"CPU, s": times}
        data = f"a rank with a trace of {megabytes:g} MB"
        bars = [Bar("large trace, read, CPU", min(times), LARGE, "s", how, rounds, data, unjudged)]

        many = folder / f"ranks_{count}" / "run"
        many.parent.mkdir(exist_ok=True)
        data = f"{count} ranks of {ranks.make(many, count) / 1e6:.1f} MB"
        fresh = folder / "diagnosis_fresh_cache"  # creating files takes longer right after others were deleted
        ours = diagnose(many.parent, fresh, "run")
        reading, times = from_cache(many.parent, cache, "run")
        bars += [
            Bar("64 ranks from nothing", ours.wall, MANY, "s", "elapsed time", data=data, unjudged=unjudged),
            Bar("64 ranks from nothing, CPU", ours.cpu / reading.cpu, None, "x", "tb-npu ingest", data=data),
            Bar("64 ranks, read, CPU", min(times), None, "s", "", {"CPU, s": times}, data),
        ]

        _, times = from_cache(ROOT / "fixtures" / "demo", cache, DEMO_RUN)
        bars.append(Bar("demo, read, CPU", min(times), DEMO, "s", "", {"CPU, s": times}, f"the run {DEMO_RUN}"))
        shutil.rmtree(cache)
        shutil.rmtree(fresh)
    return harness.report(bars)


if __name__ == "__main__":
    sys.exit(main())
