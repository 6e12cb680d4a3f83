"""How fast `tb-npu mock` writes: the whole command, for one rank of 10 M events, as text and as database.

Judged is the elapsed time for each byte, of both alike; a database takes about a quarter of the bytes for as many events. A
rank is written by two processes, so the machine must be quiet and have two cores. A rank of a cluster takes longer: all its
ranks run beside it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.harness import Bar, arguments, report, run

EVENTS, QUICK = 10_000_000, 300_000
#: s for 1000 MB: 50 MB/s.
SECONDS = 20.0
ALONE, CLUSTER = ("--ranks", "1"), ("--ranks", "8", "--tp", "8", "--only-ranks", "0")


def write(events: int, form: str, ranks: Sequence[str]) -> list[Bar]:
    """Time and memory of one rank."""
    with tempfile.TemporaryDirectory(prefix="npu-bench-") as name:
        command = ["-m", "tb_npu_plugin.cli", "mock", "--model", "llama-7b", *ranks, "--events", str(events)]
        usage = run([sys.executable, *command, "--export-type", form, "--out", name])
        files = [path for path in Path(name).rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files) / 1e6
    what = f"{events:,} events, {size:.0f} MB, {' '.join(ranks)}"
    unjudged = "not judged at this size" if events < EVENTS else ""
    judged = ranks is ALONE
    return [
        Bar(f"mock, {form}, elapsed for 1000 MB", usage.wall / size * 1000, SECONDS if judged else None, "s",
            f"{size / usage.wall:.1f} MB/s", data=what, unjudged=unjudged if judged else ""),
        Bar(f"mock, {form}, CPU", usage.cpu, None, "s", f"{size / usage.cpu:.1f} MB/s", data=what),
        Bar(f"mock, {form}, peak memory", usage.anonymous / 1e6, None, "MB", data=what),
    ]  # fmt: skip


def main() -> int:
    """Exit status: 1 when a bar falls short."""
    chosen = arguments(__doc__, ("--events", {"type": int, "default": EVENTS}))
    events = QUICK if chosen.quick else chosen.events
    runs = [("text", ALONE), ("db", ALONE), ("text", CLUSTER), ("db", CLUSTER)]
    return report([bar for form, ranks in runs for bar in write(events, form, ranks)])


if __name__ == "__main__":
    sys.exit(main())
