"""CPU time of the page's main thread per frame, while the Trace view moves and zooms by keys, in a real browser; and memory
of the page's process in use.

One rank of 5 M slices; 8 unfolded ranks; 64 folded ranks. Chromium's trace gives the CPU time of each task of the main
thread, so other programs on the machine do not count: all tasks of some seconds, decoding of answers included, over the
number of frames. Memory is RssAnon of the page's process, every 40 random actions (keys, wheel, zoom by wheel, fit). There
are about ten actions a second, sent as DevTools' input alone (benchmarks/devtools.py says why). The memory of an empty page
is printed beside it. `--actions 6000` takes ten minutes.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.sync_api import Page, sync_playwright

from benchmarks import harness, ranks
from benchmarks.devtools import CONTROL, Chromium, chromium
from benchmarks.harness import Bar
from benchmarks.peer import CHROMIUM, FLAGS, TWO_FRAMES
from benchmarks.process_memory import memory
from benchmarks.server import Server, tensorboard
from benchmarks.timeline import SLICES, asked, slices_logdir, view

CATEGORIES = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"]
SIZE = {"width": 1400, "height": 1000}
#: Keys that are held down, with the time in ms: in, right, left, out.
MOVES = (("w", 1500), ("d", 2000), ("a", 2000), ("s", 1500))
LIMIT_MS = 300_000
#: Between two actions.
ACTION_S = 0.05
#: Left, top, width and height of the timeline when it is drawn; it gets the focus.
PLACE = """(() => {
  const frame = document.querySelector('iframe[src*="name=npu_profiler"]');
  const timeline = frame?.contentDocument.querySelector(".view-frame[data-state=ready] .tl[data-ready=yes]");
  if (!timeline) return null;
  timeline.focus();
  const [outer, inner] = [frame.getBoundingClientRect(), timeline.getBoundingClientRect()];
  return [outer.x + inner.x, outer.y + inner.y, inner.width, inner.height];
})()"""


def frame_cpu(events: Iterable[Mapping[str, Any]]) -> tuple[float, int]:
    """CPU ms of the tasks of the main thread that draws the page per frame, and number of frames."""
    frames: Counter[tuple[int, int]] = Counter()
    cpu: Counter[tuple[int, int]] = Counter()
    for event in events:
        thread = event["pid"], event["tid"]
        if event["name"] == "FireAnimationFrame":
            frames[thread] += 1
        elif event["name"] == "RunTask":
            cpu[thread] += event.get("tdur", 0)
    ((thread, count),) = frames.most_common(1)
    return cpu[thread] / count / 1000, count


def opened(page: Page, server: Server, params: Mapping[str, str]) -> None:
    """Open the Trace view and wait until all rows and strips are drawn."""
    query = "".join(f"&p.npu_profiler.{name}={value}" for name, value in params.items())
    page.goto(f"{server.url}#npu_profiler&p.npu_profiler.view=trace{query}")
    inside = page.frame_locator('iframe[src*="name=npu_profiler"]')
    inside.locator(".view-frame[data-state=ready] .tl[data-ready=yes]").wait_for()
    if "trace.ranks" in params:
        inside.locator(".rank-strips[data-ready=yes]").wait_for()
        for note in inside.get_by_text("loading this rank").all():
            note.wait_for(state="detached")
    inside.locator(".tl[data-ready=yes]").wait_for()
    inside.locator("body").evaluate(TWO_FRAMES)
    inside.locator(".tl").focus()


def measure(server: Server, params: Mapping[str, str], folder: Path) -> tuple[float, int, float]:
    """CPU ms per frame, number of frames, requests per second of moving."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        page.set_default_timeout(LIMIT_MS)
        opened(page, server, params)
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url) if "/api/timeline/" in request.url else None)
        out = folder / "frames.json"
        browser.start_tracing(page=page, path=out, categories=CATEGORIES)
        for key, ms in MOVES:
            page.keyboard.down(key)
            page.wait_for_timeout(ms)
            page.keyboard.up(key)
        browser.stop_tracing()
        browser.close()
    events = json.loads(out.read_text())["traceEvents"]
    out.unlink()
    return *frame_cpu(events), len(requests) / sum(ms for _, ms in MOVES) * 1000


def page_memory(server: Server, actions: int) -> tuple[list[float], float, float]:
    """MB of the page's process during `actions`, after a garbage collection at their end, and of an empty page."""
    rng, found = random.Random(5), []
    assert CHROMIUM
    with chromium(CHROMIUM, FLAGS) as browser:
        browser.open_page(SIZE)
        time.sleep(1)
        empty = {one: anonymous_megabytes(one) for one in browser.renderers()}
        browser.send("Page.navigate", url=f"{server.url}#npu_profiler&p.npu_profiler.view=trace")
        left, top, width, height = browser.wait_for(PLACE, LIMIT_MS / 1000)
        process = max(browser.renderers(), key=anonymous_megabytes)
        for number in range(actions):
            x = left + rng.uniform(240, width - 20)
            y = top + rng.uniform(80, height - 20)
            browser.move(x, y)
            act(browser, rng, x, y)
            time.sleep(ACTION_S)
            if number % 40 == 39:
                found.append(anonymous_megabytes(process))
        browser.send("HeapProfiler.collectGarbage")
        time.sleep(1)
        collected = anonymous_megabytes(process)
    return found, collected, empty.get(process, 0.0)


def act(browser: Chromium, rng: random.Random, x: float, y: float) -> None:
    """Zoom or move by a key, zoom by the wheel, scroll or show everything."""
    kind = rng.random()
    if kind < 0.35:
        browser.press(rng.choice("wsad"))
    elif kind < 0.6:
        browser.wheel(x, y, rng.choice([-240, 240, -240]), CONTROL)
    elif kind < 0.9:
        browser.wheel(x, y, rng.choice([-300, 300]))
    else:
        browser.press("f")


def anonymous_megabytes(process: int) -> float:
    """RssAnon; 0 if the process has ended."""
    return (memory(process) or {}).get("RssAnon", 0) / 1e6


def bar(name: str, limit: float, data: str, found: tuple[float, int, float], unjudged: str) -> Bar:
    cpu, frames, requests = found
    how = f"{frames} frames, {requests:.1f} requests a second"
    return Bar(name, cpu, limit, "ms", how, data=data, unjudged=unjudged)


def main() -> int:
    """Run all; 1 when a bar falls short."""
    options = harness.arguments(__doc__, ("--actions", {"type": int, "default": 600, "help": "of the memory"}))
    if CHROMIUM is None:
        harness.remark("Not measured: no Chromium here (tools/ensure_chromium.sh installs one).")
        return 0
    slices, count = (200_000, 8) if options.quick else (SLICES, ranks.RANKS)
    unjudged = "not judged at this size" if options.quick else ""
    bars = []
    with harness.data_folder() as folder:
        environment = {"TB_NPU_CACHE_DIR": str(folder / "frames-cache")}
        with tensorboard(slices_logdir(folder, slices), environment) as server:
            (run,) = asked(server, "catalog", {})["runs"]
            view(server, run["workers"][0]["spans"][0]["id"])
            bars.append(
                bar("frame of one rank, CPU", 7, f"{slices} slices, 72 rows", measure(server, {}, folder), unjudged)
            )
            actions = 80 if options.quick else options.actions
            used, collected, empty = page_memory(server, actions)
            how = (
                f"median of {len(used)} samples, most {max(used):.0f} MB, last {used[-1]:.0f} MB, "
                f"after a garbage collection {collected:.0f} MB, an empty page {empty:.0f} MB"
            )
            median = harness.percentile(used, 0.5)
            data = f"{slices} slices, {actions} actions"
            bars.append(Bar("memory of the page", median, 250, "MB", how, data=data, unjudged=unjudged))
        run_folder = folder / f"ranks_{count}" / "run"
        run_folder.parent.mkdir(exist_ok=True)
        ranks.make(run_folder, count)
        with tensorboard(run_folder.parent, environment) as server:
            (run,) = asked(server, "catalog", {})["runs"]
            spans = [worker["spans"][0]["id"] for worker in run["workers"]]
            for span in spans:
                view(server, span)
            of = {"run": run["id"], "span": spans[0], "trace.ranks": "all"}
            bars.append(bar(f"frame of {count} folded ranks, CPU", 8, "", measure(server, of, folder), unjudged))
            unfolded = {**of, "trace.ranks": ".".join(spans[:8]), "trace.unfolded": ".".join(spans[1:8])}
            data = "8 traces of 4 MB"
            bars.append(bar("frame of 8 unfolded ranks, CPU", 16, data, measure(server, unfolded, folder), unjudged))
    return harness.report(bars)


if __name__ == "__main__":
    sys.exit(main())
