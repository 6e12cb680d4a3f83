"""The Trace view as a person uses it; what it shows is compared with the trace file itself."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import FloatRect, FrameLocator, Locator, expect

from tests.conftest import FIXTURES, ROOT
from tests.e2e.conftest import Plugin
from tests.e2e.tensorboard import tensorboard

Open = Callable[..., Plugin]
#: The trace that the first rank of the demo opens.
TRACE = min(FIXTURES.glob("demo/transformer_910b/*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"))
KERNEL = "aclnnMatmul_MatMulV2_MatMulV2"
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


def trace(open_plugin: Open, server: str, state: dict[str, str] | None = None, **options: object) -> Plugin:
    plugin = open_plugin(server, **options)
    plugin.open("trace", **(state or {}))
    settled(plugin)
    return plugin


def settled(plugin: Plugin) -> None:
    """Wait until the timeline has drawn all that it asked for and is at rest."""
    plugin.frame.locator(".tl[data-ready=yes]").wait_for()
    plugin.page.wait_for_timeout(60)  # for what a click asked of the server
    plugin.frame.locator(".tl[data-ready=yes]").wait_for()


def param(plugin: Plugin, name: str, is_set: bool = True) -> str:
    """A parameter of the Trace view in the address, waited for; "" where it must not be there."""
    for _ in range(40):
        found = parse_qs(plugin.page.url.partition("#")[2]).get(f"p.npu_profiler.trace.{name}", [""])[0]
        if (found != "") == is_set:
            return found
        plugin.page.wait_for_timeout(100)
    raise AssertionError(f"trace.{name} is {found!r}")


def shown(plugin: Plugin) -> tuple[float, float]:
    """The part of the time axis that is in sight, ns after the base."""
    start, end = (plugin.frame.locator(".tl").get_attribute("data-range") or "").split(",")
    return float(start), float(end)


def box(plugin: Plugin) -> FloatRect:
    """Where the canvas of the rows is on the page."""
    found = plugin.frame.locator(".tl-scroll").bounding_box()
    assert found is not None
    return found


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
    at, total = re.findall(r"\d+", frame.locator(".trace-place .link").inner_text().replace("\u2009", ""))
    return int(at), int(total)


def copied_time(plugin: Plugin) -> tuple[int, int]:
    """Start (ns since 1970) and duration (ns) that the panel's tooltips tell in full."""
    figures = panel(plugin).locator(".facts .mono[data-tip]")
    epoch = re.search(r"(\d{19}) ns", figures.nth(0).get_attribute("data-tip") or "")
    dur = re.sub(r"\D", "", (figures.nth(1).get_attribute("data-tip") or "").split("ns")[0])
    assert epoch
    return int(epoch.group(1)), int(dur)


def test_keys_and_wheel_zoom_and_move(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    keys, mouse, area = plugin.page.keyboard, plugin.page.mouse, box(plugin)
    param(plugin, "range", is_set=False)  # the first view is not worth a parameter
    keys.press("w")
    settled(plugin)
    start, end = shown(plugin)
    keys.press("d")
    settled(plugin)
    assert shown(plugin)[0] > start and shown(plugin)[1] - shown(plugin)[0] == pytest.approx(end - start, abs=0.1)
    keys.press("a")
    keys.press("s")
    settled(plugin)
    param(plugin, "range", is_set=False)  # moved and zoomed back
    middle = area["x"] + area["width"] / 2
    mouse.move(middle, area["y"] + 60)
    keys.down("Control")
    mouse.wheel(0, -400)
    keys.up("Control")
    settled(plugin)
    near = shown(plugin)
    assert near[1] - near[0] < (end - start)
    mouse.move(middle, area["y"] + 5)
    keys.down("Shift")
    mouse.down()
    mouse.move(middle - 100, area["y"] + 5, steps=3)
    mouse.up()
    keys.up("Shift")
    settled(plugin)
    assert shown(plugin)[0] > near[0], "Shift and drag moves"
    keys.press("Control+0")
    settled(plugin)
    param(plugin, "range", is_set=False)
    keys.press("Backspace")
    settled(plugin)
    assert param(plugin, "range")


def test_slice_shows_the_exact_figures_of_the_file(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    wanted = sorted((s for s in slices() if KERNEL in s["name"]), key=lambda s: s["ts"])
    find(plugin, KERNEL)
    at, total = place(plugin.frame)
    assert (at, total) == (1, len(wanted))
    assert copied_time(plugin) == (wanted[0]["ts"], wanted[0]["dur"])
    plugin.page.keyboard.press("Enter")
    settled(plugin)
    assert place(plugin.frame)[0] == 2 and copied_time(plugin) == (wanted[1]["ts"], wanted[1]["dur"])
    plugin.page.keyboard.press("Shift+Enter")
    settled(plugin)
    assert place(plugin.frame)[0] == 1
    text = panel(plugin).inner_text()
    for key, value in wanted[0]["args"].items():
        assert key in text and str(value) in text
    for part in ("From kernel_details.csv", "AI_CORE", "block dim", "Node@launch", "launched"):
        assert part in text


#: Width of the column of names; heights of a process's header and half a bar.
GUTTER, HEADER, HALF = 210, 22, 6
PIXEL = (
    "(c, [x, y]) => { const r = devicePixelRatio; const d = c.getContext('2d').getImageData(x * r, y * r, 1, 1).data; \
return Array.from(d).slice(0, 3); }"
)


def test_click_selects_the_bar_that_is_painted_there(open_plugin: Open, demo_server: str) -> None:
    one = max((s for s in slices() if s["name"] == "Computing"), key=lambda s: s["dur"])  # of the uppermost row
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


def test_dragged_range_counts_the_raw_slices(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    area, mouse = box(plugin), plugin.page.mouse
    mouse.move(area["x"] + 400, area["y"] + 30)
    mouse.down()
    mouse.move(area["x"] + 700, area["y"] + 60, steps=4)
    mouse.up()
    plugin.frame.locator('[aria-label="trace.range"] [role="row"]').nth(1).wait_for()
    with plugin.page.expect_download() as download:
        panel(plugin).get_by_text("CSV ↓").click()
    header, *rows = (line.split(",") for line in download.value.path().read_text().splitlines())
    named = [dict(zip(header, row)) for row in rows]
    tracks = {row["thread"] for row in named}
    assert tracks and tracks <= {"Computing", "Communication", "Communication(Not Overlapped)", "Free"}
    for row in named:
        assert int(row["total"]) >= int(row["clipped"]) > 0
    grid = panel(plugin).locator('[role="row"]')
    assert grid.count() - 1 == len(named)
    title = plugin.frame.locator(".trace-title").inner_text()
    assert f"{sum(int(row['count']) for row in named)} slices" in title
    panel(plugin).get_by_text("Zoom to it").click()
    settled(plugin)
    start, end = shown(plugin)
    base = min(s["ts"] for s in slices())
    inside = [s for s in slices() if s["ts"] - base < end and s["ts"] - base + s["dur"] > start]
    for row in named:
        own = [s for s in inside if s["name"] == row["name"]]
        assert len(own) >= int(row["count"])
        assert sum(s["dur"] for s in own) >= int(row["total"])


@pytest.mark.parametrize("kind", FLOWS)
def test_flows_are_followed_forth_and_back(open_plugin: Open, demo_server: str, kind: str) -> None:
    events = json.loads(TRACE.read_text("utf-8"), parse_float=Decimal)
    begin = next(e for e in events if e["ph"] == "s" and e.get("cat") == kind)
    end = next(e for e in events if e["ph"] == "f" and e.get("cat") == kind and e["id"] == begin["id"])

    def open_at(event: dict[str, Any]) -> dict[str, Any]:
        moment = int(Decimal(event["ts"]) * 1000)
        own = [
            s for s in slices()
            if (s["pid"], s["tid"]) == (event["pid"], event["tid"]) and s["ts"] <= moment <= s["ts"] + s["dur"]
        ]  # fmt: skip
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


def test_link_restores_range_selection_and_marks(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    find(plugin, KERNEL)
    plugin.page.keyboard.press("f")
    plugin.page.keyboard.press("m")
    plugin.page.keyboard.press("k")
    settled(plugin)
    plugin.frame.get_by_role("tab", name="Marks 2").click()
    name = plugin.frame.get_by_label("Name of the mark").nth(1)
    name.fill("here; it, begins")
    name.press("Enter")
    settled(plugin)
    there = (param(plugin, "range"), param(plugin, "slice"), param(plugin, "marks"))
    assert all(there)
    link = plugin.page.url
    other = open_plugin(demo_server)
    other.page.goto(link)
    other.ready("trace")
    settled(other)
    assert (param(other, "range"), param(other, "slice"), param(other, "marks")) == there
    other.frame.get_by_role("tab", name="Slice").click()
    assert KERNEL in panel(other).inner_text()
    other.frame.get_by_role("tab", name="Marks 2").click()
    assert "here; it, begins" in [field.input_value() for field in other.frame.get_by_label("Name of the mark").all()]
    other.frame.locator('a[data-view="kernel"]').click()
    other.ready("kernel")
    other.page.go_back()
    other.ready("trace")
    settled(other)
    assert (param(other, "range"), param(other, "slice"), param(other, "marks")) == there
    other.page.go_forward()
    other.ready("kernel")


def test_kernel_and_allocation_lead_to_their_slice(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("kernel", **{"kernel.tab": "all"})
    grid = plugin.frame.locator('[role="grid"][aria-label="kernel.all"]')
    grid.locator('[role="row"]').nth(20).click()
    plugin.frame.get_by_text("Show in the trace").click()
    plugin.ready("trace")
    settled(plugin)
    panel(plugin).locator(".facts").first.wait_for()
    start, dur = copied_time(plugin)
    assert any((s["ts"], s["dur"]) == (start, dur) and s["name"] in panel(plugin).inner_text() for s in slices())
    assert "From kernel_details.csv" in panel(plugin).inner_text()
    plugin.open("memory")
    grid = plugin.frame.locator('[role="grid"][aria-label="memory.allocations"]')
    grid.locator('[role="row"]').nth(3).click()
    plugin.frame.get_by_text("Show in the trace").click()
    plugin.ready("trace")
    settled(plugin)
    assert param(plugin, "slice")


def test_original_can_be_downloaded(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    with plugin.page.expect_download() as download:
        plugin.frame.get_by_label("The original trace file").click()
    assert download.value.path().read_bytes() == TRACE.read_bytes()


def test_dark_and_chinese_timeline(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server, color_scheme="dark", locale="zh-CN")
    corner = plugin.frame.locator(".tl-scroll canvas").first.evaluate(
        "c => Array.from(c.getContext('2d').getImageData(c.width - 2, c.height - 2, 1, 1).data).slice(0, 3)"
    )
    assert corner == [29, 34, 40], "the surface of the dark palette"
    find_field = plugin.frame.locator(".trace-search input")
    find_field.fill(KERNEL)
    plugin.page.keyboard.press("Enter")
    expect(panel(plugin)).to_contain_text("来自 kernel_details.csv")
    expect(panel(plugin)).to_contain_text("调用链")


def test_hidden_timeline_does_not_draw(open_plugin: Open, demo_server: str) -> None:
    plugin = trace(open_plugin, demo_server)
    count = "() => { const was = window.requestAnimationFrame; window.frames_asked = 0; " \
            "window.requestAnimationFrame = f => { window.frames_asked += 1; return was(f); }; }"  # fmt: skip
    frame = next(one for one in plugin.page.frames if "name=npu_profiler" in one.url)
    frame.evaluate(count)
    holder = plugin.page.locator('iframe[src*="name=npu_profiler"]')
    holder.evaluate("e => { e.style.display = 'none'; }")
    plugin.page.wait_for_timeout(100)
    frame.evaluate("() => { window.frames_asked = 0; }")
    for _ in range(3):
        frame.evaluate(
            "() => document.body.dispatchEvent(new KeyboardEvent('keydown', {code: 'KeyW', key: 'w', bubbles: true}))"
        )
    plugin.page.wait_for_timeout(150)
    assert frame.evaluate("() => window.frames_asked") == 0
    holder.evaluate("e => { e.style.display = ''; }")
    settled(plugin)
    assert frame.evaluate("() => window.frames_asked") > 0


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


def test_tables_are_there_while_a_large_trace_is_read(open_plugin: Open, tmp_path: Path) -> None:
    result = tmp_path / "logs" / "big_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    result.mkdir(parents=True)
    source = next(FIXTURES.glob("results/level1/*_ascend_pt/ASCEND_PROFILER_OUTPUT"))
    (result / "kernel_details.csv").write_bytes((source / "kernel_details.csv").read_bytes())
    subprocess.run([sys.executable, ROOT / "benchmarks/make_trace.py", result / "trace_view.json", "20"], check=True)
    with tensorboard("--logdir", str(tmp_path / "logs"), cache=tmp_path / "cache") as url:
        plugin = open_plugin(url)
        seen: list[dict[str, Any]] = []

        def keep(response: Any) -> None:
            if "/api/view/trace" in response.url and response.status == 200:
                seen.append(response.json())

        plugin.page.on("response", keep)
        plugin.page.goto(f"{url}#npu_profiler&p.npu_profiler.view=trace")
        reading = plugin.frame.locator('.view-frame[data-state="reading"] [role="progressbar"]')
        reading.first.wait_for()
        plugin.open("kernel")
        assert plugin.state() == "ready", "the tables do not wait for the trace"
        plugin.open("trace")
        settled(plugin)
        assert plugin.state() == "ready"
        states = [answer["state"] for answer in seen]
        assert states[0] == "reading" and states[-1] == "ready"
        find(plugin, "aten::op_7")
        assert place(plugin.frame)[1] > 10
        plugin.close()
