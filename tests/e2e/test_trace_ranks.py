"""Several ranks in the Trace view, as a person uses them: from the strips of all ranks to the slow one."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qs, unquote, urlparse

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.conftest import FIXTURES
from tests.e2e.conftest import Open, Plugin, wait_until
from tests.e2e.timeline import box, copied_time, drag_range, find, panel, param, ranks_settled, settled, shown
from tests.support.trace import decode


def strips_settled(plugin: Plugin) -> None:
    """Wait until all traces are read, and rows and strips are drawn."""
    expect(plugin.frame.locator(".rank-strip-name.slow")).to_have_count(1)
    ranks_settled(plugin)


def epoch(plugin: Plugin, span: str) -> list[int]:
    """Visible part of the time axis, ns since the epoch."""
    base = int(plugin.get(f"view/trace?span={span}")["base_ns"])
    return [base + round(time) for time in shown(plugin)]


def test_from_the_strips_to_the_straggler_at_a_collective_and_to_a_link(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    place = plugin.span_of("transformer_slow_rank")
    plugin.open("trace", **place)
    strips_settled(plugin)
    frame, page = plugin.frame, plugin.page
    strips_are_hidden_and_shown(plugin)
    slow = frame.locator(".rank-strip-name.slow")
    assert slow.inner_text().split() == ["▸", "rank", "5", "computes", "×1.49"]

    frame.locator(".trace-tools button", has_text="Align: estimated clocks").click()
    frame.get_by_role("radio", name="end of hcom_allReduce").first.check()
    key = unquote(param(plugin, "align")).removeprefix("end:")
    for pressed in ("Escape", "w", "w"):
        page.keyboard.press(pressed)
    strips_settled(plugin)
    before = epoch(plugin, place["span"])

    waits_are_drawn(plugin, place)
    slow.click()
    frame.locator(".rank-strip-name.slow.open").wait_for()
    strips_settled(plugin)
    late = plugin.get(f"view/trace_ranks?run={place['run']}&span={place['span']}")["data"]
    (five,) = (line["span"] for line in late["lines"] if line["rank"] == 5)
    assert f"span={five}" in page.url
    (ends,) = (
        {one["span"]: one["end"] for one in found["ends"]}
        for found in late["collectives"]
        if [found["step"], found["group"], found["operator"], str(found["occurrence"])] == key.split("~")
    )
    shift = ends[five] - ends[place["span"]]
    assert shift != 0, "the clocks of the demo differ"
    assert epoch(plugin, five) == [time + shift for time in before], "the same moment of the aligned ranks"

    slow_kernel_is_marked(plugin)
    drawn = pictures(plugin)
    other = open_plugin(demo_server)
    other.go(page.url)
    other.ready("trace")
    strips_settled(other)
    other.frame.get_by_role("tab", name="Marks 1").click()
    assert other.frame.get_by_label("Name of the mark").input_value() == "slow on rank 5"
    strips_settled(other)
    assert pictures(other) == drawn


def strips_are_hidden_and_shown(plugin: Plugin) -> None:
    """An empty choice is in the link, too."""
    frame = plugin.frame
    frame.get_by_role("button", name="Ranks: 8 of 8").click()
    frame.get_by_role("button", name="None", exact=True).click()
    assert param(plugin, "ranks") == "none"
    expect(frame.locator(".rank-strips")).to_have_count(0)
    frame.get_by_role("button", name="All", exact=True).click()
    plugin.page.keyboard.press("Escape")
    strips_settled(plugin)


def slow_kernel_is_marked(plugin: Plugin) -> None:
    """By search and key; the mark is named."""
    find(plugin, "FlashAttentionScore")
    expect(panel(plugin)).to_contain_text("FlashAttentionScore")
    plugin.page.keyboard.press("m")
    plugin.frame.get_by_role("tab", name="Marks 1").click()
    name = plugin.frame.get_by_label("Name of the mark")
    name.fill("slow on rank 5")
    name.press("Enter")
    plugin.page.mouse.move(0, 0)  # what is under the pointer is highlighted
    param(plugin, "marks")
    strips_settled(plugin)


def test_a_click_on_a_strip_selects_and_a_drag_makes_a_range_of_ranks(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    place = plugin.span_of("transformer_slow_rank")
    plugin.open("trace", **place)
    strips_settled(plugin)
    frame, mouse = plugin.frame, plugin.page.mouse
    start, end = shown(plugin)
    wait = longest_wait(plugin, place["span"])
    strips = frame.locator(".rank-strips").bounding_box()
    assert strips is not None
    gutter = 210
    scale = (strips["width"] - SCROLLBAR - gutter) / (end - start)
    x = strips["x"] + gutter + ((wait[0] + wait[1]) / 2 - start) * scale

    def y(rank: int) -> float:
        return strips["y"] + rank * 24 + 12

    mouse.move(x, y(0))
    expect(frame.locator(".tooltip")).to_contain_text("waits for rank 5 · ")
    mouse.down()
    mouse.move(x + 2, y(0) + 2)  # a hand is not still
    mouse.up()
    expect(panel(plugin)).to_contain_text("waits for rank 5")
    span, first, last = param(plugin, "part").split(",")
    assert span == place["span"] and [float(first), float(last)] == pytest.approx(wait[:2], abs=1)

    mouse.move(x - 60, y(1))
    mouse.down()
    mouse.move(x + 40, y(3), steps=4)
    mouse.up()
    rows = panel(plugin).locator('[data-table="trace.ranks"] .data-row.body')
    expect(rows).to_have_count(3)
    assert param(plugin, "area").split(",")[2:] == ["r2", "r3", "r4"], "numbers of ranks 1 to 3 on the page"
    assert place["span"] in plugin.page.url, "a release on a strip opens no rank"
    mouse.dblclick(x, y(3))
    frame.get_by_role("button", name="Hide the rows of rank 3").wait_for()


#: Width of the scrollbar of the strips.
SCROLLBAR = 0


def longest_wait(plugin: Plugin, span: str) -> tuple[float, float, str]:
    """Start and end on the page, and late rank."""
    base = int(plugin.get(f"view/trace?span={span}")["base_ns"])
    asked = {"sources": [{"span": span, "zero": str(base)}], "t0": 0, "t1": 150_000_000, "bins": 10}
    url = f"{plugin.url}data/plugin/npu_profiler/api/timeline/strips"
    header, _ = decode(plugin.page.request.get(url, params={"query": json.dumps(asked)}).body())
    start, end, rank, via = max(header["strips"][0]["waits"], key=lambda wait: wait[1] - wait[0])
    assert via is None, "rank 5 waits for nobody"
    return start, end, rank


def test_ranks_without_a_trace_have_strips(open_plugin: Open, many_server: str) -> None:
    """Their kernels are enough; the page says what rows need."""
    plugin = open_plugin(many_server)
    place = plugin.span_of("bare")
    plugin.open("trace", **place)
    frame = plugin.frame
    frame.locator(".rank-strips[data-ready=yes]").wait_for()
    expect(frame.locator(".rank-strip-open b")).to_have_text([f"rank {rank}" for rank in range(4)])
    expect(frame.locator(".trace-rows-missing")).to_contain_text("rows need the trace (trace_view.json)")
    expect(frame.get_by_placeholder("Search slices")).to_have_count(0)
    strips = frame.locator(".rank-strips").bounding_box()
    assert strips
    plugin.page.mouse.click(strips["x"] + 500, strips["y"] + 36)
    expect(panel(plugin)).to_contain_text("Exposed computing")


def test_the_straggler_among_many_ranks_is_in_sight(open_plugin: Open, many_server: str) -> None:
    plugin = open_plugin(many_server, height=520)
    place = plugin.span_of("many")
    plugin.open("trace", **place)
    strips_settled(plugin)
    frame = plugin.frame
    slow = frame.locator(".rank-strip-name.slow")
    assert slow.inner_text().split()[1:4] == ["rank", "22", "computes"]
    assert is_inside(slow, frame.locator(".rank-strips")), "scrolled to"
    expect(frame.locator(".rank-strip-group.slow")).to_contain_text("node2")

    frame.get_by_role("button", name="Sort: rank").click()
    frame.get_by_role("option", name="computing, longest first").click()
    assert param(plugin, "sort") == "computing"
    frame.get_by_role("button", name="Group: host").click()
    frame.get_by_role("option", name="none").click()
    expect(slow).to_have_attribute("style", re.compile("^top: 0px"))
    strips_settled(plugin)
    splitter = frame.get_by_role("separator", name="Height of the strips")
    before = frame.locator(".rank-strips").bounding_box()
    splitter.press("ArrowUp")
    plugin.page.reload()
    strips_settled(plugin)
    after = frame.locator(".rank-strips").bounding_box()
    assert before and after and after["height"] == before["height"] - 24, "the browser keeps the height"


def is_inside(inner: Locator, outer: Locator) -> bool:
    one, other = inner.bounding_box(), outer.bounding_box()
    assert one and other
    return one["y"] >= other["y"] and one["y"] + one["height"] <= other["y"] + other["height"]


@pytest.mark.full
def test_times_that_only_another_rank_has_can_be_shown_and_linked(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    place = plugin.span_of("transformer_slow_rank")
    plugin.open("trace", **place, **{"trace.ranks": "all"})
    strips_settled(plugin)
    ranks = plugin.get(f"view/trace_ranks?run={place['run']}&span={place['span']}")
    last = int(ranks["base_ns"]) + max(line["end"] for line in ranks["data"]["lines"])
    own = epoch(plugin, place["span"])
    assert own[1] < last, "rank 5 works longer than rank 0 was recorded"
    plugin.page.keyboard.press("Control+0")
    strips_settled(plugin)
    assert epoch(plugin, place["span"])[1] >= last

    base = int(plugin.get(f"view/trace?span={place['span']}")["base_ns"])
    drag_range(plugin)
    plugin.frame.get_by_role("tab", name="Device time", exact=True).click()
    row = plugin.frame.locator('[data-table="trace.ranks"] [role=row]', has_text="rank 0").first
    expect(row).to_contain_text("rank 5")  # whom it waits for
    tail = (own[1] - base, last - base)
    plugin.open("trace", **place, **{"trace.ranks": "all", "trace.range": f"{tail[0]},{tail[1]}"})
    strips_settled(plugin)
    assert shown(plugin) == tail


def test_rows_of_other_ranks_pinned_aligned_and_linked(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server, height=1100)
    place = plugin.span_of("transformer_slow_rank")
    plugin.open("trace", **place, **{"trace.ranks": "all"})
    strips_settled(plugin)
    frame, page = plugin.frame, plugin.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/timeline/" in request.url else None)
    frame.get_by_role("button", name="Show the rows of rank 5 below").click()
    five = param(plugin, "unfolded")
    param(plugin, "closed")  # rows of its host
    strips_settled(plugin)

    frame.get_by_role("button", name="Rows", exact=True).click()
    frame.locator(".trace-thread", has_text="Stream 2").first.get_by_role("button", name="all ranks").click()
    page.keyboard.press("Escape")
    assert len(param(plugin, "pins").split(",")) == 8
    strips_settled(plugin)
    asked.clear()
    page.keyboard.press("w")
    strips_settled(plugin)
    assert len([url for url in asked if "/timeline/rows" in url]) <= 1, "one request for the rows of all ranks"
    assert len(asked) <= 2, asked

    align_by_slices(plugin, five)
    page.mouse.move(0, 0)
    strips_settled(plugin)
    param(plugin, "slice")
    frame.locator(".tl-scroll").evaluate("rows => { rows.scrollTop = 0; }")  # a link does not hold it
    strips_settled(plugin)
    drawn = pictures(plugin)
    other = open_plugin(demo_server, height=1100)
    held: list[Route] = []
    other.page.route("**/view/trace_ranks?*", lambda route: held.append(route))
    other.go(page.url)
    other.ready("trace")
    panel(other).get_by_text("Ascend Hardware · Stream 2").wait_for()
    for route in held:
        route.continue_()  # the clocks are known after the slice was shown
    other.page.unroute("**/view/trace_ranks?*")
    strips_settled(other)
    panel(other).get_by_text("rank 5 · Ascend Hardware · Stream 2").wait_for()
    strips_settled(other)
    assert pictures(other) == drawn


def align_by_slices(plugin: Plugin, five: str) -> None:
    """Align rank 5 with rank 0 by a slice of each, in the pinned rows; leaves that of rank 5 selected."""
    frame, page = plugin.frame, plugin.page
    area = box(plugin)
    page.mouse.click(area["x"] + 400, area["y"] + 6)
    panel(plugin).get_by_text("rank 0 · Ascend Hardware · Stream 2").wait_for()
    first = copied_time(plugin)
    page.keyboard.down("Shift")
    page.mouse.click(area["x"] + 400, area["y"] + 5 * 31 + 6)
    page.keyboard.up("Shift")
    frame.get_by_role("button", name="Align starts").click()
    offset = int(param(plugin, "offsets").removeprefix(f"{five}:"))
    assert offset != 0
    strips_settled(plugin)
    page.mouse.click(area["x"] + 400, area["y"] + 5 * 31 + 6)
    panel(plugin).get_by_text("rank 5 · Ascend Hardware · Stream 2").wait_for()
    assert first != copied_time(plugin), "the times of the files stay"


@pytest.mark.full
def test_two_runs_one_above_the_other(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server, height=1100)
    place, other = plugin.span_of("transformer_910b"), plugin.span_of("transformer_910b_tuned")
    plugin.open("trace", **place)
    settled(plugin)
    frame, page = plugin.frame, plugin.page
    frame.get_by_role("button", name="Ranks: 2 of 2").click()
    frame.get_by_role("button", name="Compare with run: none").click()
    frame.get_by_role("option", name="transformer_910b_tuned").click()
    page.keyboard.press("Escape")
    ranks_settled(plugin)
    # the other run has its worker's name until its ranks are read
    expect(frame.locator(".rank-strip-open b")).to_have_text(["rank 0", "B rank 0", "rank 1", "B rank 1"])
    frame.get_by_role("button", name="Show the rows of B rank 0 below").click()
    ranks_settled(plugin)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/timeline/" in request.url else None)
    second_step_is_listed_and_shown(plugin, place, other)
    other_run_is_aligned(plugin, asked, place, other)

    frame.get_by_role("tab", name="Slice").click()
    ranks_settled(plugin)
    drawn = pictures(plugin)
    copy = open_plugin(demo_server, height=1100)
    copy.go(page.url)
    copy.ready("trace")
    ranks_settled(copy)
    copy.frame.locator(".tl-scroll").evaluate("(rows, top) => { rows.scrollTop = top; }", scrolled(plugin))
    ranks_settled(copy)
    assert pictures(copy) == drawn


def first_steps(plugin: Plugin, place: dict[str, str]) -> tuple[int, list[dict[str, Any]]]:
    """Base (ns since the epoch) and the first two steps of rank 0 of a run."""
    view = plugin.get(f"view/trace_ranks?run={place['run']}")
    return int(view["base_ns"]), view["data"]["lines"][0]["steps"][:2]


def second_step_is_listed_and_shown(plugin: Plugin, place: dict[str, str], other: dict[str, str]) -> None:
    """The table has both times of the second step; a click on its row shows the step of the other run."""
    (_, (_, own)), (_, (_, compared)) = (first_steps(plugin, one) for one in (place, other))
    own_ms, other_ms = sum(own["times"]) / 1e6, sum(compared["times"]) / 1e6
    figures = [f"{own_ms:.3f}", f"{other_ms:.3f}", f"{other_ms - own_ms:.3f}".replace("-", "−")]
    plugin.frame.get_by_role("tab", name="Steps A, B").click()
    row = panel(plugin).locator(".data-row.body").nth(1)
    assert row.inner_text().split()[3:6] == figures
    row.click()
    settled(plugin)
    ranks_settled(plugin)


def other_run_is_aligned(plugin: Plugin, asked: list[str], place: dict[str, str], other: dict[str, str]) -> None:
    """A request has the strips of both runs, another the rows; the first steps of both start at the same moment of the page,
    and the second step of the other run is in view."""
    strips, rows = ([question(url) for url in asked if f"/timeline/{route}" in url] for route in ("strips", "rows"))
    (own_base, (first, _)), (other_base, (other_first, second)) = (first_steps(plugin, one) for one in (place, other))
    zeros = [int(source["zero"]) for source in strips[-1]["sources"]]
    assert own_base + first["start"] - zeros[0] == other_base + other_first["start"] - zeros[1]
    start = other_base + second["start"] - zeros[1]
    assert start - shown(plugin)[0] == pytest.approx(0.05 * sum(second["times"]), abs=20)
    asked_zeros = {source["span"]: int(source["zero"]) for source in rows[-1]["sources"]}
    assert [asked_zeros[one["span"]] for one in (place, other)] == zeros[:2]


def scrolled(plugin: Plugin) -> float:
    return float(plugin.frame.locator(".tl-scroll").evaluate("rows => rows.scrollTop"))


def pictures(plugin: Plugin) -> list[str]:
    """Ruler, strips and rows as drawn."""
    canvases = plugin.frame.locator(".tl-top, .rank-strips-canvas, .tl-base")
    found: list[str] = canvases.evaluate_all("found => found.map(canvas => canvas.toDataURL())")
    assert len(found) == 3
    return found


def waits_are_drawn(plugin: Plugin, place: dict[str, str]) -> None:
    """The strip of the open rank has the colour of waiting where the server says that the rank waits all the time."""
    start, end = epoch(plugin, place["span"])
    asked = {"sources": [{"span": place["span"], "zero": str(start)}], "t0": 0, "t1": end - start, "bins": 100}
    url = f"{plugin.url}data/plugin/npu_profiler/api/timeline/strips"
    answer = plugin.page.request.get(url, params={"query": json.dumps(asked)}).body()
    header, columns = decode(answer)
    waiting = columns[place["span"]].reshape(-1, 100)[header["parts"].index("waiting")] * header["unit"]
    bins = [at for at in range(100) if waiting[at] >= (end - start) // 100]
    assert bins, "no wait in the view"
    canvas = plugin.frame.locator(".rank-strips-canvas")
    found = canvas.evaluate(
        """(canvas, bins) => {
          const gutter = canvas.clientWidth < 760 ? 130 : 210, ratio = canvas.width / canvas.clientWidth;
          const pixel = x => Array.from(canvas.getContext("2d").getImageData(x * ratio, 5 * ratio, 1, 1).data).slice(0, 3);
          const width = canvas.clientWidth - gutter;
          const colour = getComputedStyle(canvas).getPropertyValue("--c-wait").trim();
          const wanted = [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));
          return [wanted, bins.map(bin => pixel(gutter + width * (bin + 0.5) / 100))];
        }""",
        bins,
    )
    assert all(pixel == found[0] for pixel in found[1])


@pytest.mark.full
def test_statistics_of_a_range_cover_unfolded_ranks(open_plugin: Open, demo_server: str) -> None:
    """Of everything: each slice of both files. A band over rows of rank 5 counts those alone."""
    plugin = open_plugin(demo_server, height=1100)
    run = plugin.span_of("transformer_slow_rank")
    (found,) = (one for one in plugin.catalog()["runs"] if one["id"] == run["run"])
    (five,) = (worker["spans"][0]["id"] for worker in found["workers"] if worker["rank"] == 5)
    plugin.open("trace", **run, **{"trace.ranks": "all", "trace.unfolded": five, "trace.area": f"-{10**9},{10**9}"})
    strips_settled(plugin)
    rows = panel(plugin).locator(".data-row.body")
    plugin.frame.get_by_role("tab", name="Rank", exact=True).click()
    expect(rows).to_have_count(2)
    for row in rows.all():
        rank, _, _, count = row.locator('[role="gridcell"]').all_inner_texts()[:4]
        (info,) = FIXTURES.glob(f"demo/transformer_slow_rank/*/profiler_info_{rank.removeprefix('rank ')}.json")
        events = json.loads((info.parent / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text("utf-8"))
        assert int(re.sub(r"\D", "", count)) == sum(event["ph"] == "X" for event in events)

    plugin.page.keyboard.press("Escape")
    plugin.frame.get_by_role("button", name="Rows", exact=True).click()
    plugin.frame.locator(".trace-thread", has_text="Stream 2").first.get_by_role("button", name="all ranks").click()
    plugin.page.keyboard.press("Escape")
    strips_settled(plugin)
    canvas, y = box(plugin), 5 * 31 + 6
    plugin.page.mouse.move(canvas["x"] + 400, canvas["y"] + y)
    plugin.page.mouse.down()
    plugin.page.mouse.move(canvas["x"] + 700, canvas["y"] + y + 4, steps=4)
    plugin.page.mouse.up()
    plugin.frame.get_by_role("tab", name="Row", exact=True).click()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("rank 5 · Ascend Hardware · Stream 2")
    area = param(plugin, "area")
    plugin.open("trace", **run, **{"trace.ranks": "all", "trace.area": area})  # rank 5 is folded
    expect(rows.first).to_contain_text("rank 5 · Ascend Hardware · Stream 2")


@pytest.mark.full
def test_a_search_walks_over_all_ranks_that_are_shown(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server, height=1000)
    run = plugin.span_of("transformer_slow_rank")
    plugin.open("trace", **run, **{"trace.ranks": "all"})
    strips_settled(plugin)
    frame, page = plugin.frame, plugin.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/timeline/search" in request.url else None)
    before = pictures(plugin)[1]
    page.keyboard.press("/")
    page.keyboard.type("FlashAttention")
    counter = frame.locator(".trace-place .link")
    expect(counter).to_contain_text("in 8 ranks")
    strips_settled(plugin)
    assert pictures(plugin)[1] != before, "ticks of the hits on the strips"
    (url,) = asked  # one request for all ranks
    parts = [source["span"] for source in question(url)["sources"]]
    hits = plugin.get(f"timeline/search?{urlparse(url).query}")
    total = hits["total"]
    assert total == len(hits["hits"]) == sum(part["total"] for part in hits["parts"])
    assert len(parts) == 8 and all(part["total"] for part in hits["parts"])

    page.keyboard.press("Enter")
    expect(counter).to_have_text(f"1 of {total} in 8 ranks")
    page.keyboard.press("Shift+Enter")
    expect(counter).to_have_text(f"{total} of {total} in 8 ranks")
    last = parts[hits["hits"][-1][6]]
    assert param(plugin, "unfolded") == last, "the folded rank of the hit is unfolded"
    strips_settled(plugin)
    expect(counter).to_have_text(f"{total} of {total} in 8 ranks")
    hits_are_sorted_by_rank(plugin, counter)


def hits_are_sorted_by_rank(plugin: Plugin, counter: Locator) -> None:
    """In the list of matches; a click goes to the hit of a folded rank. Without strips, the search is of the open rank."""
    frame = plugin.frame
    counter.click()
    rows = panel(plugin).locator(".data-row.body")
    for first in ("rank 0", "rank 7"):
        frame.get_by_role("button", name="Sort by Rank").click()
        expect(rows.first).to_contain_text(first)
    rows.first.click()
    panel(plugin).get_by_text("rank 7 · ").first.wait_for()
    frame.get_by_role("button", name="Ranks: 8 of 8").click()
    frame.get_by_role("button", name="None", exact=True).click()
    plugin.page.keyboard.press("Escape")
    expect(counter).not_to_contain_text("ranks")


def test_tasks_of_a_collective_on_all_ranks(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    place = plugin.span_of("transformer_slow_rank")
    plugin.open("trace", **place, **{"trace.ranks": "none"})
    settled(plugin)
    plugin.frame.get_by_placeholder("Search slices").fill("hcom_allReduce__587_1_1")
    plugin.page.keyboard.press("Enter")
    plugin.frame.get_by_role("tab", name="Matches").click()
    plugin.frame.locator('[data-table="timeline.hits"] .data-row.body', has_text="Communication ·").first.click()
    read = plugin.frame.get_by_role("button", name="Read them")
    ready = plugin.frame.get_by_text("8 of 8 ranks")
    ready.or_(read).first.wait_for()
    if read.is_visible():  # the traces of a small run are read in the background
        read.click()
    ready.wait_for()
    tasks = plugin.frame.locator('[data-table="timeline.collective"]')
    expect(tasks).to_have_attribute("aria-rowcount", str(8 * 74 + 1))
    tasks.locator(".data-row.body", has_text="rank 7").first.click()
    ranks_settled(plugin)
    expect(panel(plugin)).to_contain_text("rank 7 · Communication · Plane")
    assert plugin.frame.get_by_role("button", name="Hide the rows of rank 7").is_visible()


@pytest.mark.full
def test_derived_rows_of_another_rank(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server, height=1100)
    place = plugin.span_of("transformer_slow_rank")
    (run,) = (run for run in plugin.catalog()["runs"] if run["id"] == place["run"])
    (five,) = (worker["spans"][0]["id"] for worker in run["workers"] if worker["rank"] == 5)
    asked: list[str] = []
    plugin.page.on("request", lambda request: asked.append(request.url))
    first = 6 * 2**32 + 2**31  # rank 5 is the sixth of the run: the first slice of its derived rows
    plugin.open("trace", **place, **{"trace.slice": str(first)})
    expect(panel(plugin)).to_contain_text("rank 5 · Derived · Idle, by cause")

    def is_asked() -> bool:
        sources = [source for url in asked if "/timeline/rows" in url for source in question(url)["sources"]]
        return any((source["span"], source["layer"]) == (five, "derived") for source in sources)

    wait_until(plugin, is_asked)
    clocks = plugin.frame.locator(".trace-tools button", has_text="Align: estimated clocks ±")
    clocks.wait_for()
    ranks_settled(plugin)
    start, end = shown(plugin)
    clocks.click()
    plugin.frame.get_by_role("radio", name="as recorded").check()
    plugin.page.keyboard.press("Escape")
    ranks_settled(plugin)
    moved = shown(plugin)
    assert moved[0] != start and moved[1] - moved[0] == pytest.approx(end - start), "the selected slice stays in sight"
    panel(plugin).locator(".facts button.link").first.click()
    settled(plugin)
    expect(panel(plugin)).to_contain_text(re.compile("rank 5 · (Ascend Hardware|Python|CANN)"))


def question(url: str) -> Any:
    """The question of a request."""
    return json.loads(parse_qs(urlparse(url).query)["query"][0])


def test_a_range_is_explained_against_the_other_ranks(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("trace", **plugin.span_of("transformer_slow_rank"), **{"trace.area": "0,68000000"})
    line = plugin.frame.locator(".trace-explain summary")
    expect(line).to_contain_text(
        re.compile(r"^Rank 5 computes for .* above the median of the other ranks\. 7 ranks wait")
    )
    line.click()
    expect(plugin.rows("trace.explain").first).to_contain_text("MatMulV3")
