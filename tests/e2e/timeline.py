"""Helpers of the tests of the Trace view: open it, wait for it, read what it shows."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from functools import cache
from typing import Any
from urllib.parse import parse_qs

from playwright.sync_api import FloatRect, FrameLocator, Locator, expect

from tests.conftest import FIXTURES
from tests.e2e.conftest import PATIENCE, Open, Plugin

#: The trace that the first rank of the demo opens.
TRACE = min(FIXTURES.glob("demo/transformer_910b/*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"))
KERNEL = "aclnnMatmul_MatMulV3Common_MatMulV3"
FLOWS = ("async_npu", "HostToDevice", "async_task_queue", "fwdbwd")


@cache
def slices() -> list[dict[str, Any]]:
    """Slices of the demo's trace; ts and dur in integer ns."""
    events = json.loads(TRACE.read_text("utf-8"), parse_float=Decimal)
    return [
        {**event, "ts": int(Decimal(event["ts"]) * 1000), "dur": int(Decimal(event["dur"]) * 1000)}
        for event in events
        if event["ph"] == "X"
    ]


def trace(
    open_plugin: Open, server: str, state: dict[str, str] | None = None, ready: bool = True, **options: object
) -> Plugin:
    """The Trace view of one rank, without strips, drawn; `ready` False: the part that is loaded."""
    plugin = open_plugin(server, **options)
    plugin.open("trace", wait=ready, **{"trace.ranks": "none", **(state or {})})
    settled(plugin)
    return plugin


def settled(plugin: Plugin) -> None:
    """Wait until the timeline has drawn every answer."""
    ready = plugin.frame.locator(".tl[data-ready=yes]")
    for _ in range(100):
        ready.wait_for()
        plugin.quiet()  # an answer to a click may move it again
        if ready.count():
            return
    raise AssertionError("the timeline is still loading")


def ranks_settled(plugin: Plugin) -> None:
    """Wait until the strips and the rows of all ranks are drawn."""
    settled(plugin)
    plugin.frame.locator(".rank-strips[data-ready=yes]").wait_for()
    expect(plugin.frame.get_by_text("loading this rank")).to_have_count(0)
    settled(plugin)


def param(plugin: Plugin, name: str, is_set: bool = True) -> str:
    """Wait for a parameter of the Trace view in the address, or until it is absent ("")."""
    for _ in range(PATIENCE // 100):
        found = parse_qs(plugin.page.url.partition("#")[2]).get(f"p.npu_profiler.trace.{name}", [""])[0]
        if (found != "") == is_set:
            return found
        plugin.page.wait_for_timeout(100)
    raise AssertionError(f"trace.{name} is {found!r}")


def shown(plugin: Plugin) -> tuple[float, float]:
    """Visible part of the time axis, ns after the base."""
    start, end = (plugin.frame.locator(".tl").get_attribute("data-range") or "").split(",")
    return float(start), float(end)


def box(plugin: Plugin) -> FloatRect:
    """Bounding box of the canvas of the rows."""
    found = plugin.frame.locator(".tl-scroll").bounding_box()
    assert found is not None
    return found


def drag_range(plugin: Plugin) -> None:
    """Drag over a part of the time and of the rows."""
    area, mouse = box(plugin), plugin.page.mouse
    mouse.move(area["x"] + 400, area["y"] + 30)
    mouse.down()
    mouse.move(area["x"] + 700, area["y"] + 60, steps=4)
    mouse.up()
    plugin.frame.locator('[data-table="trace.range"]').wait_for()


def panel(plugin: Plugin) -> Locator:
    return plugin.frame.locator(".trace-panel-body")


def find(plugin: Plugin, text: str) -> None:
    field = plugin.frame.locator(".trace-search input")
    plugin.page.keyboard.press("/")
    field.fill(text)
    plugin.page.keyboard.press("Enter")
    plugin.frame.locator(".trace-place", has_text=" of ").wait_for()
    plugin.page.keyboard.press("Escape")
    settled(plugin)


def place(frame: FrameLocator) -> tuple[int, int]:
    at, total, *_ = re.findall(r"\d+", frame.locator(".trace-place .link").inner_text().replace("\u202f", ""))
    return int(at), int(total)


def copied_time(plugin: Plugin) -> tuple[int, int]:
    """Start (ns since 1970) and duration (ns) from the tooltips of the panel."""
    figures = panel(plugin).locator(".facts .mono[data-tip]")
    epoch = re.search(r"(\d{19}) ns", figures.nth(0).get_attribute("data-tip") or "")
    dur = re.sub(r"\D", "", (figures.nth(1).get_attribute("data-tip") or "").split("ns")[0])
    assert epoch
    return int(epoch.group(1)), int(dur)
