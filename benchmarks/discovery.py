"""How long it takes to list 1,000 rank folders: the scan alone, and from TensorBoard's first answer to the list.

Bars (issue 2): scan under 2 s; list of runs within 2 s of TensorBoard's start. Prints the ratio to a bare walk over
the same folders; exits 1 when a bar falls short.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from tb_npu_plugin.discovery.scan import scan

RANKS = 1000
BAR_SECONDS = 2.0
FILES = ("kernel_details.csv", "operator_details.csv", "memory_record.csv", "step_trace_time.csv", "trace_view.json")
PORT = "6098"


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
    """Seconds from TensorBoard's first answer to a list with all ranks."""
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(root), "--port", PORT]
    environment = {**os.environ, "TB_NPU_CACHE_DIR": str(cache)}
    base = f"http://127.0.0.1:{PORT}/data"
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as server:
        try:
            started = 0.0
            while not started:
                try:
                    urllib.request.urlopen(f"{base}/environment", timeout=5).close()
                    started = time.perf_counter()
                except OSError:
                    time.sleep(0.05)
            while True:
                with urllib.request.urlopen(f"{base}/plugin/npu_profiler/api/catalog", timeout=30) as answer:
                    runs = json.load(answer)["runs"]
                if runs and len(runs[0]["workers"]) == RANKS:
                    return time.perf_counter() - started
                time.sleep(0.02)
        finally:
            server.terminate()


def main() -> int:
    """Run all; 1 when a bar falls short."""
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary) / "logs"
        make(root)
        bare = min(walk(root) for _ in range(3))
        times = []
        for _ in range(5):
            start = time.perf_counter()
            found = scan({"": root})
            times.append(time.perf_counter() - start)
        assert len(found.runs[0].workers) == RANKS
        start_to_list = listed(root, Path(temporary) / "cache")
    print(f"scan of {RANKS} ranks: {min(times):.3f}-{max(times):.3f} s, {min(times) / bare:.1f} x a bare walk; bar 2 s")
    print(f"TensorBoard's first answer to the list: {start_to_list:.3f} s; bar 2 s")
    return 0 if max(times) <= BAR_SECONDS and start_to_list <= BAR_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
