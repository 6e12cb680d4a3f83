"""What a person does on the pages: filters, charts, problems, keys, and what must come of it."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.conftest import FIXTURES
from tests.e2e.conftest import Plugin
from tests.e2e.tensorboard import tensorboard
from tests.e2e.test_broken import span_of
from tests.e2e.timeline import KERNEL, TRACE

Open = Callable[..., Plugin]


def rows_of(plugin: Plugin) -> Locator:
    """How many rows the table shows, in words."""
    return plugin.frame.locator(".table-tools [role=status]").first


def pick(plugin: Plugin, face: str, option: str) -> None:
    """Choose in a dropdown of the page by what is written on it."""
    plugin.frame.locator("main button", has_text=re.compile(f"^{face}")).first.click()
    plugin.frame.get_by_role("option", name=option, exact=True).click()


def saved(plugin: Plugin, card: str, what: str) -> bytes:
    """Content of a file saved from the menu of a chart."""
    place = plugin.frame.locator("section.card", has=plugin.frame.get_by_role("heading", name=card, exact=True))
    place.locator(".chart-menu button").click()
    with plugin.page.expect_download() as download:
        plugin.frame.get_by_role("button", name=what).click()
    return download.value.path().read_bytes()


def test_the_banner_lists_every_problem(open_plugin: Open, broken_server: str) -> None:
    plugin = open_plugin(broken_server)
    plugin.open("overview", **span_of(plugin, "short_row"))
    plugin.frame.locator(".banner").get_by_role("button", name="Show").click()
    told = plugin.frame.locator(".banner .problem").inner_text()
    for part in ("kernel_details.csv", "line 4", "Lost", "What to do"):
        assert part in told
    plugin.frame.get_by_role("button", name="Hide", exact=True).click()
    expect(plugin.frame.locator(".banner .problem")).to_have_count(0)


def test_what_was_not_opened_is_listed_with_reason_and_help(open_plugin: Open, broken_server: str) -> None:
    plugin = open_plugin(broken_server)
    plugin.open("overview")
    plugin.frame.locator("nav.side").get_by_text("Not opened").click()
    listed = plugin.frame.locator(".popover")
    expect(listed.get_by_text("never_parsed/", exact=False).first).to_be_visible()
    assert "analyse(" in listed.inner_text()


def test_the_step_filter_of_kernels(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("kernel")
    plugin.frame.get_by_role("tab", name="All", exact=True).click()
    plugin.quiet()
    expect(rows_of(plugin)).to_have_text(re.compile(r"^\d+ rows$"))
    every = int(re.sub(r"\D", "", rows_of(plugin).inner_text()))
    pick(plugin, "Step:", "12")
    expect(rows_of(plugin)).not_to_have_text(f"{every} rows")
    steps = plugin.frame.locator('[data-table="kernel.all"]')
    expect(steps.locator(".data-row.body").first).to_be_visible()
    with plugin.page.expect_download() as download:
        plugin.frame.get_by_text("CSV ↓").first.click()
    lines = list(csv.DictReader(download.value.path().read_text().splitlines()))
    assert 0 < len(lines) < every


@pytest.mark.parametrize("chosen", ["kernel kernel.step", "step_trace steps.step", "memory m.device", "diff x.step"])
def test_what_was_chosen_for_another_span_gives_way(open_plugin: Open, demo_server: str, chosen: str) -> None:
    view, key = chosen.split()
    plugin = open_plugin(demo_server)
    plugin.open(view, **{key: "99"})
    plugin.quiet()
    assert plugin.state() == "ready"
    assert f"{key}=" not in plugin.page.url


def test_a_part_of_a_chart_filters_the_table(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("kernel")
    plugin.frame.locator(".legend-table button", has_text="AI_CPU").click()
    cores = plugin.frame.locator('[data-table="kernel.statistic"] .data-row.body')
    expect(cores.filter(has_not_text="AI_CPU")).to_have_count(0)
    expect(cores.first).to_be_visible()


@pytest.mark.parametrize(
    ("view", "card", "first"),
    [
        ("kernel", "Accelerator core", "core,total_ns,share"),
        ("operator", "Host self", "name,total_ns,share"),
        ("overview", "Step 11", "step,device_id,part,ns"),
        ("distributed", "Links", "src,dst,transport,size_bytes,time_ns,bandwidth_gb_per_s"),
        ("diff", "Where the time changed", "class,baseline_ns,experimental_ns,difference_ns,running_ns"),
    ],
)
def test_charts_are_saved(open_plugin: Open, demo_server: str, view: str, card: str, first: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open(view)
    lines = saved(plugin, card, "Save its figures as CSV").decode().splitlines()
    assert lines[0] == first
    assert len(lines) > 1
    picture = saved(plugin, card, "Save as PNG")
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(picture) > 5_000  # an empty one of this size is smaller


def test_a_kernel_by_name_leads_to_its_calls_with_their_shapes(open_plugin: Open, demo_server: str) -> None:
    with TRACE.with_name("kernel_details.csv").open(newline="", encoding="utf-8") as file:
        kernels = [row for row in csv.DictReader(file) if row["Name"] == KERNEL]
    plugin = open_plugin(demo_server)
    plugin.open("kernel")
    plugin.frame.locator('[data-table="kernel.statistic"] .data-row.body', has_text=KERNEL).click()
    plugin.frame.get_by_role("button", name=f"The {len(kernels)} calls").click()
    grid = plugin.frame.locator('[role="grid"][data-table="kernel.all"]')
    expect(grid).to_have_attribute("aria-rowcount", str(len(kernels) + 1))
    shapes = kernels[0]["Input Shapes"].strip('"')
    expect(grid.locator(".cell", has_text=shapes).first).to_be_visible()


def test_filters_that_leave_no_row_are_told_and_can_be_cleared(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("diff")
    plugin.frame.locator("button.diff-row", has_text="Attention").click()
    pick(plugin, "Changed", "slower by ≥ 5 %")
    nothing = plugin.frame.locator(".no-rows")
    expect(nothing).to_contain_text("Changed: slower by ≥ 5 %")
    expect(nothing).to_contain_text("Class: Attention")
    nothing.get_by_role("button", name="Clear the filter Changed").click()
    kernels = plugin.frame.locator('[data-table="diff.kernels"] .data-row.body')
    expect(kernels.filter(has_text="Attention").first).to_be_visible()
    plugin.frame.get_by_placeholder("Filter by words").fill("no such kernel")
    nothing.get_by_role("button", name="Clear all").click()
    expect(kernels.filter(has_text="MatMul").first).to_be_visible()
    expect(plugin.frame.get_by_placeholder("Filter by words")).to_have_value("")


def test_every_word_of_a_filter_counts(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("kernel")
    plugin.frame.get_by_placeholder("Filter by words").fill("vector foreach")
    rows = plugin.frame.locator('[data-table="kernel.statistic"] .data-row.body')
    expect(rows.filter(has_not_text="Foreach")).to_have_count(0)
    expect(rows.filter(has_text="AI_VECTOR_CORE").first).to_be_visible()


def test_the_bar_of_a_second_device_chooses_its_own_step(open_plugin: Open, tmp_path: Path, cache: Path) -> None:
    shutil.copytree(FIXTURES / "results" / "links", tmp_path / "links")
    file = next(tmp_path.rglob("step_trace_time.csv"))
    header, *rows = file.read_text().splitlines()
    place = header.split(",").index("Device_id")
    cells = [row.split(",") for row in rows]
    other = [[*row[:place], "7", *row[place + 1 :]] for row in cells]
    file.write_text("\n".join([header, *rows, *map(",".join, other)]) + "\n")
    with tensorboard("--logdir", str(tmp_path), cache=cache) as url:
        plugin = open_plugin(url)
        plugin.open("overview")
        line = plugin.frame.locator(".step-line", has_text=re.compile(r"Step \d+ · NPU 7")).first
        line.get_by_role("button").click()
        expect(line.get_by_role("button")).to_have_attribute("aria-pressed", "true")
        expect(plugin.frame.locator(".step-line [aria-pressed=true]")).to_have_count(1)
        expect(plugin.frame.locator(".budget-card h2")).to_contain_text("NPU 7")
        plugin.quiet()
        plugin.page.reload()
        expect(plugin.frame.locator(".budget-card h2")).to_contain_text("NPU 7")
        plugin.close()


def test_escape_closes_an_open_panel_of_the_trace_before_anything_else(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("trace", **{"trace.q": "mm"})
    panel = plugin.frame.locator(".popover")
    flows = plugin.frame.get_by_role("button", name="Flows")
    flows.click()
    expect(panel).to_be_visible()
    plugin.page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    flows.click()
    panel.locator("p").click()  # takes the focus from the button
    plugin.page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect(plugin.frame.get_by_label("Search slices")).to_have_value("mm")


def test_zero_is_the_key_of_the_tenth_view(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("overview")
    plugin.frame.locator("main").press("0")
    plugin.ready("doctor")


def test_keys_alone_reach_a_kernel(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("overview")
    keys = plugin.page.keyboard
    plugin.frame.locator("main").press("4")
    plugin.ready("kernel")
    plugin.quiet()
    plugin.frame.locator('[data-table="kernel.statistic"]').focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        keys.press(key)
    expect(plugin.frame.locator(".row-details")).to_be_visible()
    keys.press("/")
    keys.type("matmul")
    keys.press("Enter")
    plugin.frame.locator('[data-table="kernel.all"]').get_by_text("MatMul").first.wait_for()
    keys.press("Escape")
    plugin.frame.locator("main").press("?")
    expect(plugin.frame.locator("dialog")).to_be_visible()
    keys.press("Escape")
    expect(plugin.frame.locator("dialog")).not_to_be_visible()


def test_a_defect_of_a_view_does_not_empty_the_page(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("overview")

    def spoil(route: Route) -> None:
        answer = route.fetch().json()
        answer["data"]["cores"] = None
        route.fulfill(body=json.dumps(answer), content_type="application/json")

    plugin.page.route("**/api/view/kernel*", spoil)
    plugin.frame.locator('a[data-view="kernel"]').click()
    plugin.frame.get_by_role("alert").get_by_text("could not be drawn").wait_for()
    plugin.page.unroute("**/api/view/kernel*")
    plugin.frame.locator('a[data-view="operator"]').click()
    plugin.ready("operator")
    assert plugin.state() == "ready"
    assert plugin.defects
    assert all("TypeError" in defect for defect in plugin.defects)
    plugin.defects.clear()


def test_a_long_table_is_printed_whole(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("kernel", **{"kernel.tab": "all"})
    rows = plugin.frame.locator(".data-row.body")
    expect(rows.first).to_be_visible()
    on_screen, total = rows.count(), int(rows_of(plugin).inner_text().split(" ")[0])
    assert on_screen < total and total > 200, "the table scrolls"
    plugin.page.emulate_media(media="print")
    expect(rows).to_have_count(total)
    heights = plugin.frame.locator(".table-scroll.tall").evaluate("box => [box.clientHeight, box.scrollHeight]")
    assert heights[0] == heights[1] > 200 * 20, "nothing is cut"
    plugin.page.emulate_media(media="screen")
    expect(rows).not_to_have_count(total)
