"""The Trace view as a person uses it; what it shows is compared with the trace file itself."""

from __future__ import annotations

import csv
from decimal import Decimal

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Open, Plugin, wait_until
from tests.e2e.timeline import (
    KERNEL,
    TRACE,
    box,
    copied_time,
    drag_range,
    find,
    panel,
    param,
    place,
    settled,
    shown,
    slices,
    trace,
)

#: Width of the column of names; heights of a process's header and half a bar.
GUTTER, HEADER, HALF = 210, 22, 6
PIXEL = (
    "(c, [x, y]) => { const r = devicePixelRatio; const d = c.getContext('2d').getImageData(x * r, y * r, 1, 1).data; \
return Array.from(d).slice(0, 3); }"
)


def press(plugin: Plugin, *keys: str) -> tuple[float, float]:
    """Press keys; returns the visible part of the time axis."""
    for key in keys:
        plugin.page.keyboard.press(key)
    settled(plugin)
    return shown(plugin)


def test_keys_and_wheel_zoom_and_move(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    mouse, area = plugin.page.mouse, box(plugin)
    param(plugin, "range", is_set=False)  # the address does not hold the first view
    start, end = press(plugin, "w")
    moved = press(plugin, "d")
    assert moved[0] > start and moved[1] - moved[0] == pytest.approx(end - start, abs=0.1)
    press(plugin, "a", "s")
    param(plugin, "range", is_set=False)  # moved and zoomed back
    middle = area["x"] + area["width"] / 2
    mouse.move(middle, area["y"] + 60)
    plugin.page.keyboard.down("Control")
    mouse.wheel(0, -400)
    plugin.page.keyboard.up("Control")
    settled(plugin)
    near = shown(plugin)
    assert near[1] - near[0] < (end - start)
    mouse.move(middle, area["y"] + 5)
    plugin.page.keyboard.down("Shift")
    mouse.down()
    mouse.move(middle - 100, area["y"] + 5, steps=3)
    mouse.up()
    plugin.page.keyboard.up("Shift")
    settled(plugin)
    assert shown(plugin)[0] > near[0], "Shift and drag moves"
    press(plugin, "Control+0")
    param(plugin, "range", is_set=False)
    press(plugin, "Backspace")
    assert param(plugin, "range")


def test_slice_shows_the_exact_figures_of_the_file(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    wanted = sorted((s for s in slices() if KERNEL in s["name"]), key=lambda s: s["ts"])
    find(plugin, KERNEL)
    at, total = place(plugin.frame)
    assert (at, total) == (1, len(wanted))
    assert copied_time(plugin) == (wanted[0]["ts"], wanted[0]["dur"])
    press(plugin, "Enter")
    assert place(plugin.frame)[0] == 2 and copied_time(plugin) == (wanted[1]["ts"], wanted[1]["dur"])
    press(plugin, "Shift+Enter")
    assert place(plugin.frame)[0] == 1
    text = panel(plugin).inner_text()
    for key, value in wanted[0]["args"].items():
        assert key in text and str(value) in text
    for part in ("From kernel_details.csv", "AI_CORE", "block dim", "Node@launch", "launched"):
        assert part in text


def test_click_selects_the_bar_that_is_painted_there(open_plugin: Open, demo_server: str) -> None:
    row = sorted((s for s in slices() if s["name"] == "Computing"), key=lambda s: s["ts"])  # the uppermost one
    apart = [s for before, s in zip(row, row[1:]) if s["ts"] - before["ts"] - before["dur"] > 0.1 * s["dur"]]
    one = max(apart, key=lambda s: s["dur"])
    base = min(s["ts"] for s in slices())
    plugin = trace(open_plugin, demo_server, {"find": one["name"], "at": f"{one['ts']},{one['dur']}"})
    chosen = param(plugin, "slice")
    assert chosen and copied_time(plugin) == (one["ts"], one["dur"])
    (start, end), area = shown(plugin), box(plugin)
    width = plugin.frame.locator(".tl-scroll canvas").first.evaluate("c => c.clientWidth")

    def x_of(share: float) -> int:
        time = float(one["ts"] - base + share * one["dur"])
        return int(GUTTER + (time - start) / (end - start) * float(width - GUTTER))

    canvas = plugin.frame.locator(".tl-scroll canvas").first
    inside, beside = (canvas.evaluate(PIXEL, [x_of(share), HEADER + 2]) for share in (0.5, -0.02))
    assert inside == [0, 114, 178] and beside != inside
    plugin.page.mouse.click(area["x"] + GUTTER + 30, area["y"] + HEADER / 2)  # nothing stands there
    settled(plugin)
    param(plugin, "slice", is_set=False)
    plugin.page.mouse.click(area["x"] + x_of(0.5), area["y"] + HEADER + HALF)
    settled(plugin)
    assert param(plugin, "slice") == chosen
    plugin.page.mouse.dblclick(area["x"] + x_of(0.5), area["y"] + HEADER + HALF)
    settled(plugin)
    fitted = shown(plugin)
    assert fitted[0] < one["ts"] - base < one["ts"] - base + one["dur"] < fitted[1]
    assert fitted[1] - fitted[0] == pytest.approx(1.2 * one["dur"], rel=0.01)


def test_tooltip_follows_what_moves_under_the_pointer(open_plugin: Open, demo_server: str) -> None:
    one = next(s for s in slices() if s["name"] == "Computing")  # in the uppermost row
    plugin = trace(open_plugin, demo_server, {"find": one["name"], "at": f"{one['ts']},{one['dur']}"})
    area = box(plugin)
    plugin.page.mouse.move(area["x"] + (GUTTER + area["width"]) / 2, area["y"] + HEADER + HALF)
    tooltip = plugin.frame.locator(".tooltip", has_text="Computing")
    expect(tooltip).to_have_count(1)
    press(plugin, "PageDown")
    expect(tooltip).to_have_count(0)


def test_note_of_a_key_disappears_with_the_next_key(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    find(plugin, "ProfilerStep#11")
    plugin.page.keyboard.press("[")
    note = plugin.frame.locator(".trace-note", has_text="This slice has no incoming flow.")
    expect(note).to_have_count(1)
    plugin.page.keyboard.press("w")
    expect(note).to_have_count(0)


def test_slices_during_an_idle_period(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    find(plugin, "Free")
    start, dur = copied_time(plugin)
    panel(plugin).get_by_text("What ran during this slice").click()
    table = plugin.frame.locator('[data-table="trace.range"]')
    meanwhile = [one for one in slices() if one["ts"] < start + dur and one["ts"] + one["dur"] > start]
    names = {(one["pid"], one["tid"], one["name"]) for one in meanwhile}
    expect(table).to_have_attribute("aria-rowcount", str(len(names) + 1))
    expect(plugin.frame.locator(".trace-title")).to_contain_text(f"{len(meanwhile)} slices")
    # By self time in the gap: enclosing slices come later.
    rows = [row.inner_text() for row in table.locator(".data-row.body").all()]
    outer = [number for number, row in enumerate(rows) if "ProfilerStep" in row]
    assert outer and min(outer) > 1


def test_dragged_range_lists_the_slices_of_its_rows(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    drag_range(plugin)
    table = plugin.frame.locator('[data-table="trace.range"] [role="row"]')
    table.nth(1).wait_for()
    rows = list(csv.DictReader(plugin.download(panel(plugin).get_by_text("CSV ↓")).decode().splitlines()))
    tracks = {row["thread"] for row in rows}
    assert tracks and tracks <= {"Computing", "Communication", "Communication(Not Overlapped)", "Free"}
    assert all(int(row["total_ns"]) >= int(row["clipped_ns"]) > 0 for row in rows)
    expect(table).to_have_count(len(rows) + 1)
    title = plugin.frame.locator(".trace-title")
    expect(title).to_contain_text(f"{sum(int(row['count']) for row in rows)} slices")
    before = shown(plugin)
    panel(plugin).get_by_text("Zoom to it").click()
    settled(plugin)
    start, end = shown(plugin)
    assert before[0] < start < end < before[1]


def test_from_an_operator_to_its_kernels_and_back(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    find(plugin, "aten::mm")
    operator = copied_time(plugin)
    tasks, nested = (
        plugin.frame.locator(f'[data-table="timeline.{name}"] .data-row.body') for name in ("tasks", "nested")
    )
    expect(tasks).to_have_count(1)
    expect(panel(plugin)).to_contain_text("1 task")
    expect(nested.first).to_be_visible()
    tasks.first.click()
    settled(plugin)
    copied = copied_time(plugin)
    kernel = next(s for s in slices() if (s["ts"], s["dur"]) == copied)
    assert "MatMulV3" in kernel["name"] and kernel["ts"] > operator[0]
    press(plugin, "[")
    assert copied_time(plugin) == operator, "before the first kernel is the operator"
    press(plugin, "]")
    assert copied_time(plugin) == (kernel["ts"], kernel["dur"])
    press(plugin, "]")
    expect(plugin.frame.locator(".trace-note", has_text="No further task in the list.")).to_have_count(1)
    find(plugin, kernel["name"])  # found by itself, it is one of its stream
    first = copied_time(plugin)
    stream = sorted((s["ts"], s["dur"]) for s in slices() if (s["pid"], s["tid"]) == (kernel["pid"], kernel["tid"]))
    press(plugin, "]")
    assert copied_time(plugin) == stream[stream.index(first) + 1]
    press(plugin, "[")
    assert copied_time(plugin) == first


def test_slices_behind_a_row_of_the_range(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    drag_range(plugin)
    computing = sorted((s["ts"], s["dur"]) for s in slices() if s["name"] == "Computing")
    shown_by = plugin.frame.locator(".trace-title .segments")
    shown_by.get_by_role("tab", name="Row", exact=True).click()
    rows = plugin.frame.locator('[data-table="trace.range"] .data-row.body')
    rows.filter(has_text="Computing").click()
    members = plugin.frame.locator('[data-table="timeline.members"] .data-row.body')
    members.first.wait_for()
    title = plugin.frame.locator(".trace-list-title")
    found = list(csv.DictReader(plugin.download(title.get_by_text("CSV ↓")).decode().splitlines()))
    assert found and {(int(row["start_ns"]), int(row["dur_ns"])) for row in found} < set(computing)
    expect(title).to_contain_text(f"{len(found)} slices")
    members.first.click()  # the longest
    settled(plugin)
    assert copied_time(plugin)[1] == max(int(row["dur_ns"]) for row in found)
    plugin.frame.get_by_role("tab", name="Range").click()
    title.get_by_text("Range").click()
    shown_by.get_by_role("tab", name="Counters").click()
    expect(plugin.frame.locator('[data-table="trace.range_counters"] .data-row.body').first).to_be_visible()


def test_range_in_another_view(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    find(plugin, "ProfilerStep#11")
    start, dur = copied_time(plugin)
    panel(plugin).get_by_text("What ran during this slice").click()
    panel(plugin).get_by_text("In Kernel").click()
    plugin.ready("kernel")
    rows = list(csv.DictReader((TRACE.parent / "kernel_details.csv").read_text("utf-8").splitlines()))
    times = [(int(Decimal(row["Start Time(us)"]) * 1000), int(Decimal(row["Duration(us)"]) * 1000)) for row in rows]
    inside = sum(begin < start + dur and begin + took > start for begin, took in times)
    assert 0 < inside < len(rows)
    plugin.frame.get_by_role("tab", name="All", exact=True).click()
    table = plugin.frame.locator('[data-table="kernel.all"]')
    expect(table).to_have_attribute("aria-rowcount", str(inside + 1))
    plugin.quiet()  # the address follows
    plugin.go(plugin.page.url)  # the link holds it
    plugin.ready("kernel")
    expect(table).to_have_attribute("aria-rowcount", str(inside + 1))
    plugin.switch("operator")
    calls = [s for s in slices() if s.get("cat") == "cpu_op" and s["ts"] < start + dur and s["ts"] + s["dur"] > start]
    inside_calls = sum("ProfilerStep#" not in s["name"] for s in calls)
    found = csv.DictReader(plugin.download(plugin.main.get_by_text("CSV ↓")).decode().splitlines())
    assert sum(int(row["calls"]) for row in found) == inside_calls
    plugin.switch("distributed")
    expect(plugin.card("Device by rank")).to_be_visible()
    expect(plugin.card("Links")).to_contain_text("Unknown for a range")
    plugin.switch("kernel")
    plugin.frame.get_by_role("button", name="Show the whole capture").click()
    expect(table).to_have_attribute("aria-rowcount", str(len(rows) + 1))
    expect(plugin.frame.locator(".period-chip .on")).to_have_count(0)


def test_hidden_timeline_does_not_draw(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    count = (
        "() => { const was = window.requestAnimationFrame; window.frames_asked = 0; "
        "window.requestAnimationFrame = f => { window.frames_asked += 1; return was(f); }; }"
    )
    frame = next(one for one in plugin.page.frames if "name=npu_profiler" in one.url)
    frame.evaluate(count)
    holder = plugin.page.locator('iframe[src*="name=npu_profiler"]')
    holder.evaluate("e => { e.style.display = 'none'; }")
    press = "() => document.body.dispatchEvent(new KeyboardEvent('keydown', {code: 'KeyW', key: 'w', bubbles: true}))"
    for _ in range(50):  # it takes a moment to notice
        frame.evaluate("() => { window.frames_asked = 0; }")
        for _ in range(3):
            frame.evaluate(press)
        plugin.page.wait_for_timeout(150)
        asked = frame.evaluate("() => window.frames_asked")
        if asked == 0:
            break
    assert asked == 0
    holder.evaluate("e => { e.style.display = ''; }")
    wait_until(plugin, lambda: frame.evaluate("() => window.frames_asked") > 0)  # settled() asks for frames itself
    settled(plugin)
