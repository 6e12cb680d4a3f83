"""While data are read: what is shown meanwhile, how far it is, and how it is stopped and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.conftest import FIXTURES, ROOT
from tests.e2e.conftest import Plugin
from tests.e2e.tensorboard import held_reader, hold_reader, settle, tensorboard
from tests.e2e.test_broken import span_of
from tests.e2e.timeline import Open, copied_time, find, param, place, settled, shown, trace

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


@pytest.fixture
def large_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A large trace that is read slowly, so that a person can act meanwhile."""
    large_result(tmp_path / "logs" / "big_ascend_pt", LARGE)
    monkeypatch.setenv("TB_NPU_SCANNER", "python")
    monkeypatch.setenv("TB_NPU_WORKERS", "2")  # on one core, too: the tables go on beside the trace
    with tensorboard("--logdir", str(tmp_path / "logs"), cache=tmp_path / "cache") as url:
        yield url


def banner(plugin: Plugin) -> Locator:
    return plugin.frame.locator(".trace-reading")


def open_beginning(open_plugin: Open, url: str) -> Plugin:
    """The Trace view as it shows the beginning of the trace; the rest is held."""
    plugin = open_plugin(url)
    with held_reader(url, "trace_view.json") as reader:
        plugin.open("trace", wait=False)
        worker = reader()
    question = f"{url}data/plugin/npu_profiler/api/view/trace?span={span_of(plugin, 'big')['span']}"
    end = time.monotonic() + SLOW / 1000
    # A little at a time, however long it takes until the page asks again.
    while not (answer := plugin.page.request.get(question).json())["data"]:
        assert answer["state"] == "reading" and time.monotonic() < end, answer
        os.kill(worker, signal.SIGCONT)
        plugin.page.wait_for_timeout(200)
        os.kill(worker, signal.SIGSTOP)
    plugin.frame.locator('.view-frame[data-state="reading"] .tl').wait_for()
    settled(plugin)
    return plugin


def jobs(plugin: Plugin) -> list[dict[str, Any]]:
    """What the server says that it reads."""
    answer = plugin.page.request.get(f"{plugin.url}data/plugin/npu_profiler/api/progress")
    return list(answer.json()["jobs"])


def test_timeline_fills_in_while_the_rest_is_read(open_plugin: Open, large_server: str) -> None:
    whole = open_beginning(open_plugin, large_server)  # looks at everything
    expect(banner(whole)).to_contain_text("Showing the first")
    beginning = shown(whole)
    find(whole, "aten::op_7")
    hits, selected, name = place(whole.frame)[1], copied_time(whole), param(whole, "slice")
    assert hits > 10 and shown(whole) == beginning

    near = trace(open_plugin, large_server, ready=False)  # looks at a part
    for _ in range(3):
        near.page.keyboard.press("w")
    settled(near)
    part = param(near, "range")
    near.frame.get_by_role("button", name="Rows").click()
    near.frame.get_by_label("Stream 2").check()
    near.page.keyboard.press("Escape")

    banner(whole).get_by_role("button", name="Cancel").click()
    expect(banner(whole)).to_contain_text("Reading was cancelled")
    expect(banner(near)).to_contain_text("Reading was cancelled")
    before = [(job["state"], job["bytes_done"]) for job in jobs(whole)]
    assert [state for state, _ in before] == ["cancelled"]
    whole.page.wait_for_timeout(1500)
    assert [(job["state"], job["bytes_done"]) for job in jobs(whole)] == before, (
        "nothing is read behind the user's back"
    )
    whole.page.keyboard.press("Enter")  # the next hit: the beginning stays usable
    settled(whole)
    assert place(whole.frame)[0] == 2
    whole.page.keyboard.press("Shift+Enter")
    settled(whole)

    banner(near).get_by_role("button", name="Resume").click()
    for plugin in (whole, near):
        plugin.frame.locator('.view-frame[data-state="ready"] .tl').wait_for(timeout=SLOW)
        settled(plugin)
        expect(banner(plugin)).to_have_count(0)
    assert shown(whole)[1] > 3 * beginning[1], "all stays all"
    at, total = place(whole.frame)
    assert at == 1 and total > 3 * hits
    assert copied_time(whole) == selected and param(whole, "slice") != name
    assert param(near, "range") == part and param(near, "pins")
    param(near, "v", is_set=False)
    near.page.keyboard.press("Control+0")
    settled(near)
    assert shown(near)[1] == pytest.approx(shown(whole)[1])
    for plugin in (whole, near):
        plugin.close()


def test_tables_are_there_while_a_large_trace_is_read(
    open_plugin: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large_result(tmp_path / "logs" / "big_ascend_pt", 40)
    monkeypatch.setenv("TB_NPU_SCANNER", "python")
    monkeypatch.setenv("TB_NPU_WORKERS", "2")  # on one core, too: the tables go on beside the trace
    with tensorboard("--logdir", str(tmp_path / "logs"), cache=tmp_path / "cache") as url:
        plugin = open_plugin(url)
        with held_reader(url, "trace_view.json") as reader:
            plugin.open("trace", wait=False)
            reader()
        plugin.frame.locator('.view-frame[data-state="reading"] [role="progressbar"]').first.wait_for()
        plugin.frame.locator('a[data-view="kernel"]').click()
        plugin.ready("kernel")
        assert [job["stage"] for job in jobs(plugin)] == ["trace"], "the tables do not wait for the trace"
        chip = plugin.frame.locator(".reading-chip")
        expect(chip).to_contain_text("Reading")
        chip.click()
        line = plugin.frame.locator(".reading-list .job")
        expect(line).to_have_count(1)
        line.get_by_role("button", name="Cancel").click()
        expect(chip).to_have_text("1 cancelled")
        line.get_by_role("button", name="Resume").click()
        worker = hold_reader(url, "trace_view.json")
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
    """Ranks with tables large enough to see them being read, one at a time."""
    header, *rows = KERNELS.read_text().splitlines(keepends=True)
    info = json.loads(next(KERNELS.parent.parent.glob("profiler_info_*.json")).read_text())
    for rank in range(RANKS):
        folder = tmp_path / "logs" / f"rank_{rank}_ascend_pt"
        (folder / OUTPUT).mkdir(parents=True)
        (folder / f"profiler_info_{rank}.json").write_text(json.dumps({**info, "rank_id": rank}))
        (folder / OUTPUT / "kernel_details.csv").write_text(header + "".join(rows) * 6000)
        settle(folder)
    monkeypatch.setenv("TB_NPU_WORKERS", "1")
    with tensorboard("--logdir", str(tmp_path / "logs"), cache=tmp_path / "cache") as url:
        yield url


def test_ranks_tell_how_far_they_are_and_can_be_stopped(open_plugin: Open, rank_server: str) -> None:
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


def test_lost_server_is_said_and_asked_again(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    is_down = True

    def answer(route: Any) -> None:
        if is_down:
            body = json.dumps({"code": "not_ready", "message": "the trace is being read", "hint": ""})
            route.fulfill(status=503, content_type="application/json", body=body)
        else:
            route.continue_()

    plugin.page.route("**/timeline/slices*", answer)
    for _ in range(4):
        plugin.page.keyboard.press("w")
    note = plugin.frame.get_by_role("alert").filter(has_text="the trace is being read")
    note.wait_for()
    is_down = False
    with plugin.page.expect_response(lambda response: "timeline/slices" in response.url and response.status == 200):
        note.get_by_role("button").first.click()
    note.wait_for(state="hidden")
    plugin.defects[:] = [defect for defect in plugin.defects if "503" not in defect]


def test_another_reading_is_no_error(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    stale = json.dumps({"code": "stale", "message": "the timeline has been read anew since", "hint": ""})
    asked: list[str] = []
    plugin.page.on("request", lambda request: asked.append(request.url) if "/view/trace" in request.url else None)
    plugin.page.route(
        "**/timeline/s*", lambda route: route.fulfill(status=404, content_type="application/json", body=stale)
    )
    with plugin.page.expect_request(lambda request: "/view/trace" in request.url):
        for _ in range(4):
            plugin.page.keyboard.press("w")
    plugin.page.wait_for_timeout(500)
    assert len(asked) < 8
    expect(plugin.frame.get_by_role("alert")).to_have_count(0)


def test_overview_tells_the_step_times_while_the_kernels_are_read(open_plugin: Open, tmp_path: Path) -> None:
    output = tmp_path / "logs" / "slow_ascend_pt" / OUTPUT
    output.mkdir(parents=True)
    (output / "step_trace_time.csv").write_bytes((KERNELS.parent / "step_trace_time.csv").read_bytes())
    header, rows = KERNELS.read_bytes().split(b"\n", 1)
    (output / "kernel_details.csv").write_bytes(header + b"\n" + rows * (80_000_000 // len(rows)))
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
