"""Rows in hand: hidden, moved and by kind; short slices left out; colours by duration; all of it in the link."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import Open, Plugin
from tests.e2e.timeline import box, copied_time, find, panel, param, settled, slices, trace

#: Width of the column of names; middle of the first row below the header of the first process; from row to row.
GUTTER, FIRST_ROW, PITCH = 210, 28, 14
PIXEL = (
    "(c, [x, y]) => Array.from(c.getContext('2d').getImageData(x * devicePixelRatio, y * devicePixelRatio, 1, 1).data)"
)


def colour(plugin: Plugin, share: float) -> list[int]:
    """Colour of the first row at this share of the time axis."""
    canvas = plugin.frame.locator(".tl-scroll canvas").first
    width = canvas.evaluate("c => c.clientWidth") - GUTTER
    found: list[int] = canvas.evaluate(PIXEL, [GUTTER + share * width, FIRST_ROW])
    return found


def test_rows_are_hidden_and_moved_and_the_link_holds_it(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    plugin.frame.get_by_role("button", name="Rows", exact=True).click()
    menu = plugin.frame.locator(".trace-menu")

    def listed() -> list[str]:
        return [text.split(" · ")[0].lstrip("▾▸") for text in menu.locator(".trace-process").all_inner_texts()]

    before = [name.strip() for name in listed()]
    assert before[:2] == ["Overlap Analysis", "Derived"] and "HBM" in before
    menu.get_by_label("Counters").uncheck()
    menu.get_by_role("button", name="Move Python · CPU up").click()
    menu.locator(".trace-row-tools", has_text="Stream 3").get_by_role("button", name="Hide").click()
    menu.get_by_role("button", name="Move Stream 3 up").click()
    settled(plugin)
    plugin.frame.get_by_role("button", name="Rows: 5 hidden").wait_for()
    hidden = param(plugin, "hidden").split("|")
    assert len(hidden) == 4 and {name.split(":")[0] for name in hidden} == {"AI Core Freq", "NPU MEM", "HBM", "LLC"}
    assert len(param(plugin, "hidden_rows").split(",")) == 1 and len(param(plugin, "row_order").split(",")) == 3
    order = [name.split(":")[0] for name in param(plugin, "order").split("|")]
    at = before.index("Python")
    assert order[at - 1 : at + 1] == ["Python", before[at - 1]]
    other = open_plugin(demo_server)
    other.go(plugin.page.url)
    other.ready("trace")
    settled(other)
    other.frame.get_by_role("button", name="Rows: 5 hidden").click()
    again = other.frame.locator(".trace-menu")
    assert not again.get_by_label("Counters").is_checked()
    again.get_by_role("button", name="All rows, as recorded").click()
    settled(other)
    param(other, "hidden", is_set=False)
    param(other, "order", is_set=False)


@pytest.mark.full
def test_short_slices_are_left_out_and_colours_tell_the_duration(open_plugin: Open, demo_server: str) -> None:
    """The window is the middle half of the longest slice of the first row."""
    base = min(one["ts"] for one in slices())
    longest = max((one for one in slices() if one["name"] == "Computing"), key=lambda one: one["dur"])
    start, quarter = longest["ts"] - base, longest["dur"] // 4
    plugin = trace(open_plugin, demo_server, {"trace.range": f"{start + quarter},{start + 3 * quarter}"})
    by_name = colour(plugin, 0.5)
    plugin.frame.get_by_role("button", name="Rows", exact=True).click()
    menu = plugin.frame.locator(".trace-menu")
    menu.get_by_label("Colour by").select_option("duration")
    settled(plugin)
    by_duration = colour(plugin, 0.5)
    assert by_duration != by_name and param(plugin, "colours") == "duration"
    menu.get_by_label("Colour by").select_option("category")
    settled(plugin)
    assert colour(plugin, 0.5) == by_name, "Overlap Analysis keeps its colours"
    menu.get_by_label("Colour by").select_option("duration")
    colours = {}
    for least in (10**6, 10**7, 0):
        menu.get_by_label("Slice duration").select_option(str(least))
        settled(plugin)
        assert param(plugin, "least", is_set=least > 0) == (str(least) if least else "")
        colours[least] = colour(plugin, 0.5)
    blank = colours.pop(10**7)
    assert 10**6 <= longest["dur"] < 10**7 and blank != by_duration
    assert set(map(tuple, colours.values())) == {tuple(by_duration)}


@pytest.mark.full
def test_merged_streams_and_hidden_frames(open_plugin: Open, demo_server: str) -> None:
    """A task of either stream is found in the merged row under its time; selecting a frame shows the frames again."""
    base = min(one["ts"] for one in slices())
    streams = {one["pid"]: one["tid"] for one in slices() if "Task Type" in one.get("args", {})}
    tasks = [one for one in slices() if one["pid"] in streams and one["tid"] in (2, 3) and one["dur"] > 0]
    plugin = trace(open_plugin, demo_server, {"trace.rows": "streams", "trace.rows_as": "frames,streams"})
    area, found = box(plugin), []
    for stream in (2, 3):
        task = max((one for one in tasks if one["tid"] == stream), key=lambda one: one["dur"])
        start, dur = task["ts"] - base, task["dur"]
        plugin.open(
            "trace",
            **{
                "trace.ranks": "none",
                "trace.rows": "streams",
                "trace.rows_as": "streams",
                "trace.range": f"{start},{start + dur}",
            },
        )
        settled(plugin)
        for depth in (0, 1):
            plugin.page.mouse.click(area["x"] + GUTTER + 300, area["y"] + FIRST_ROW + depth * PITCH)
            settled(plugin)
            if panel(plugin).locator(".facts").count() and copied_time(plugin) == (task["ts"], dur):
                found.append(stream)
                assert f"Stream {stream}" in plugin.frame.locator(".trace-title").inner_text()
    assert found == [2, 3]

    plugin.open("trace", **{"trace.ranks": "none", "trace.rows_as": "frames,streams"})
    settled(plugin)
    plugin.frame.get_by_role("button", name="Rows: no frames · streams merged").wait_for()
    find(plugin, "train_step")
    assert "train_step" in plugin.frame.locator(".trace-title").inner_text()
    plugin.page.wait_for_url("**rows_as=streams**")
    plugin.frame.get_by_role("button", name="Rows: streams merged", exact=True).click()
    menu = plugin.frame.locator(".trace-menu")
    assert not menu.get_by_label("Hide Python frames").is_checked() and menu.get_by_label("Merge streams").is_checked()
    assert menu.locator(".trace-thread", has_text="3 streams").count() == 1
    menu.get_by_label("Hide Python frames").check()
    plugin.page.wait_for_url("**rows_as=frames*streams**")
    param(plugin, "slice", is_set=False)
    settled(plugin)
    assert menu.get_by_label("Hide Python frames").is_checked(), "the selected frame gives way"
    menu.get_by_label("Hide Python frames").uncheck()
    menu.get_by_label("Merge streams").uncheck()
    menu.locator(".trace-thread", has_text="Stream 3").wait_for()
    param(plugin, "rows_as", is_set=False)
