"""How fast `tb-npu mock` writes: the whole command, for one rank of 10 M events and for a cluster that has as many in all,
as text and as database.

Judged is the elapsed time for each byte; a database takes about a quarter of the bytes for as many events. One process writes
a rank, and a cluster is written by one per core, so the machine must be quiet; a single round still varies by a third, so
databases are written three times, and the best round counts. One rank of a cluster alone takes longer
for its bytes: all the others run beside it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.harness import Bar, arguments, report, run

EVENTS, QUICK = 10_000_000, 300_000
#: s for 1000 MB of each form: 50 MB/s, and 22 MB/s of a database, which takes a quarter of the bytes for as many events.
SECONDS = {"text": 20.0, "db": 45.0}
#: Of each form; the best one counts.
ROUNDS = {"text": 1, "db": 3}
RANKS = 8
ALONE, CLUSTER = ("--ranks", "1"), ("--ranks", str(RANKS), "--tp", str(RANKS))
ONE_OF_THEM = (*CLUSTER, "--only-ranks", "0")


def write(events: int, form: str, ranks: Sequence[str]) -> list[Bar]:
    """Time and memory. events: of each rank."""
    command = ["-m", "tb_npu_plugin", "mock", "--model", "llama-7b", *ranks, "--events", str(events)]
    usages = []
    for _ in range(ROUNDS[form]):
        with tempfile.TemporaryDirectory(prefix="npu-bench-") as name:
            usages.append(run([sys.executable, *command, "--export-type", form, "--out", name]))
            size = sum(path.stat().st_size for path in Path(name).rglob("*") if path.is_file()) / 1e6
    wall, cpu = ([getattr(usage, what) for usage in usages] for what in ("wall", "cpu"))
    what = f"{events:,} events a rank, {size:.0f} MB, {' '.join(ranks)}"
    whole = RANKS * events if ranks is CLUSTER else events
    unjudged = "not judged at this size" if whole < EVENTS else ""
    judged = ranks is not ONE_OF_THEM
    several = len(usages) > 1
    best = f", best of {len(usages)}" if several else ""
    return [
        Bar(
            f"mock, {form}, elapsed for 1000 MB",
            min(wall) / size * 1000,
            SECONDS[form] if judged else None,
            "s",
            f"{size / min(wall):.1f} MB/s{best}",
            data=what,
            unjudged=unjudged if judged else "",
            rounds={"each round": [each / size * 1000 for each in wall]} if several else {},
        ),
        Bar(f"mock, {form}, CPU", min(cpu), None, "s", f"{size / min(cpu):.1f} MB/s", data=what),
        Bar(f"mock, {form}, peak memory", max(usage.anonymous for usage in usages) / 1e6, None, "MB", data=what),
    ]


def main() -> int:
    """Exit status: 1 when a bar falls short."""
    chosen = arguments(__doc__, ("--events", {"type": int, "default": EVENTS}))
    events = QUICK if chosen.quick else chosen.events
    runs = {ALONE: events, CLUSTER: events // RANKS, ONE_OF_THEM: events // RANKS}
    return report([bar for ranks, each in runs.items() for form in ("text", "db") for bar in write(each, form, ranks)])


if __name__ == "__main__":
    sys.exit(main())
