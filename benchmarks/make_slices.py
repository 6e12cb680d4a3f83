"""Write a trace of many short slices on 36 threads, each two rows deep: `make_slices.py FILE SLICES`.

For questions to a timeline: no args, so that the file stays small; one name in four is its own.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

THREADS = 36
#: Two rows each.
ROWS = 2 * THREADS
BASE_NS = 1_760_000_000_000_000_000


def write(path: Path, slices: int, seed: int = 0) -> None:
    """Write the file: `slices` slices, in pairs of a longer one and one within it."""
    rng = random.Random(seed)
    with path.open("w") as out:
        out.write('[{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "Python"}}')
        for thread in range(THREADS):
            start = rng.randrange(1000)
            for number in range(slices // ROWS):
                dur = rng.randrange(2_000, 60_000)
                inner = rng.randrange(300, dur - 200)
                outer_name = f"op_{rng.randrange(3000)}"
                inner_name = f"kernel_{thread}_{number}" if number % 2 else f"aten::op_{rng.randrange(400)}"
                out.write(event(outer_name, thread, start, dur) + event(inner_name, thread, start + 100, inner))
                start += dur + rng.randrange(5_000)
        out.write("]")


def event(name: str, thread: int, start: int, dur: int) -> str:
    """One complete event; times in ns."""
    ns = BASE_NS + start
    time = f'"{ns // 1000}.{ns % 1000:03d}"'
    return f',\n{{"ph": "X", "name": "{name}", "pid": 1, "tid": {thread}, "ts": {time}, "dur": {dur / 1000}}}'


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
