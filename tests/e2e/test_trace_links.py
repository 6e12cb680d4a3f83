"""Links into the Trace view and out of it: addresses, other views, flows, the original file."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Open, Plugin
from tests.e2e.timeline import (
    FLOWS,
    KERNEL,
    TRACE,
    copied_time,
    drag_range,
    find,
    panel,
    param,
    settled,
    shown,
    slices,
    trace,
)


def follow(open_plugin: Open, server: str, link: str, **options: object) -> Plugin:
    """Another page at this link."""
    plugin = open_plugin(server, **options)
    plugin.go(link)
    plugin.ready("trace")
    settled(plugin)
    return plugin


#: Counts new entries of the history, whose length has a limit.
COUNT_PUSHES = """() => { window.pushes = 0; const push = history.pushState;
  history.pushState = function (...entry) { window.pushes += 1; return push.apply(this, entry); }; }"""


def test_back_returns_to_where_a_jump_began(open_plugin: Open, demo_server: str) -> None:
    """Zooming adds nothing to the history."""
    plugin = trace(open_plugin, demo_server)
    page = plugin.page
    page.keyboard.press("w")
    settled(plugin)
    began = state_of(plugin)["range"]
    find(plugin, KERNEL)
    first = state_of(plugin)
    page.evaluate(COUNT_PUSHES)
    page.keyboard.press("s")
    page.keyboard.press("w")
    settled(plugin)
    page.wait_for_timeout(700)  # faster jumps are one entry
    assert page.evaluate("pushes") == 0
    page.keyboard.press("Enter")
    settled(plugin)
    assert param(plugin, "slice") != first["slice"] and page.evaluate("pushes") == 1
    page.go_back()
    page.wait_for_url(f"**trace.slice={first['slice']}*")
    expect(panel(plugin)).to_contain_text(KERNEL)
    page.go_back()
    param(plugin, "slice", is_set=False)
    settled(plugin)
    assert param(plugin, "range") == began


def test_link_restores_range_selection_and_marks(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    find(plugin, KERNEL)
    for key in "fmk":
        plugin.page.keyboard.press(key)
    settled(plugin)
    plugin.frame.get_by_role("tab", name="Marks 2").click()
    name = plugin.frame.get_by_label("Name of the mark").nth(1)
    name.fill("here; it, begins")
    name.press("Enter")
    state = state_of(plugin)
    assert state["range"] and state["slice"] and state["marks"]
    other = follow(open_plugin, demo_server, plugin.page.url)
    assert state_of(other) == state
    other.frame.get_by_role("tab", name="Slice").click()
    assert KERNEL in panel(other).inner_text()
    other.frame.get_by_role("tab", name="Marks 2").click()
    assert "here; it, begins" in [field.input_value() for field in other.frame.get_by_label("Name of the mark").all()]
    other.switch("kernel")
    other.page.go_back()
    other.ready("trace")
    assert state_of(other) == state
    other.page.go_forward()
    other.ready("kernel")


def test_link_restores_the_dragged_range(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    drag_range(plugin)
    dragged, title = param(plugin, "area"), plugin.frame.locator(".trace-title").inner_text()
    other = follow(open_plugin, demo_server, plugin.page.url)
    assert param(other, "area") == dragged
    assert other.frame.locator(".trace-title").inner_text() == title
    other.page.keyboard.press("Escape")
    param(other, "area", is_set=False)


def test_the_chosen_step_is_the_range(open_plugin: Open, demo_server: str) -> None:
    """Trace opens there, follows the header, and gives its own range to all views; a link to another place goes before."""
    plugin = open_plugin(demo_server)
    plugin.open("overview")
    plugin.choose_period("Step 12")
    plugin.switch("trace")
    settled(plugin)
    times = {}
    for step in ("12", "13"):
        if step != "12":
            plugin.choose_period(f"Step {step}")
        title = plugin.frame.locator(".trace-panel-range")
        expect(title).to_be_visible()
        expect(plugin.frame.locator(".tl")).to_have_attribute("data-ready", "yes")
        settled(plugin)
        plugin.page.wait_for_timeout(500)  # the address follows
        times[step] = [float(time) for time in param(plugin, "area").split(",")]
        start, end = times[step]
        left, right = shown(plugin)
        margin = (right - left - (end - start)) / (end - start)
        assert left < start and end < right and margin < 0.2
    assert times["13"][0] >= times["12"][1], "it moved"
    drag_range(plugin)
    plugin.page.wait_for_timeout(500)
    dragged, seen = param(plugin, "area"), shown(plugin)
    panel(plugin).get_by_text("Use in all views").click()
    expect(plugin.frame.locator(".period-chip .on")).not_to_contain_text("Step")
    plugin.page.wait_for_timeout(500)
    assert (param(plugin, "area"), shown(plugin)) == (dragged, seen), "it stays"
    other = follow(open_plugin, demo_server, plugin.page.url)
    assert param(other, "area") == dragged


def test_kernel_and_allocation_lead_to_their_slice(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("kernel", **{"kernel.tab": "all"})
    grid = plugin.frame.locator('[role="grid"][data-table="kernel.all"]')
    grid.locator('[role="row"]').nth(20).click()
    plugin.frame.get_by_text("Show in the trace").click()
    plugin.ready("trace")
    settled(plugin)
    panel(plugin).locator(".facts").first.wait_for()
    start, dur = copied_time(plugin)
    assert any((s["ts"], s["dur"]) == (start, dur) and s["name"] in panel(plugin).inner_text() for s in slices())
    assert "From kernel_details.csv" in panel(plugin).inner_text()
    plugin.open("memory")
    grid = plugin.frame.locator('[role="grid"][data-table="memory.allocations"]')
    grid.locator('[role="row"]').nth(3).click()
    plugin.frame.get_by_text("Show in the trace").click()
    plugin.ready("trace")
    settled(plugin)
    assert param(plugin, "slice")


def test_original_can_be_downloaded(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    plugin.frame.get_by_role("button", name="File", exact=True).click()
    assert plugin.download(plugin.frame.get_by_text("Original trace")) == TRACE.read_bytes()


@pytest.mark.parametrize("kind", [FLOWS[0], *(pytest.param(kind, marks=pytest.mark.full) for kind in FLOWS[1:])])
def test_flows_are_followed_forth_and_back(open_plugin: Open, demo_server: str, kind: str) -> None:
    events = json.loads(TRACE.read_text("utf-8"), parse_float=Decimal)
    begin = next(e for e in events if e["ph"] == "s" and e.get("cat") == kind)
    end = next(e for e in events if e["ph"] == "f" and e.get("cat") == kind and e["id"] == begin["id"])

    def open_at(event: dict[str, Any]) -> dict[str, Any]:
        moment = int(Decimal(event["ts"]) * 1000)
        own = [
            s
            for s in slices()
            if (s["pid"], s["tid"]) == (event["pid"], event["tid"]) and s["ts"] <= moment <= s["ts"] + s["dur"]
        ]
        return max(own, key=lambda s: (s["ts"] == moment, s["ts"], -s["dur"]))

    source, target = open_at(begin), open_at(end)
    plugin = trace(open_plugin, demo_server, {"find": source["name"], "at": f"{source['ts']},{source['dur']}"})
    link = panel(plugin).locator(".trace-flow", has_text=kind).get_by_role("button", name=target["name"]).first
    link.click()
    settled(plugin)
    assert copied_time(plugin) == (target["ts"], target["dur"])
    back = panel(plugin).locator(".trace-flow", has_text=f"{kind} from")
    back.get_by_role("button", name=source["name"]).first.click()
    settled(plugin)
    assert copied_time(plugin) == (source["ts"], source["dur"])


#: KEEP stores the picture; CHANGED counts the pixels that came nearer to a colour since, and all that changed.
KEEP = "c => { c.kept = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; }"
CHANGED = """(c, colour) => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let [near, all] = [0, 0];
  const away = (p, i) => Math.abs(p[i] - colour[0]) + Math.abs(p[i + 1] - colour[1]) + Math.abs(p[i + 2] - colour[2]);
  for (let i = 0; i < d.length; i += 4) { const step = away(d, i) - away(c.kept, i); near += step < 0; all += step !== 0; }
  return [near, all]; }"""


@pytest.mark.parametrize(
    ("mode", "colour"),
    [("light", (123, 111, 208)), pytest.param("dark", (167, 156, 240), marks=pytest.mark.full)],
)
@pytest.mark.full
def test_all_arrows_of_a_kind_are_drawn(
    open_plugin: Open, demo_server: str, mode: str, colour: tuple[int, int, int]
) -> None:
    plugin = trace(open_plugin, demo_server, color_scheme=mode)
    canvas, timeline = plugin.frame.locator(".tl-scroll canvas").first, plugin.frame.locator(".tl")
    for _ in range(8):
        plugin.page.keyboard.press("w")
    settled(plugin)
    canvas.evaluate(KEEP)
    assert timeline.get_attribute("data-arrows") == "0"
    plugin.frame.get_by_role("button", name="Flows").click()
    with plugin.page.expect_response(lambda response: "timeline/arrows" in response.url and response.ok):
        plugin.frame.get_by_label("Show all arrows of async_npu").check()
    settled(plugin)
    shown_arrows = int(timeline.get_attribute("data-arrows") or 0)
    assert shown_arrows > 0
    near, changed = canvas.evaluate(CHANGED, colour)
    assert near > 0.9 * changed > 20 * shown_arrows
    assert param(plugin, "arrows") == "async_npu"
    other = follow(open_plugin, demo_server, plugin.page.url, color_scheme=mode)
    assert int(other.frame.locator(".tl").get_attribute("data-arrows") or 0) == shown_arrows, "it is in the link"
    plugin.frame.get_by_label("Show all arrows of async_npu").uncheck()
    settled(plugin)
    assert timeline.get_attribute("data-arrows") == "0"
    assert canvas.evaluate(CHANGED, colour) == [0, 0]


def spans_of(plugin: Plugin) -> list[tuple[str, str, str]]:
    """(run, worker, span) of the ranks of the first run."""
    run = plugin.catalog()["runs"][0]
    workers = sorted(run["workers"], key=lambda worker: worker["rank"])
    return [(run["id"], worker["id"], worker["spans"][0]["id"]) for worker in workers]


STATE = ("range", "area", "slice", "pins", "marks")


def state_of(plugin: Plugin) -> dict[str, str]:
    """State of one span in the address."""
    settled(plugin)
    found = parse_qs(plugin.page.url.partition("#")[2])
    return {key: found.get(f"p.npu_profiler.trace.{key}", [""])[0] for key in STATE}


@pytest.mark.full
def test_state_of_a_rank_stays_with_it(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server, {"trace.pins": "1,2"})
    ranks = spans_of(plugin)
    find(plugin, KERNEL)
    for key in "ffmk":
        plugin.page.keyboard.press(key)
    drag_range(plugin)
    mine = state_of(plugin)
    assert all(mine.values()), mine
    link = plugin.page.url
    for part, other in zip(ranks[0], ranks[1]):
        link = link.replace(f".run={part}", f".run={other}").replace(f".worker={part}", f".worker={other}")
        link = link.replace(f"profiler.span={part}", f"profiler.span={other}")
    other = follow(open_plugin, demo_server, link)
    assert state_of(other) == dict.fromkeys(STATE, ""), "nothing of rank 0 is shown at rank 1"
    note = other.frame.locator(".trace-note")
    assert re.search(r"refers to rank 0.*: a slice, a range, pinned rows \(2\), marks \(2\)", note.inner_text())
    note.get_by_role("button", name="Open rank 0").click()
    other.page.wait_for_function("span => location.hash.includes(`trace.of=${span}`)", arg=ranks[0][2])
    assert state_of(other) == mine, "nothing is lost"
    assert not note.count()
    other.page.go_back()
    other.page.wait_for_function("span => location.hash.includes(`trace.of=${span}`)", arg=ranks[1][2])
    back = state_of(other)
    assert back.pop("range") not in ("", mine["range"]), "the same time, as rank 1 counts it"
    assert not any(back.values())


def test_an_idle_interval_opens_in_its_row(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("idle")
    first = plugin.rows("idle.intervals").first
    cause = first.locator('[role="gridcell"]').nth(2).inner_text()
    first.click()
    plugin.ready("trace")
    plugin.frame.locator(".trace-title h2", has_text=cause).wait_for()
    settled(plugin)
    assert "Idle, by cause" in plugin.frame.locator(".trace-title").inner_text()
    assert panel(plugin).get_by_text("Next task", exact=True).count() == 1
    other = follow(open_plugin, demo_server, plugin.page.url)
    other.frame.locator(".trace-title h2", has_text=cause).wait_for()
