"""Write the timeline folder of many slices directly, without a trace: `make_store.py FOLDER SLICES`.

The slices are like those of make_slices: 36 threads, two rows each; one in four has a name of its thread alone, of at most
OWN_NAMES of all threads.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.make_slices import BASE_NS, ROWS, THREADS
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan.events import DTYPES, TraceEvents
from tb_npu_plugin.store.timeline.build import write_timeline
from tb_npu_plugin.store.timeline.meta import Origin
from tb_npu_plugin.texts import TextList

OUTER_NAMES, INNER_NAMES, OWN_NAMES = 3000, 400, 1_000_000
TRACE = "trace_view.json"
#: Values of the columns that are the same for all events.
_SAME = {"phase": ord("X"), "pid": 0, "category": -1, "flow": -1, "args_offset": -1}


def write(folder: Path, slices: int, seed: int = 0) -> Path:
    """Write `slices` slices, in pairs of a longer one and one within it, to the new folder `folder`; returns it."""
    folder.mkdir(parents=True)
    trace = folder / TRACE
    trace.write_text("[]")
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        events = _events(Path(scratch), trace, slices // ROWS, np.random.default_rng(seed))
        write_timeline(folder, events, trace, Origin.of(trace), ProblemLog(), derive=lambda *_: {})
    return folder


def made(folder: Path, slices: int, seed: int = 0) -> Path:
    """As `write`, unless the folder is there."""
    if not folder.exists():
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        write(part, slices, seed).rename(folder)
    return folder


def _events(scratch: Path, trace: Path, pairs: int, rng: np.random.Generator) -> TraceEvents:
    """The events with their long columns in files of `scratch`. pairs: number on each thread."""
    count = ROWS * pairs

    def column(name: str) -> Any:
        return np.lib.format.open_memmap(scratch / f"{name}.npy", "w+", DTYPES[name], (count,))

    columns: dict[str, Any] = {name: column(name) for name in ("name", "tid", "ts", "dur")}
    own = min(OWN_NAMES, count // 4)
    for thread in range(THREADS):
        outer, inner = (slice(2 * pairs * thread + first, 2 * pairs * (thread + 1), 2) for first in (0, 1))
        dur = rng.integers(2_000, 60_000, pairs)
        start = BASE_NS + rng.integers(1000) + np.cumsum(dur + rng.integers(0, 5_000, pairs)) - dur
        columns["tid"][outer] = columns["tid"][inner] = thread
        columns["ts"][outer], columns["ts"][inner] = start, start + 100
        columns["dur"][outer], columns["dur"][inner] = dur, rng.integers(300, dur - 200)
        columns["name"][outer] = rng.integers(0, OUTER_NAMES, pairs)
        is_own = np.arange(pairs) % 2 == 1
        others = OUTER_NAMES + rng.integers(0, INNER_NAMES, pairs)
        numbers = thread + THREADS * rng.integers(0, own // THREADS, pairs)
        columns["name"][inner] = np.where(is_own, OUTER_NAMES + INNER_NAMES + numbers, others)
    names = [f"op_{n}" for n in range(OUTER_NAMES)] + [f"aten::op_{n}" for n in range(INNER_NAMES)]
    names += [f"kernel_{n % THREADS}_{n}" for n in range(own)]
    for name, dtype in DTYPES.items():
        columns.setdefault(name, np.broadcast_to(np.array(_SAME.get(name, 0), dtype), (count,)))
    texts: dict[str, list[str]] = {
        "names": names,
        "categories": [],
        "pids": ["1"],
        "tids": [str(n) for n in range(THREADS)],
        "flows": [],
    }
    columns.update({name: TextList.of(values) for name, values in texts.items()})
    return TraceEvents(
        **columns,
        args_path=trace,
        scanner="made",
        bytes_read=trace.stat().st_size,
        complete=True,
    )


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(float(sys.argv[2])))
