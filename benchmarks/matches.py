"""Cost of a search with many hits: CPU time of the page's main thread from a click on the hits until their first rows are there,
and memory that the list takes, in a real browser.

Two traces of one rank: 10,240 and 100,000 slices of one name. The figures are those of Chromium's DevTools: CPU time of the main
thread's tasks, and the JavaScript heap after a garbage collection, before the click and with the list open.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.sync_api import CDPSession, sync_playwright

from benchmarks import harness
from benchmarks.frames import LIMIT_MS, SIZE, opened
from benchmarks.harness import Bar
from benchmarks.peer import CHROMIUM, FLAGS
from benchmarks.server import Server, tensorboard
from benchmarks.timeline import asked

HITS = (10_240, 100_000)
NAME = "needle"
RESULT = Path("node0_31780_20250615070000123_ascend_pt") / "ASCEND_PROFILER_OUTPUT"


def make(folder: Path, hits: int) -> Path:
    """A folder of runs with one: a rank with so many slices of one name."""
    output = folder / f"matches_{hits}" / "run" / RESULT
    output.mkdir(parents=True, exist_ok=True)
    names = [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "Python"}}]
    slices = [{"ph": "X", "name": NAME, "pid": 1, "tid": 1, "ts": f"{1000 + i}.000", "dur": 0.5} for i in range(hits)]
    (output / "trace_view.json").write_text(json.dumps([*names, *slices]))
    return folder / f"matches_{hits}"


def figures(devtools: CDPSession) -> tuple[float, float]:
    """CPU seconds of the main thread's tasks so far, and MB of the JavaScript heap."""
    found = {one["name"]: float(one["value"]) for one in devtools.send("Performance.getMetrics")["metrics"]}
    return found["TaskDuration"], found["JSHeapUsedSize"] / 1e6


def measure(server: Server) -> tuple[float, float, int]:
    """CPU seconds until the first rows, MB that the heap grew by, rows in the document."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        page.set_default_timeout(LIMIT_MS)
        opened(page, server, {"trace.q": NAME})
        inside = page.frame_locator('iframe[src*="name=npu_profiler"]')
        hits = inside.locator(".trace-place .link")
        hits.wait_for()
        devtools = page.context.new_cdp_session(page)
        devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        devtools.send("HeapProfiler.collectGarbage")
        cpu, heap = figures(devtools)
        hits.click()
        rows = inside.locator('[data-table="timeline.hits"] .data-row.body')
        rows.filter(has_text=NAME).first.wait_for()
        first, _ = figures(devtools)
        page.wait_for_timeout(3000)
        devtools.send("HeapProfiler.collectGarbage")
        _, grown = figures(devtools)
        count = rows.count()
        browser.close()
    return first - cpu, grown - heap, count


def main() -> int:
    """Measure both; 1 when a bar falls short."""
    options = harness.arguments(__doc__)
    if CHROMIUM is None:
        harness.remark("Not measured: no Chromium here (tools/ensure_chromium.sh installs one).")
        return 0
    bars = []
    with harness.data_folder() as folder:
        for hits in HITS[:1] if options.quick else HITS:
            with tensorboard(make(folder, hits), {"TB_NPU_CACHE_DIR": str(folder / "matches-cache")}) as server:
                asked(server, "catalog", {})
                cpu, heap, rows = measure(server)
            how = f"{rows} rows in the document"
            bars.append(Bar(f"first rows of {hits} hits, CPU", cpu, 0.3, "s", how))
            bars.append(Bar(f"heap of the list of {hits} hits", heap, 20, "MB", how))
    return harness.report(bars)


if __name__ == "__main__":
    sys.exit(main())
