"""Routes of the Trace view at scale: one rank of 20 M and of 100 M slices, 64 ranks of 1 M slices each.

make_store.py writes the timelines. They replace those of small traces that were read before. A separate process calls the
routes, without a network. Windows are measured as CPU time from the request to the compressed answer; all files are in the
page cache. Each window is asked for ROUNDS times. The first time, the process maps the pages that it reads, and the machine may read
them anew if it needed their memory; these times are a line without a bar. The bar is for the least of a window's times: some of a
shared machine's are ten times as long as the next of the same window. The time to stop begins when the client closes its connection while the answer is made.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))

from werkzeug.test import Client

from benchmarks import harness, make_slices, make_store
from benchmarks.harness import Bar
from benchmarks.process_memory import TreeMemory
from tb_npu_plugin.discovery.watch import Watcher
from tb_npu_plugin.server.app import App
from tb_npu_plugin.store.cache.disk import Cache
from tb_npu_plugin.store.library import Library
from tb_npu_plugin.store.stages import STAGES, TIMELINE_FOLDER

#: Ranks and slices of each; limits of the viewport's p99 in ms of CPU time.
SHAPES = ((1, 20_000_000, 12.0), (1, 100_000_000, 12.0), (64, 1_000_000, 33.0))
QUICK = ((1, 200_000, 12.0), (4, 20_000, 33.0))
QUERIES, WARM_UP, ROUNDS, WIDTH_PX = 300, 30, 3, 1500
#: Rows that a page with many ranks has in sight; each request is about that many in all.
ROWS_IN_SIGHT = 72
#: Limits: MB of memory that an answer takes; ms from the client's end to the end of the work.
MEMORY_MB = {"statistics": 380.0, "search": 50.0}
STOP_MS = 120.0
#: When the client goes, in seconds after the request.
GONE_AFTER_S = 0.05
#: Parameters of a request.
Params = dict[str, Any]


def served(folder: Path, ranks: int, slices: int) -> Path:
    """A logdir of `ranks` ranks, each read into the cache with a timeline of `slices` slices."""
    logdir = folder / f"scale-{ranks}-{slices}"
    run = logdir / "run"
    for rank in range(ranks):
        output = run / f"host_{rank + 1}_20260101000000000_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
        if not output.exists():
            output.mkdir(parents=True)
            (output.parent / f"profiler_info_{rank}.json").write_text(f'{{"config": {{}}, "rank_id": {rank}}}')
            make_slices.write(output / "trace_view.json", make_slices.ROWS, rank)
            for path in (output.parent / f"profiler_info_{rank}.json", output / "trace_view.json"):
                os.utime(path, (1e9, 1e9))  # long settled
    watcher = Watcher({"": logdir}, background=False)
    library = Library(watcher, Cache(folder / "scale-cache"))
    places = list(watcher.update().places())
    library.read(places, STAGES)
    for rank, place in enumerate(places):
        entry = library.status(place, "trace").entry
        assert entry is not None
        store = make_store.made(folder / f"store-{slices}-{rank}", slices, rank)
        for path in store.iterdir():
            harness.warm(path)
        if (entry.folder / TIMELINE_FOLDER).is_symlink():
            continue
        shutil.rmtree(entry.folder / TIMELINE_FOLDER)
        (entry.folder / TIMELINE_FOLDER).symlink_to(store.absolute())
        sizes = {name: size for name, size in entry.meta["sizes"].items() if not name.startswith(TIMELINE_FOLDER)}
        (entry.folder / "meta.json").write_text(json.dumps({**entry.meta, "sizes": sizes}))
    library.close()
    return logdir


@dataclass
class Site:
    """The plugin's application over a logdir of `served`. sources: span and version of each rank."""

    client: Client
    sources: list[dict[str, Any]]
    length: int
    tracks: int

    @staticmethod
    def open(folder: Path, logdir: Path) -> Site:
        """Open all ranks."""
        watcher = Watcher({"": logdir}, background=False)
        (run,) = watcher.update().runs
        client = Client(App(watcher, Library(watcher, Cache(folder / "scale-cache"))).serve)
        tokens = [worker.spans[0].token for worker in run.workers]
        answers = [client.get(f"/api/view/trace?span={token}").data for token in tokens]
        views = [json.loads(answer)["data"] for answer in answers]
        sources = [{"span": token, "version": view["version"]} for token, view in zip(tokens, views)]
        return Site(client, sources, views[0]["end"], len(views[0]["processes"][0]["threads"]))

    def get(self, route: str, params: Params, connection: socket.socket | None = None) -> bytes:
        """The body of an answer as it is sent. connection: the server's end of the client's connection."""
        environ = {"werkzeug.socket": connection} if connection else {}
        url = f"/api/timeline/{route}?{urlencode({'query': json.dumps(params)})}"
        answer = self.client.get(url, headers={"Accept-Encoding": "gzip"}, environ_overrides=environ)
        return bytes(answer.data)

    def window(self, rng: random.Random, number: int) -> Params:
        """Parameters of a random window: of all rows of one rank, or of the first rows of all ranks."""
        width = self.length if number % 10 == 0 else int(self.length * 10 ** rng.uniform(-6, 0)) + 1
        t0 = rng.randrange(max(1, self.length - width))
        tracks = max(1, min(self.tracks, ROWS_IN_SIGHT // 2 // len(self.sources)))
        rows = [[track, 0, 4095] for track in range(tracks)]
        sources = [{**one, "rows": rows} for one in self.sources]
        return {"sources": sources, "t0": t0, "t1": t0 + width, "px": width / WIDTH_PX}

    def everything(self) -> Params:
        """Parameters of a request about the whole time of the first rank."""
        return {"sources": self.sources[:1], "t0": 0, "t1": self.length + 1}


@dataclass
class Work:
    """What an answer took. Seconds and bytes."""

    cpu: float = 0.0
    memory: int = 0  #: peak of anonymous memory while it was made, less that before
    stopped: list[float] = field(default_factory=list)  #: from the client's end to the end of the work, of each round


def work(site: Site, route: str, params: Params) -> Work:
    """Ask once to the end, then three times with a client that goes."""
    found = Work()
    with TreeMemory(os.getpid()) as before:
        time.sleep(0.1)
    with TreeMemory(os.getpid()) as memory:
        start = time.process_time()
        assert len(site.get(route, params)) > 100
        found.cpu = time.process_time() - start
    found.memory = max(0, memory.anonymous - before.anonymous)
    for _ in range(3):
        ours, theirs = socket.socketpair()
        gone: list[float] = []

        def go(client: socket.socket = theirs, at: list[float] = gone) -> None:
            client.close()
            at.append(time.perf_counter())

        timer = threading.Timer(GONE_AFTER_S, go)
        timer.start()
        site.get(route, params, ours)
        end = time.perf_counter()
        timer.join()
        ours.close()
        found.stopped.append(max(0.0, end - gone[0]))
    return found


def measured(folder: Path, logdir: Path, queries: int) -> dict[str, Any]:
    """All figures of a logdir."""
    site, rng = Site.open(folder, logdir), random.Random(3)
    for number in range(WARM_UP):
        site.get("rows", site.window(rng, number))
    windows = [site.window(rng, number) for number in range(queries)]
    rounds: list[list[float]] = []
    sizes = []
    for _ in range(ROUNDS):
        rounds.append([])
        for params in windows:
            start = time.process_time()
            sizes.append(len(site.get("rows", params)))
            rounds[-1].append(1000 * (time.process_time() - start))
    searched: Params = {"q": "op_1", "sources": [{**one, "zero": str(make_slices.BASE_NS)} for one in site.sources]}
    found = {"statistics": work(site, "stats", site.everything()), "search": work(site, "search", searched)}
    return {
        "first": rounds[0],
        "least": [min(times) for times in zip(*rounds)],
        "size": max(sizes),
        **{name: vars(one) for name, one in found.items()},
    }


def bars(found: Mapping[str, Any], limit: float, data: str, unjudged: str) -> list[Bar]:
    """Bars of one logdir."""
    least, first = found["least"], found["first"]
    p99 = harness.percentile(least, 0.99)
    how = f"any zoom, the least of {ROUNDS} rounds"
    out = [
        Bar("viewport, p99 CPU", p99, limit, "ms", how, {"queries": least}, data, unjudged),
        Bar("viewport, p50 CPU", harness.percentile(least, 0.5), None, "ms", data=data),
        Bar(
            "viewport, first round, p99 CPU", harness.percentile(first, 0.99), None, "ms", "", {"queries": first}, data
        ),
        Bar("viewport payload, largest", found["size"] / 1000, 300, "kB", "as sent", data=data),
    ]
    for name in MEMORY_MB:
        one = found[name]
        stopped = {"stopped": [1000 * seconds for seconds in one["stopped"]]}
        out += [
            Bar(f"{name}, CPU", one["cpu"], None, "s", data=data),
            Bar(f"{name}, memory", one["memory"] / 1e6, MEMORY_MB[name], "MB", data=data, unjudged=unjudged),
            Bar(
                f"{name}, time to stop",
                1000 * max(one["stopped"]),
                STOP_MS,
                "ms",
                "",
                stopped,
                data,
                unjudged,
            ),
        ]
    return out


def main() -> int:
    """Run all; 1 when a bar falls short."""
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measured(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))))
        return 0
    options = harness.arguments(__doc__)
    unjudged = "not judged at this size" if options.quick else ""
    out = []
    with harness.data_folder() as folder:
        for ranks, slices, limit in QUICK if options.quick else SHAPES:
            logdir = served(folder, ranks, slices)
            queries = 20 if options.quick else QUERIES
            command = [sys.executable, __file__, "--measure", str(folder), str(logdir), str(queries)]
            data = f"{ranks} x {slices} slices"
            out += bars(json.loads(harness.run(command).output), limit, data, unjudged)
    return harness.report(out)


if __name__ == "__main__":
    sys.exit(main())
