"""Ours beside torch-tb-profiler-ascend, the plugin that it replaces: start to the trace on the screen, and memory.

Both open the same folders in a TensorBoard of their own, each in its own environment (the old one is installed from the
package registry into a folder of the benchmark; where that fails nothing is measured and the reason is told). A fresh
Chromium opens the Trace view. Time runs from the start of the TensorBoard process until the viewer holds the whole
trace and two frames were drawn after that. The old plugin's page is opened once its server lists the run, so that the
10 s in which its page asks again cost it nothing. Memory is the peak of RssAnon + RssShmem of TensorBoard with all its
workers; that of the browser's processes stands beside it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.sync_api import Error as BrowserError
from playwright.sync_api import Frame, Page, sync_playwright

from benchmarks import make_ranks
from benchmarks.harness import arguments, data_folder, remark, spread, table, trace_file, warm
from benchmarks.process_memory import TreeMemory
from benchmarks.server import Server, tensorboard

OLD, OLD_VERSION = "torch-tb-profiler-ascend", "0.4.0.11"
#: Megabytes of trace_view.json -> rounds.
SIZES, QUICK_SIZES = {2: 3, 20: 3, 100: 2, 400: 1, 1000: 1}, {2: 1, 20: 1}
LIMIT_S = 300.0
RUN = "run"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run", "--disable-sync"]
IMPORTED = (
    "() => { const view = document.getElementById('trace-viewer'); return view?.model?.bounds.isEmpty === false }"
)
TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))"


class GaveUpError(Exception):
    """The trace does not get on the screen; the text says why."""


@dataclass
class Shown:
    """One opening. Seconds since the start of TensorBoard, bytes; None: it never came so far."""

    listed: float | None = None  #: the server lists the run
    first: float | None = None  #: a first part of the trace is on the screen
    whole: float | None = None
    memory: int = 0
    browser: int = 0
    gave_up: str = ""


def open_old(page: Page, server: Server, shown: Shown) -> None:
    """Choose Trace in the sidebar and wait for the embedded viewer."""
    base, end = f"{server.url}data/plugin/pytorch_profiler", server.started + LIMIT_S
    while RUN not in fetched(f"{base}/runs")["runs"]:
        if time.perf_counter() > end:
            raise GaveUpError(f"the run is not listed after {LIMIT_S:.0f} s")
        time.sleep(0.02)
    shown.listed = time.perf_counter() - server.started
    views = fetched(f"{base}/views?run={RUN}")["views"]
    if "Trace" not in views:
        raise GaveUpError(f"no Trace view, only {', '.join(views)}")
    page.goto(f"{server.url}#pytorch_profiler")
    inside = page.frame_locator('iframe[src*="name=pytorch_profiler"]')
    inside.get_by_role("button", name=views[0]).first.click()
    inside.get_by_role("option", name="Trace").click()
    viewer = awaited(lambda: next((frame for frame in page.frames if "trace_embedding" in frame.url), None), page, end)
    viewer.wait_for_function(IMPORTED, timeout=(end - time.perf_counter()) * 1000, polling=50)
    viewer.evaluate(TWO_FRAMES)
    shown.whole = time.perf_counter() - server.started


def open_ours(page: Page, server: Server, shown: Shown) -> None:
    """Open the address of the Trace view and wait until the timeline is at rest."""
    page.goto(f"{server.url}#npu_profiler&p.npu_profiler.view=trace")
    inside = page.frame_locator('iframe[src*="name=npu_profiler"]')
    failed = inside.locator(".view-frame[data-state=failed], .view-frame[data-state=error]")
    drawn = inside.locator(".tl[data-ready=yes]").or_(failed)
    complete = inside.locator(".view-frame[data-state=ready] .tl[data-ready=yes]").or_(failed)
    drawn.first.wait_for()
    shown.first = time.perf_counter() - server.started
    complete.first.wait_for()
    inside.locator("body").evaluate(
        TWO_FRAMES
    )  # it may have been the picture of the part: the next one is asked for now
    complete.first.wait_for()
    if failed.count():
        raise GaveUpError(failed.first.inner_text())
    shown.whole = time.perf_counter() - server.started


def awaited(found: Callable[[], Frame | None], page: Page, end: float) -> Frame:
    """The frame, once it is there."""
    while time.perf_counter() < end:
        if frame := found():
            return frame
        page.wait_for_timeout(20)
    raise GaveUpError(f"no viewer after {LIMIT_S:.0f} s")


def fetched(url: str) -> dict[str, list[str]]:
    with urllib.request.urlopen(url, timeout=LIMIT_S) as answer:
        content: dict[str, list[str]] = json.load(answer)
        return content


def show(opening: Callable[[Page, Server, Shown], None], logdir: Path, python: Path | str, cache: Path) -> Shown:
    """Open the folder once, in a fresh TensorBoard and a fresh browser."""
    shown = Shown()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(LIMIT_S * 1000)
        with (
            tensorboard(logdir, {"TB_NPU_CACHE_DIR": str(cache)}, python) as server,
            TreeMemory(server.process.pid) as ours,
            TreeMemory(os.getpid(), lambda command: "chrom" in command.partition(" ")[0]) as browsers,
        ):
            try:
                opening(page, server, shown)
            except (BrowserError, GaveUpError, OSError) as error:
                shown.gave_up = "; ".join([str(error).splitlines()[0], *complaints(server, logdir)])
        shown.memory, shown.browser = ours.anonymous, browsers.anonymous
        browser.close()
    return shown


def complaints(server: Server, logdir: Path) -> list[str]:
    """Warnings and errors that TensorBoard printed, without time and place."""
    said = re.findall(r"^(?:[WE]\d{4} .*?\] |(?=\w+Error: ))(.+)", server.said(200), re.M)
    return list(dict.fromkeys(line.replace(f"{logdir}/", "") for line in said if "Content-Security" not in line))[:3]


def install(folder: Path) -> Path:
    """A Python with the old plugin and a TensorBoard as new as ours, in `folder` (made unless it is there).

    Raises:
        subprocess.CalledProcessError: pip could not install it.
    """
    python = folder / "bin" / "python"
    wanted = [f"{OLD}=={OLD_VERSION}", f"tensorboard=={version('tensorboard')}"]
    if not (folder / "installed").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted],
            check=True,
            capture_output=True,
            text=True,
        )
        (folder / "installed").touch()
    return python


def versions(python: Path) -> str:
    """What the old plugin runs with."""
    code = "from importlib.metadata import version; print(version('tensorboard'), version('pandas'), version('numpy'))"
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def measure(data: Path, old: Path, megabytes: int, rounds: int) -> list[list[str]]:
    """Two rows of the table: old and ours on one rank with a trace of this size."""
    rows = []
    with tempfile.TemporaryDirectory(dir=data) as folder:
        logdir = Path(folder) / "logs"
        make_ranks.write_rank(logdir / RUN, 0, trace=trace_file(data, megabytes))
        for name, opening, python in (("old", open_old, str(old)), ("ours", open_ours, sys.executable)):
            results = []
            for number in range(rounds):
                for path in logdir.rglob("*.*"):
                    if path.is_file():
                        warm(path)
                results.append(show(opening, logdir, python, Path(folder) / f"cache{number}"))
                if results[-1].gave_up:
                    break
            rows.append(row(megabytes, name, results))
            print("  " + "  ".join(rows[-1]), flush=True)
    return rows


def row(megabytes: int, name: str, results: list[Shown]) -> list[str]:
    """The texts of one row; every round is in it."""

    def times(moments: list[float | None]) -> str:
        return spread([moment for moment in moments if moment is not None]) or "-"

    whole = results[-1].gave_up or times([one.whole for one in results])
    return [
        f"{megabytes} MB",
        name,
        times([one.listed for one in results]),
        times([one.first for one in results]),
        whole,
        f"{max(one.memory for one in results) / 1e6:.0f}",
        f"{max(one.browser for one in results) / 1e6:.0f}",
    ]


def main() -> int:
    """Measure all sizes; there are no bars here."""
    sizes = QUICK_SIZES if arguments(__doc__).quick else SIZES
    if CHROMIUM is None:
        remark("Not measured: no Chromium here (tools/ensure_chromium.sh installs one).")
        return 0
    with data_folder() as data:
        try:
            old = install(data / "peer-venv")
        except subprocess.CalledProcessError as error:
            remark(f"Not measured: {OLD} {OLD_VERSION} could not be installed: {str(error.stderr).strip()[-500:]}")
            return 0
        rows = [row for megabytes, rounds in sizes.items() for row in measure(data, old, megabytes, rounds)]
        header = [
            "trace",
            "plugin",
            "run listed, s",
            "first part drawn, s",
            "whole trace drawn, s",
            "memory, all processes, MB",
            "browser, MB",
        ]
        table(f"Start of TensorBoard to the trace on the screen; old: {OLD} {OLD_VERSION}", header, rows)
        remark(f"The old plugin ran with tensorboard, pandas, numpy {versions(old)}; every round is in the table.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
