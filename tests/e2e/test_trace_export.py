"""Marks and the visible range as files, and in Perfetto (a local page that speaks its protocol)."""

from __future__ import annotations

import json
import shlex
import struct
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator

from tests.e2e.conftest import Open, Plugin, wait_until
from tests.e2e.timeline import drag_range, param, ranks_settled, settled, slices, trace
from tests.support.cli import run

#: Answers PING as ui.perfetto.dev does, and shows what it got.
PERFETTO = """<!doctype html><title>stub</title><pre></pre><script>
addEventListener("message", ({ data, source }) => {
  if (data === "PING") return void source.postMessage("PONG", "*");
  const { buffer, title, fileName } = data.perfetto;
  document.querySelector("pre").textContent = JSON.stringify({ title, fileName, text: new TextDecoder().decode(buffer) });
});</script>"""


def entry(plugin: Plugin, text: str) -> Locator:
    """An entry of the File menu, which this opens."""
    plugin.frame.get_by_role("button", name="File", exact=True).click()
    return plugin.frame.locator(".trace-file .option", has_text=text)


def names(trace_file: Any) -> list[str]:
    return sorted(one["name"] for one in trace_file["traceEvents"] if one["ph"] == "X")


def test_the_range_is_a_file_and_opens_in_perfetto(open_plugin: Open, demo_server: str, tmp_path: Path) -> None:
    plugin = trace(open_plugin, demo_server)
    plugin.page.context.route(
        "https://ui.perfetto.dev/**", lambda route: route.fulfill(body=PERFETTO, content_type="text/html")
    )
    drag_range(plugin)
    start, end, *_ = (float(part) for part in param(plugin, "area").split(","))
    base = min(one["ts"] for one in slices())
    wanted = sorted(
        one["name"]
        for one in slices()
        if one["ts"] - base < -(-end // 1) and one["ts"] + max(one["dur"], 1) - base > start // 1
    )
    saved = json.loads(plugin.download(entry(plugin, "Range as a Chrome trace")))
    assert names(saved) == wanted and 0 < len(wanted) < len(slices())
    command = shlex.split(plugin.frame.locator(".trace-file code").inner_text())
    assert command[:2] == ["tb-npu", "export-trace"] and run(*command[1:-1], tmp_path / "window.json").returncode == 0
    assert json.loads((tmp_path / "window.json").read_text()) == saved
    plugin.page.keyboard.press("Escape")
    with plugin.page.expect_popup() as popup:
        entry(plugin, "Open the range in Perfetto").click()
    popup.value.wait_for_function("document.querySelector('pre').textContent")
    opened = json.loads(popup.value.locator("pre").inner_text())
    popup.value.close()
    assert json.loads(opened["text"])["traceEvents"] == saved["traceEvents"]
    assert "rank" in opened["title"] and opened["fileName"].endswith(".json")
    plugin.page.context.unroute_all()


@pytest.mark.full
def test_the_range_of_several_ranks_is_one_file(open_plugin: Open, demo_server: str, tmp_path: Path) -> None:
    plugin = open_plugin(demo_server)
    place = plugin.span_of("transformer_slow_rank")
    state = {**place, "trace.ranks": "all"}
    plugin.open("trace", **state)

    def are_traced() -> bool:
        data = plugin.get(f"view/trace_ranks?run={place['run']}&span={place['span']}")["data"]
        return data is not None and len(data["lines"]) == 8 and all(line["is_traced"] for line in data["lines"])

    wait_until(plugin, are_traced)
    plugin.open("trace", **state)  # the page knows of all traces
    ranks_settled(plugin)
    saved = json.loads(plugin.download(entry(plugin, "Range of 8 ranks as a Chrome trace")))
    processes = {one["args"]["name"] for one in saved["traceEvents"] if one["name"] == "process_name"}
    assert {name.split(" · ")[0] for name in processes} == {f"rank {rank}" for rank in range(8)}
    assert "metadata" not in saved, "nothing is missing"
    command = shlex.split(plugin.frame.locator(".trace-file code").inner_text())
    assert run(*command[1:-1], tmp_path / "window.json").returncode == 0
    assert json.loads((tmp_path / "window.json").read_text()) == saved


def test_the_picture_has_the_pixels_of_the_timeline(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    size = plugin.frame.locator(".tl").bounding_box()
    picture = plugin.download(entry(plugin, "Picture"))
    assert size and picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", picture[16:24]) == (round(size["width"]), round(size["height"]))


def test_marks_of_one_page_are_read_by_another(open_plugin: Open, demo_server: str, tmp_path: Path) -> None:
    plugin = trace(open_plugin, demo_server)
    drag_range(plugin)
    plugin.page.keyboard.press("m")
    plugin.frame.get_by_role("tab", name="Marks 1").click()
    plugin.frame.get_by_label("Colour", exact=True).select_option("green")
    settled(plugin)  # the address follows
    kept = param(plugin, "marks")
    assert kept.endswith(",green")
    file = tmp_path / "marks.json"
    file.write_bytes(plugin.download(plugin.frame.get_by_role("button", name="JSON")))
    plugin.frame.get_by_role("button", name="Remove all").click()
    param(plugin, "marks", is_set=False)
    for _ in range(2):
        entry(plugin, "Read marks").locator("input").set_input_files(file)
        plugin.frame.get_by_role("tab", name="Marks 1").wait_for()
        settled(plugin)
    again = [float(part) for part in param(plugin, "marks").split(",")[:2]]
    assert again == [round(float(part)) for part in kept.split(",")[:2]]
