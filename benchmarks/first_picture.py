"""From opening the page to the first slices on the canvas, for traces of 20 MB to 1 GB that nobody has read before.

A fresh TensorBoard with an empty cache and a fresh Chromium for each round. The page is opened PAUSE_S after TensorBoard
printed its address, and once more as soon as it did: then both start at the same time. Time runs in the browser, from the
navigation to the first frame that draws a slice; it is elapsed time, so the machine must be quiet. The trace itself is in
the page cache. `--sizes 10000` for 10 GB.

Of that time, TensorBoard takes the first part: it loads its own page, asks for the list of plugins and makes a frame for
the plugin that is shown. The plugin's share begins when that frame does. Both are mostly CPU time of the same browser and
server, so their ratio holds on a busy machine, too.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.sync_api import sync_playwright

from benchmarks import harness
from benchmarks.frames import LIMIT_MS, SIZE
from benchmarks.harness import Bar
from benchmarks.peer import CHROMIUM, FLAGS
from benchmarks.server import tensorboard

#: MB -> rounds.
SIZES = (20, 100, 400, 1000)
ROUNDS = 3
LIMIT_S = 1.5
PAUSE_S = 3.0
#: MB of the trace of the page that is opened at once.
AT_ONCE = 100
#: The plugin's share / what TensorBoard's page takes before.
SHARE = 0.45
#: In every frame of the page: `firstSlices`, the ms from the page's navigation to the first rows of bars that are drawn
#: with a slice. Slices are coloured; everything else in that picture is nearly grey. Each 13th pixel is looked at: all of
#: them would take 30 ms of the page's time.
WATCH = """
(() => {
  const put = CanvasRenderingContext2D.prototype.putImageData;
  CanvasRenderingContext2D.prototype.putImageData = function (image, ...rest) {
    if (this.canvas.className === "tl-base" && window.firstSlices === undefined) {
      for (let at = 0; at < image.data.length; at += 4 * 13) {
        const [red, green, blue] = [image.data[at], image.data[at + 1], image.data[at + 2]];
        if (Math.max(red, green, blue) - Math.min(red, green, blue) < 40) continue;
        window.firstSlices = performance.timeOrigin + performance.now() - window.top.performance.timeOrigin;
        break;
      }
    }
    put.call(this, image, ...rest);
  };
})();
"""


def first_slices(logdir: Path, cache: Path, pause: float) -> tuple[float, float]:
    """Seconds from the navigation to the start of the plugin's frame, and from there to the first slices."""
    with tensorboard(logdir, {"TB_NPU_CACHE_DIR": str(cache)}) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        page.set_default_timeout(LIMIT_MS)
        page.add_init_script(WATCH)
        time.sleep(pause)
        page.goto(f"{server.url}#npu_profiler&p.npu_profiler.view=trace", wait_until="commit")
        inside = page.frame_locator('iframe[src*="name=npu_profiler"]').locator("body")
        whole, start = inside.evaluate(
            "() => new Promise(done => { const look = () => window.firstSlices === undefined"
            " ? requestAnimationFrame(look) : done([window.firstSlices,"
            " performance.timeOrigin - window.top.performance.timeOrigin]); look(); })"
        )
        browser.close()
    return start / 1000, (whole - start) / 1000


def of_size(data: Path, megabytes: float, pause: float, rounds: int, unjudged: str) -> list[Bar]:
    """The whole and the plugin's share of it."""
    with tempfile.TemporaryDirectory(dir=data) as name:
        folder = Path(name)
        output = folder / "logs" / "run" / "host_1_20260101000000000_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
        output.mkdir(parents=True)
        (output.parent / "profiler_info_0.json").write_text('{"config": {}, "rank_id": 0}')
        trace = harness.trace_file(data, megabytes)
        os.link(trace, output / "trace_view.json")
        found = []
        for number in range(rounds):
            harness.warm(trace)
            cache = folder / f"cache{number}"
            found.append(first_slices(folder / "logs", cache, pause))
            shutil.rmtree(cache)
    if not os.environ.get(harness.DATA_VARIABLE):
        trace.unlink()  # the largest ones do not fit beside each other everywhere
    pages, ours = [list(each) for each in zip(*found)]
    wholes = [page + own for page, own in found]
    on = f"{megabytes:g} MB trace" + ("" if pause else ", opened at once")
    return [
        Bar("first slices", harness.percentile(wholes, 0.5), LIMIT_S, "s", "", {"rounds": wholes}, on, unjudged),
        Bar.of_times("the plugin's share", ours, pages, SHARE, "TensorBoard's page", data=on, unjudged=unjudged),
    ]


def main() -> int:
    """Measure all sizes; 1 when a bar falls short."""
    options = harness.arguments(
        __doc__, ("--sizes", {"type": float, "nargs": "+", "default": SIZES, "help": "MB of the traces"})
    )
    if CHROMIUM is None:
        harness.remark("Not measured: no Chromium here (tools/ensure_chromium.sh installs one).")
        return 0
    sizes, rounds = ((2, 20), 1) if options.quick else (options.sizes, ROUNDS)
    unjudged = "not judged with one round" if options.quick else ""
    with harness.data_folder() as data:
        cases = [(size, PAUSE_S) for size in sizes] + [(AT_ONCE, 0.0)] * (not options.quick)
        return harness.report([bar for size, pause in cases for bar in of_size(data, size, pause, rounds, unjudged)])


if __name__ == "__main__":
    sys.exit(main())
