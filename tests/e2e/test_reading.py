"""While data are loaded: previews, progress, cancel and resume."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Route, expect

from tb_npu_plugin.server.timeline.binary import encode
from tests.conftest import FIXTURES, ROOT
from tests.e2e.conftest import Open, Plugin
from tests.e2e.tensorboard import held_reader, settle, tensorboard
from tests.e2e.timeline import copied_time, find, param, place, settled, shown, trace

OUTPUT = "ASCEND_PROFILER_OUTPUT"
KERNELS = next(FIXTURES.glob(f"results/level1/*_ascend_pt/{OUTPUT}/kernel_details.csv"))
#: Large enough for one preview (its first 32 MB are at most a quarter), in MB.
LARGE = 140
#: Patience with reading on a busy machine, in ms.
SLOW = 300_000


def large_result(folder: Path, megabytes: int) -> None:
    """A result with a few kernels and a large trace."""
    output = folder / OUTPUT
    output.mkdir(parents=True)
    (output / "kernel_details.csv").write_bytes(KERNELS.read_bytes())
    command = [sys.executable, ROOT / "benchmarks/make_trace.py", output / "trace_view.json", str(megabytes)]
    subprocess.run(command, check=True)
    settle(folder)


@contextlib.contextmanager
def slow_server(folder: Path, megabytes: int) -> Iterator[str]:
    """A large trace, read by the slow scanner."""
    large_result(folder / "logs" / "big_ascend_pt", megabytes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TB_NPU_SCANNER", "python")
        patch.setenv("TB_NPU_WORKERS", "2")  # on one core, too: the tables go on beside the trace
        with tensorboard("--logdir", str(folder / "logs"), cache=folder / "cache") as url:
            yield url


def banner(plugin: Plugin) -> Locator:
    return plugin.frame.locator(".trace-reading")


def open_beginning(open_plugin: Open, url: str) -> Plugin:
    """The Trace view as it shows the beginning of the trace; the rest is held."""
    plugin = open_plugin(url)
    with held_reader(url, "trace_view.json") as reader:
        plugin.open("trace", wait=False)
        worker = reader()
    span = plugin.span_of("big")["span"]
    end = time.monotonic() + SLOW / 1000
    # Let the worker go on in short stretches until the page asks again.
    while not (answer := plugin.get(f"view/trace?span={span}"))["data"]:
        assert answer["state"] == "reading" and time.monotonic() < end, answer
        os.kill(worker, signal.SIGCONT)
        plugin.page.wait_for_timeout(200)
        os.kill(worker, signal.SIGSTOP)
    plugin.frame.locator('.view-frame[data-state="reading"] .tl').wait_for()
    settled(plugin)
    return plugin


def jobs(plugin: Plugin) -> list[dict[str, Any]]:
    """Progress of the server."""
    return list(plugin.get("progress")["jobs"])


@pytest.mark.full
def test_timeline_fills_in_while_the_rest_is_loaded(open_plugin: Open, tmp_path: Path) -> None:
    with slow_server(tmp_path, LARGE) as url:
        whole = open_beginning(open_plugin, url)  # shows everything
        expect(banner(whole)).to_contain_text("Showing the first")
        near = trace(open_plugin, url, ready=False)  # shows a part
        for _ in range(3):
            near.page.keyboard.press("w")
        settled(near)
        part = param(near, "range")
        near.frame.get_by_role("button", name="Rows").click()
        near.frame.get_by_role("button", name="Pin Stream 2 to the top").click()
        near.page.keyboard.press("Escape")
        beginning, hits, selected = search_cancelled(whole, near)

        banner(near).get_by_role("button", name="Resume").click()
        for plugin in (whole, near):
            plugin.frame.locator('.view-frame[data-state="ready"] .tl').wait_for(timeout=SLOW)
            settled(plugin)
            expect(banner(plugin)).to_have_count(0)
        assert shown(whole)[1] > 3 * beginning, "the whole trace stays in sight"
        at, total = place(whole.frame)
        assert at == 1 and total > 3 * hits
        assert copied_time(whole) == selected and param(whole, "slice")
        assert param(near, "range") == part and param(near, "pins")
        near.page.keyboard.press("Control+0")
        settled(near)
        assert shown(near)[1] == pytest.approx(shown(whole)[1])
        for plugin in (whole, near):
            plugin.close()


def search_cancelled(whole: Plugin, near: Plugin) -> tuple[float, int, tuple[int, int]]:
    """Cancel loading and search the beginning: its end, the number of matches, time of the first."""
    beginning = shown(whole)
    find(whole, "aten::op_7")
    hits, selected = place(whole.frame)[1], copied_time(whole)
    assert hits > 10 and shown(whole) == beginning
    banner(whole).get_by_role("button", name="Cancel").click()
    for plugin in (whole, near):
        expect(banner(plugin)).to_contain_text("Reading was cancelled")
    before = [(job["state"], job["bytes_done"]) for job in jobs(whole)]
    assert [state for state, _ in before] == ["cancelled"]
    whole.page.wait_for_timeout(1500)
    assert [(job["state"], job["bytes_done"]) for job in jobs(whole)] == before, "loading went on after Cancel"
    for key, number in (("Enter", 2), ("Shift+Enter", 1)):
        whole.page.keyboard.press(key)
        settled(whole)
        assert place(whole.frame)[0] == number
    return beginning[1], hits, selected


def test_tables_load_beside_a_large_trace(open_plugin: Open, tmp_path: Path) -> None:
    with slow_server(tmp_path, 20) as url:
        plugin = open_plugin(url)
        with held_reader(url, "trace_view.json") as reader:
            plugin.open("trace", wait=False)
            cancelled = reader()
        plugin.frame.locator('.view-frame[data-state="reading"] [role="progressbar"]').first.wait_for()
        plugin.switch("kernel")
        assert [job["stage"] for job in jobs(plugin)] == ["trace"], "the tables do not wait for the trace"
        chip = plugin.frame.locator(".reading-chip")
        expect(chip).to_contain_text("Reading")
        chip.click()
        line = plugin.frame.locator(".reading-list .job")
        expect(line).to_have_count(1)
        line.get_by_role("button", name="Cancel").click()
        expect(chip).to_have_text("1 cancelled")
        while Path(f"/proc/{cancelled}").exists():  # else it is held once more
            plugin.page.wait_for_timeout(10)
        with held_reader(url, "trace_view.json") as reader:
            line.get_by_role("button", name="Resume").click()
            worker = reader()
        expect(chip).to_contain_text("Reading")
        os.kill(worker, signal.SIGCONT)
        plugin.frame.locator('a[data-view="trace"]').click()
        plugin.frame.locator('.view-frame[data-state="ready"] .tl').wait_for(timeout=SLOW)
        settled(plugin)
        expect(chip).to_contain_text("1 read")
        plugin.close()


RANKS = 6


@pytest.fixture
def rank_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Ranks with tables large enough to watch their progress, one at a time."""
    header, *rows = KERNELS.read_text().splitlines(keepends=True)
    info = json.loads(next(KERNELS.parent.parent.glob("profiler_info_*.json")).read_text())
    for rank in range(RANKS):
        folder = tmp_path / "logs" / f"rank_{rank}_ascend_pt"
        (folder / OUTPUT).mkdir(parents=True)
        (folder / f"profiler_info_{rank}.json").write_text(json.dumps({**info, "rank_id": rank}))
        (folder / OUTPUT / "kernel_details.csv").write_text(header + "".join(rows) * 3000)
        settle(folder)
    monkeypatch.setenv("TB_NPU_WORKERS", "1")
    with tensorboard("--logdir", str(tmp_path / "logs"), cache=tmp_path / "cache") as url:
        yield url


def test_progress_of_ranks_can_be_cancelled_and_resumed(open_plugin: Open, rank_server: str) -> None:
    plugin = open_plugin(rank_server)
    with held_reader(rank_server, "kernel_details.csv") as reader:
        plugin.open("distributed", wait=False)
        reader()
    chip = plugin.frame.locator(".reading-chip")
    expect(chip).to_contain_text("Reading")
    chip.click()
    lines = plugin.frame.locator(".reading-list .job")
    totals = lines.nth(0)
    expect(totals).to_contain_text(f"of {RANKS} read")
    expect(lines.nth(1)).to_contain_text("rank ")
    totals.get_by_role("button", name="Cancel the rest").click()
    expect(totals).to_contain_text("cancelled")
    assert {job["state"] for job in jobs(plugin)} == {"cancelled"}
    one = plugin.frame.locator('.reading-list .job[data-job="cancelled"]')
    going = plugin.frame.locator('.reading-list .job[data-job="reading"], .reading-list .job[data-job="waiting"]')
    expect(going).to_have_count(0)
    stopped = one.count()
    one.first.get_by_role("button", name="Resume").click()
    expect(one).to_have_count(stopped - 1)
    totals.get_by_role("button", name="Resume all").click()
    expect(one).to_have_count(0)
    expect(chip).to_contain_text(f"{RANKS} read", timeout=SLOW)
    plugin.page.keyboard.press("Escape")
    plugin.ready("distributed")
    expect(plugin.frame.locator(".run-progress")).to_have_count(0)
    plugin.close()


def test_stale_timeline_is_no_error(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    stale = encode({"parts": ["stale"] * 8}, {})
    asked: list[str] = []
    plugin.page.on("request", lambda request: asked.append(request.url) if "/view/trace" in request.url else None)
    plugin.page.route(
        "**/timeline/rows*", lambda route: route.fulfill(content_type="application/octet-stream", body=stale)
    )
    with plugin.page.expect_request(lambda request: "/view/trace" in request.url):
        for _ in range(4):
            plugin.page.keyboard.press("w")
    plugin.page.wait_for_timeout(500)
    assert len(asked) < 8
    expect(plugin.frame.get_by_role("alert")).to_have_count(0)


def test_overview_is_preliminary_while_the_kernels_load(open_plugin: Open, tmp_path: Path) -> None:
    output = tmp_path / "logs" / "slow_ascend_pt" / OUTPUT
    output.mkdir(parents=True)
    (output / "step_trace_time.csv").write_bytes((KERNELS.parent / "step_trace_time.csv").read_bytes())
    header, rows = KERNELS.read_bytes().split(b"\n", 1)
    (output / "kernel_details.csv").write_bytes(header + b"\n" + rows * (60_000_000 // len(rows)))
    settle(output)
    with tensorboard("--logdir", str(tmp_path / "logs"), cache=tmp_path / "cache") as url:
        plugin = open_plugin(url)
        with held_reader(url, "kernel_details.csv") as reader:
            plugin.open("overview", wait=False)
            worker = reader()
        reading = plugin.frame.locator('.view-frame[data-state="reading"]')
        expect(reading).to_contain_text("Preliminary.", timeout=SLOW)
        took = reading.locator(".budget-card .card-head").inner_text()
        assert "took" in took
        os.kill(worker, signal.SIGCONT)
        ready = plugin.frame.locator('.view-frame[data-state="ready"]')
        expect(ready).to_contain_text("Top kernels", timeout=SLOW)
        expect(ready.locator(".first-look")).to_have_count(0)
        assert ready.locator(".budget-card .card-head").inner_text() == took
        plugin.close()


def test_a_request_that_the_server_refused_too_early_is_repeated(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    place = plugin.span_of("vision_resnet50")
    plugin.open("trace", **place)
    plugin.quiet()
    refused = [0]

    def refuse_once(route: Route) -> None:
        refused[0] += 1
        if refused[0] > 1:
            route.continue_()
        else:
            text = '{"code": "stale", "message": "", "hint": "", "texts": {}}'
            route.fulfill(status=404, content_type="application/json", body=text)

    plugin.page.route(re.compile("/timeline/slice[?]"), refuse_once)
    plugin.frame.get_by_placeholder("Search slices").fill("MatMul")
    plugin.page.keyboard.press("Enter")
    expect(plugin.frame.locator(".trace-title h2")).to_contain_text("MatMul")
    assert refused[0] > 1
