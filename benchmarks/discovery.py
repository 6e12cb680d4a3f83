"""How long it takes to list 1,000 rank folders: the scan alone, and from TensorBoard's start to the list.

Bars: scan under 2 s; list of runs within 2 s of TensorBoard's start. Beside it stands a bare walk over the same folders.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.harness import Bar, arguments, report, wall_seconds
from benchmarks.server import tensorboard
from tb_npu_plugin.discovery.scan import scan

RANKS = 1000
FILES = ("kernel_details.csv", "operator_details.csv", "memory_record.csv", "step_trace_time.csv", "trace_view.json")


def make(root: Path) -> None:
    """1,000 result folders with small files; only names, sizes and times matter to a scan."""
    for rank in range(RANKS):
        folder = root / "big_run" / f"node{rank // 8}_{1000 + rank}_20260101000000000_ascend_pt"
        output = folder / "ASCEND_PROFILER_OUTPUT"
        output.mkdir(parents=True)
        (folder / f"profiler_info_{rank}.json").write_text(json.dumps({"config": {}, "rank_id": rank}))
        for name in FILES:
            (output / name).write_text("Name\r\n" if name.endswith("csv") else "[]")


def walk(root: Path) -> float:
    """Seconds of a walk that stats every file."""
    start = time.perf_counter()
    for folder, _, files in os.walk(root):
        for name in files:
            (Path(folder) / name).stat()
    return time.perf_counter() - start


def listed(root: Path, cache: Path) -> float:
    """Seconds from the moment TensorBoard listens to a list with all ranks."""
    with tensorboard(root, {"TB_NPU_CACHE_DIR": str(cache)}) as server:
        started = time.perf_counter()
        while True:
            with urllib.request.urlopen(f"{server.url}data/plugin/npu_profiler/api/catalog", timeout=30) as answer:
                runs = json.load(answer)["runs"]
            if runs and len(runs[0]["workers"]) == RANKS:
                return time.perf_counter() - started
            time.sleep(0.02)


def main() -> int:
    """Run all; 1 when a bar falls short."""
    quick = arguments(__doc__).quick
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary) / "logs"
        make(root)
        bare = [walk(root) for _ in range(3)]
        scans = wall_seconds(lambda: scan({"": root}), 5)
        assert len(scan({"": root}).runs[0].workers) == RANKS
        starts = [listed(root, Path(temporary) / f"cache{number}") for number in range(1 if quick else 3)]
    data = f"{RANKS} rank folders"
    return report(
        [
            Bar(
                "scan of 1,000 rank folders", max(scans), 2.0, "s", rounds={"scan": scans, "bare walk": bare}, data=data
            ),
            Bar("TensorBoard listens to the whole list", max(starts), 2.0, "s", rounds={"starts": starts}, data=data),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
