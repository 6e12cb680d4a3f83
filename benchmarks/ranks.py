"""64 small ranks: from the start to everything read, the memory that takes, and the view of all of them.

Each rank has a trace of 4 MB, the tables of its operators and kernels, and the small files of a level-1 capture, about
5.5 MB, none like that of another rank. Ours is `tb-npu ingest` into an empty cache, then the Distributed view in a new
process. The baseline reads the same files with the standard library: json.load and csv.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import sys
import time
from pathlib import Path

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import harness, make_ranks
from benchmarks.harness import ROOT, Bar

RANKS, TRACE_MEGABYTES = 64, 4.0
SECONDS, BYTES, VIEW_SECONDS, WINDOW_MS = 8.0, 3e8, 1.2, 60.0
#: A capture with the files that make_ranks does not write.
SAMPLE = next((ROOT / "fixtures" / "demo" / "transformer_910b").glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT"))
MORE = (
    "api_statistic.csv",
    "communication.json",
    "communication_matrix.json",
    "l2_cache.csv",
    "npu_module_mem.csv",
    "op_statistic.csv",
)

VIEW = """
import os, sys
from pathlib import Path
from tb_npu_plugin.discovery.watch import Watcher
from tb_npu_plugin.json_encoding import encode_json
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.store.library import Library
watcher = Watcher({"": Path(sys.argv[1])}, background=False)
run = watcher.update().runs[0].token
library = Library(watcher)
before = os.times()
answer = Service(library).view("distributed", {"run": run})
size = len(encode_json(answer))
after = os.times()
assert answer["state"] == "ready", answer["state"]
print(after.user + after.system - before.user - before.system, size, len(answer["data"]["ranks"]))
"""

STRIPS = """
import gzip, json, random, sys, time
from pathlib import Path
from tb_npu_plugin.discovery.watch import Watcher
from tb_npu_plugin.server.timeline.registry import answer as answer_ask, parse
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.store.library import Library
watcher = Watcher({"": Path(sys.argv[1])}, background=False)
run = watcher.update().runs[0]
service = Service(Library(watcher))
tokens = [worker.spans[0].token for worker in run.workers]
opened = [service.library.open(service.library.place(token)) for token in tokens]
base, length = min(span.base_ns for span in opened), 2_000_000_000
draw = random.Random(1)

def cpu(t0, t1, shifts):
    before = time.process_time()
    sources = [{"span": token, "zero": str(base - shift)} for token, shift in zip(tokens, shifts)]
    answer = answer_ask(service, parse("strips", json.dumps({"sources": sources, "t0": t0, "t1": t1, "bins": 1800})))
    return time.process_time() - before, answer

first, answer = cpu(0, length, [0] * len(tokens))
times = []
for _ in range(200):
    t0 = draw.randrange(length)
    times.append(cpu(t0, t0 + draw.randrange(1000, length), [draw.randrange(-10**6, 10**6) for _ in tokens])[0])
kernels = sum(len(span.table("kernels")) for span in opened)
print(first, sorted(times)[len(times) // 2], sorted(times)[-2], len(gzip.compress(answer, 6)), len(tokens), kernels)
"""


ROWS = """
import json, random, sys, time
from pathlib import Path
from tb_npu_plugin.discovery.watch import Watcher
from tb_npu_plugin.server.timeline.registry import answer, parse
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.store.library import Library
watcher = Watcher({"": Path(sys.argv[1])}, background=False)
service = Service(Library(watcher))
tokens = [worker.spans[0].token for worker in watcher.update().runs[0].workers]
views = [service.view("trace", {"span": token})["data"] for token in tokens]
length, draw, times = views[0]["end"], random.Random(1), []
#: As in a page that has a stream of each rank in sight.
(stream,) = [
    thread["track"] for process in views[0]["processes"] for thread in process["threads"] if thread["name"] == "Stream 2"
]
for _ in range(200):
    t0, width = draw.randrange(length), draw.randrange(1000, length)
    sources = [
        {"span": token, "version": view["version"], "rows": [[stream, 0, 4]]} for token, view in zip(tokens, views)
    ]
    query = json.dumps({"sources": sources, "t0": t0, "t1": t0 + width, "px": width / 1500})
    before = time.process_time()
    answer(service, parse("rows", query))
    times.append(time.process_time() - before)
print(sorted(times)[len(times) // 2], sorted(times)[-2])
"""


def make(run: Path, ranks: int) -> int:
    """The run, unless it is there; bytes of one rank on average."""
    if not run.exists():
        part = run.with_suffix(".part")
        for rank in range(ranks):
            output = make_ranks.write_rank(part, rank, TRACE_MEGABYTES) / "ASCEND_PROFILER_OUTPUT"
            for name in MORE:
                text = (SAMPLE / name).read_text()
                (output / name).write_text(re.sub(r"(hcom_|aclnn|aclrt)", rf"\g<1>r{rank}_", text))
        for path in part.rglob("*"):
            os.utime(path, (1e9, 1e9))  # what has just been written is read again when it has settled
        part.rename(run)
    return sum(path.stat().st_size for path in run.rglob("*") if path.is_file()) // ranks


def read_all(run: Path) -> None:
    """What the standard library needs for the same files; one rank after the other, nothing is kept."""
    for path in sorted(run.rglob("*")):
        if path.suffix == ".json":
            harness.json_load(path)
        elif path.suffix == ".csv":
            with path.open(newline="") as file:
                list(csv.reader(file))


def main() -> int:
    """Run all; 1 when a bar falls short."""
    options = harness.arguments(__doc__)
    ranks = 8 if options.quick else RANKS
    unjudged = "not judged at this size" if options.quick else ""
    with harness.data_folder() as folder:
        run, cache = folder / f"ranks_{ranks}" / "run", folder / "ranks_cache"
        run.parent.mkdir(exist_ok=True)
        data = f"{ranks} ranks of {make(run, ranks) / 1e6:.1f} MB"
        shutil.rmtree(cache, ignore_errors=True)
        before = time.perf_counter()
        (base,) = harness.cpu_seconds(lambda: read_all(run), 1)
        base_wall = time.perf_counter() - before
        environment = {"TB_NPU_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
        ingest = [sys.executable, "-m", "tb_npu_plugin", "ingest", str(run.parent)]
        ours = harness.run(ingest, environment)
        assert ours.output.count(": ready") == ranks, ours.output
        view = harness.run([sys.executable, "-c", VIEW, str(run.parent)], environment)
        view_cpu, size, shown = view.output.split()
        assert int(shown) == ranks
        strips = harness.run([sys.executable, "-c", STRIPS, str(run.parent)], environment)
        strips_cpu, window, slowest, strips_size, drawn, kernels = map(float, strips.output.split())
        assert drawn == ranks
        rows_cpu = harness.run([sys.executable, "-c", ROWS, str(run.parent)], environment).output
        rows_median, rows_slowest = map(float, rows_cpu.split())
        cached = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file())
        shutil.rmtree(cache)
    how = f"json.load and csv of the same files take {base:.1f} s CPU, {base_wall:.1f} s, in one process"
    return harness.report(
        [
            Bar("all ranks, start to ready", ours.wall, SECONDS, "s", how, data=data, unjudged=unjudged),
            Bar("all ranks, peak memory", ours.anonymous / 1e9, BYTES / 1e9, "GB", "", data=data, unjudged=unjudged),
            Bar("all ranks, CPU", ours.cpu / base, None, "x", "json.load and csv", data=data),
            Bar("all ranks, cache", cached / ranks / 1e6, None, "MB", "of one rank", data=data),
            Bar(
                "view of all ranks, first answer, CPU",
                float(view_cpu),
                VIEW_SECONDS,
                "s",
                "",
                data=data,
                unjudged=unjudged,
            ),
            Bar("view of all ranks, size", int(size) / 1e6, None, "MB", "JSON", data=data),
            Bar("strips of all ranks, first window, CPU", strips_cpu, None, "s", "", data=f"{kernels:.0f} kernels"),
            Bar("strips of all ranks, a window, median CPU", window * 1000, None, "ms", "", data="1800 bins"),
            Bar(
                "strips of all ranks, a window, p99 CPU",
                slowest * 1000,
                WINDOW_MS,
                "ms",
                "200 random windows",
                data=data,
                unjudged=unjudged,
            ),
            Bar(
                "a stream of all ranks, a window, p99 CPU",
                rows_slowest * 1000,
                WINDOW_MS,
                "ms",
                f"200 random windows; median {rows_median * 1000:.1f} ms",
                data=data,
                unjudged=unjudged,
            ),
            Bar("strips of all ranks, size", strips_size / 1e6, None, "MB", "gzip", data="first window"),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
