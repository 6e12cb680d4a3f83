"""From start to a usable timeline, memory, cache, growth with the size, reopening; and what a viewport query costs.

A worker process is started as the server's pool starts one; usable is when the server's side can answer the full span.
Times are elapsed times, the best of some rounds: two cores are meant to be used. The viewport is asked of a real
TensorBoard over loopback: 5 M slices in 72 rows, any zoom.
"""

from __future__ import annotations

import gzip
import json
import random
import resource
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import harness, make_slices
from benchmarks.harness import Bar
from benchmarks.server import Server, tensorboard
from tb_npu_plugin.installation import SCANNER_VARIABLE

#: Sizes of the traces, MB: growth is told from the first to the last, memory is judged from JUDGED_FROM on, the time of
#: a start from TIMED_FROM on: below, what a process costs to start weighs too much.
SIZES = (100, 500, 1000, 2000)
JUDGED_FROM = 500
TIMED_FROM = 1000
#: json.load takes five times the file in memory: up to this size.
LOADED_UP_TO = 1000
#: Bars of --large: seconds until everything is read, anonymous memory in sizes of the file, at LARGE megabytes.
LARGE, LARGE_SECONDS, LARGE_MEMORY = 10_000, 70.0, 0.25
SLICES = 5_000_000
QUERIES = 300
WIDTH_PX = 1500


def usable(trace: Path, out: Path) -> dict[str, float]:
    """Seconds from the start of a worker to the answer of the full span, CPU seconds of the worker, bytes of the cache, seconds
    of reopening."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    from tb_npu_plugin.discovery.model import FoundFile
    from tb_npu_plugin.store.stages import TIMELINE_FOLDER, Request

    status = trace.stat()
    file = FoundFile(trace.name, status.st_size, status.st_mtime_ns)
    request = Request("trace", trace.parent, (file,), out)
    reopened(trace, out)  # the server has imported what it needs long before
    start = time.perf_counter()
    command = [sys.executable, "-m", "tb_npu_plugin.store.pool.worker"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdin and worker.stdout
        worker.stdin.write(json.dumps(request.as_json()) + "\n")
        worker.stdin.flush()
        answer: dict[str, Any] = {}
        while not {"meta", "failed"} & set(answer):
            answer = json.loads(worker.stdout.readline())
        if "failed" in answer or answer["meta"]["problems"]:
            raise RuntimeError(str(answer))
        reopened(trace, out)
        seconds = time.perf_counter() - start
        worker.stdin.close()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    cache = sum(path.stat().st_size for path in (out / TIMELINE_FOLDER).rglob("*"))
    return {
        "seconds": seconds,
        "cpu": usage.ru_utime + usage.ru_stime,
        "cache": cache,
        "reopen": min(reopened(trace, out) for _ in range(9)),
    }


def reopened(trace: Path, out: Path) -> float:
    """Seconds to open a timeline and make the payload of its full span; nothing where there is none."""
    from tb_npu_plugin.store.stages import TIMELINE_FOLDER
    from tb_npu_plugin.store.timeline.open import Timeline
    from tests.support.ask import EVERY_ROW, ask

    folder = out / TIMELINE_FOLDER
    if not folder.exists():
        return 0.0
    start = time.perf_counter()
    timeline = Timeline.open(folder, trace)
    span = timeline.end_ns - timeline.base_ns + 1
    gzip.compress(ask(timeline, "rows", t0=0, t1=span, px=span / WIDTH_PX, rows=EVERY_ROW), 1)
    return time.perf_counter() - start


def of_size(folder: Path, megabytes: float, rounds: int) -> dict[str, Any]:
    """Every figure of one size; `load`, `load_cpu`: elapsed and CPU seconds of json.load, of each round."""
    trace = harness.trace_file(folder, megabytes)
    out = folder / "timeline-out"
    command = [sys.executable, __file__, "--usable", str(trace), str(out)]
    harness.warm(trace)
    runs = [harness.run(command) for _ in range(rounds)]
    told = [json.loads(run.output) for run in runs]
    shutil.rmtree(out)
    is_loaded = megabytes <= LOADED_UP_TO
    load = harness.wall_seconds(lambda: harness.json_load(trace), 2) if is_loaded else []
    load_cpu = harness.cpu_seconds(lambda: harness.json_load(trace), 2) if is_loaded else []
    return {
        "megabytes": trace.stat().st_size / 1e6,
        "seconds": [one["seconds"] for one in told],
        "memory": max(run.anonymous for run in runs) / 1e6,
        "cache": told[0]["cache"] / 1e6,
        "reopen": min(one["reopen"] for one in told),
        "load": load,
        "cpu": [one["cpu"] for one in told],
        "load_cpu": load_cpu,
    }


def bars_of(found: dict[str, Any]) -> list[Bar]:
    """Bars of one size."""
    size = found["megabytes"]
    data, unjudged = f"{size:.0f} MB trace", "" if size >= JUDGED_FROM else f"not judged below {JUDGED_FROM} MB"
    untimed = "" if size >= 0.99 * TIMED_FROM else f"not judged below {TIMED_FROM} MB"
    out = []
    if found["load"]:
        for name, ours, base, limit in (
            ("start to usable", "seconds", "load", 0.2),
            ("CPU of the worker", "cpu", "load_cpu", 0.28),
        ):
            ratio = Bar.of_times(
                f"{name} / json.load", found[ours], found[base], limit, "json.load", data=data, unjudged=untimed
            )
            out.append(ratio)
    memory, cache, reopen = found["memory"] / size, found["cache"] / size, found["reopen"]
    out.append(Bar("peak anonymous memory of all processes / file", memory, 0.45, data=data, unjudged=unjudged))
    out.append(Bar("timeline's cache / file", cache, 0.5, data=data))
    out.append(Bar("reopen to the full-span payload", 1000 * reopen, 25, "ms", data=data))
    return out


def large(folder: Path, megabytes: float) -> list[Bar]:
    """A trace of that size, read once."""
    trace, out = harness.trace_file(folder, megabytes), folder / "timeline-out"
    harness.warm(trace)
    used = harness.run([sys.executable, __file__, "--usable", trace, out])
    shutil.rmtree(out)
    found = json.loads(used.output)
    data = f"{trace.stat().st_size / 1e6:.0f} MB trace"
    unjudged = "" if megabytes >= LARGE else f"not judged below {LARGE} MB"
    memory = used.anonymous / trace.stat().st_size
    return [
        Bar("start to usable", found["seconds"], LARGE_SECONDS, "s", data=data, unjudged=unjudged),
        Bar("CPU of the worker", found["cpu"], None, "s", data=data),
        Bar("peak anonymous memory of all processes / file", memory, LARGE_MEMORY, data=data, unjudged=unjudged),
    ]


def twin(folder: Path, megabytes: float) -> Bar:
    """Memory with the Python scanner."""
    trace, out = harness.trace_file(folder, megabytes), folder / "timeline-out"
    peak = harness.peak_memory([sys.executable, __file__, "--usable", trace, out], {SCANNER_VARIABLE: "python"})
    shutil.rmtree(out)
    unjudged = "" if megabytes >= JUDGED_FROM else f"not judged below {JUDGED_FROM} MB"
    name = "peak anonymous memory with the Python scanner / file"
    return Bar(name, peak / trace.stat().st_size, 0.75, data=f"{megabytes:g} MB trace", unjudged=unjudged)


def growth(found: list[dict[str, Any]], quick: bool) -> list[Bar]:
    """How time and memory of the largest compare with those of the smallest, both per byte."""
    small, large = found[0], found[-1]
    times = large["megabytes"] / small["megabytes"]
    data = f"{small['megabytes']:.0f} to {large['megabytes']:.0f} MB"
    unjudged = "not judged at these sizes" if quick else ""
    reopen = max(one["reopen"] for one in found) / min(one["reopen"] for one in found)
    return [
        Bar(
            "growth of time / linear",
            min(large["seconds"]) / min(small["seconds"]) / times,
            0.8,
            data=data,
            unjudged=unjudged,
        ),
        Bar("growth of memory / linear", large["memory"] / small["memory"] / times, 0.5, data=data, unjudged=unjudged),
        Bar("reopen, slowest / fastest size", reopen, 2.0, data=data, unjudged=unjudged),
    ]


def slices_logdir(folder: Path, slices: int) -> Path:
    """A folder with one rank of `slices` slices, made unless it is there."""
    logdir = folder / f"viewport-{slices}"
    output = logdir / "run" / "host_1_20260101000000000_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    if not output.exists():
        output.mkdir(parents=True)
        (output.parent / "profiler_info_0.json").write_text('{"config": {}, "rank_id": 0}')
        make_slices.write(output / "trace_view.json", slices)
    return logdir


def viewport(folder: Path, slices: int, queries: int) -> list[Bar]:
    """Random windows of all rows, through HTTP."""
    logdir = slices_logdir(folder, slices)
    with tensorboard(logdir, {"TB_NPU_CACHE_DIR": str(folder / "viewport-cache")}) as server:
        span = spans(server)
        trace = view(server, span)
        length, tracks = trace["end"], trace["processes"][0]["threads"]
        assert (trace["slices"], sum(one["rows"] for one in tracks)) == (slices // 72 * 72, make_slices.ROWS)
        rng, millis, sizes = random.Random(3), [], []
        for number in range(queries + 10):
            width = length if number % 10 == 0 else int(length * 10 ** rng.uniform(-6, 0)) + 1
            t0 = rng.randrange(max(1, length - width))
            params = {
                "span": span,
                "rows": f"0-{len(tracks) * 4096}",
                "t0": t0,
                "t1": t0 + width,
                "px": width / WIDTH_PX,
            }
            start = time.perf_counter()
            body = get(server, "timeline/slices", params)
            millis.append(1000 * (time.perf_counter() - start))
            sizes.append(len(body))
    millis, data = millis[10:], f"{slices} slices, {make_slices.ROWS} rows"  # the first ones warm up
    unjudged = "" if slices >= SLICES else "not judged at this size"
    rounds = {"queries": millis}
    return [
        Bar("viewport query, p99", harness.percentile(millis, 0.99), 15, "ms", "any zoom", rounds, data, unjudged),
        Bar("viewport query, p50", harness.percentile(millis, 0.5), None, "ms", data=data),
        Bar("viewport payload, largest", max(sizes) / 1000, 300, "kB", "as sent", data=data),
    ]


def get(server: Server, route: str, params: dict[str, Any]) -> bytes:
    """The body of an answer as it was sent."""
    url = f"{server.url}data/plugin/npu_profiler/api/{route}?{urllib.parse.urlencode(params)}"
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept-Encoding": "gzip"}), timeout=60) as answer:
        return bytes(answer.read())


def asked(server: Server, route: str, params: dict[str, Any]) -> Any:
    """A JSON answer."""
    body = get(server, route, params)
    return json.loads(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)


def spans(server: Server) -> str:
    """The id of the only span, when it is listed."""
    while True:
        try:
            return str(asked(server, "catalog", {})["runs"][0]["workers"][0]["spans"][0]["id"])
        except (IndexError, urllib.error.URLError):
            time.sleep(0.1)


def view(server: Server, span: str) -> Any:
    """TraceJson when all is read."""
    while True:
        found = asked(server, "view/trace", {"span": span})
        if found["state"] == "ready":
            return found["data"]
        if found["state"] != "reading":
            raise RuntimeError(str(found))
        time.sleep(0.2)


def main() -> int:
    if sys.argv[1:2] == ["--usable"]:
        print(json.dumps(usable(Path(sys.argv[2]), Path(sys.argv[3]))))
        return 0
    options = harness.arguments(
        __doc__,
        ("--sizes", {"type": float, "nargs": "+", "default": SIZES, "help": "MB, ascending, two or more"}),
        ("--no-viewport", {"action": "store_true"}),
        ("--large", {"type": float, "help": "MB of a trace that is read once; nothing else is measured"}),
    )
    with harness.data_folder() as folder:
        if options.large:
            return harness.report(large(folder, options.large))
        sizes = (10, 40) if options.quick else options.sizes
        found = [of_size(folder, size, 3) for size in sizes]
        bars = [bar for one in found for bar in bars_of(one)]
        bars += [twin(folder, sizes[1]), *growth(found, options.quick)]
        if not options.no_viewport:
            bars += viewport(folder, 200_000 if options.quick else SLICES, 50 if options.quick else QUERIES)
        return harness.report(bars)


if __name__ == "__main__":
    sys.exit(main())
