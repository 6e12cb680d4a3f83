"""Filters, charts, keys and links of the views."""

from __future__ import annotations

import csv
import json
import re

import pytest
from playwright.sync_api import Route, expect

from tests.e2e.conftest import Open
from tests.e2e.timeline import KERNEL, TRACE


@pytest.mark.parametrize(
    ("state", "title"),
    [
        ({"run": "rgone"}, "Run not found"),
        ({"worker": "wgone"}, "Worker not found in this run"),
        ({"span": "sgone"}, "Span not found in this worker"),
        ({"view": "nonsense"}, "View not found"),
    ],
)
def test_link_to_a_missing_place_names_it_and_offers_others(
    open_plugin: Open, demo_server: str, state: dict[str, str], title: str
) -> None:
    plugin = open_plugin(demo_server)
    [(key, value)] = state.items()
    plugin.open(**{"wait": False, "view": "kernel", **state})
    card = plugin.frame.locator("section.card", has_text=title)
    expect(card).to_contain_text(value)
    plugin.quiet()
    assert f".{key}={value}" in plugin.page.url
    choices = card.locator(".row button")
    (choices.filter(has_text="Kernel") if key == "view" else choices).first.click()
    plugin.ready("kernel")
    assert value not in plugin.page.url
    assert plugin.state() == "ready"


def test_header_of_a_table_stays_in_sight(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server, height=500)
    plugin.open("kernel")
    grid = plugin.frame.locator('[role="grid"]').first
    head, last = grid.locator(".data-row.head"), grid.locator(".data-row.body").last
    last.scroll_into_view_if_needed()
    plugin.drawn()
    page, header, row = plugin.frame.locator(".main").bounding_box(), head.bounding_box(), last.bounding_box()
    assert page and header and row
    assert page["y"] <= header["y"] < page["y"] + 40, "at the top of the scrolled area"
    assert row["y"] > header["y"] + header["height"] - 1


def test_the_step_of_the_header_holds_in_all_views(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("kernel", **{"kernel.tab": "all"})
    expect(plugin.row_count).to_have_text(re.compile(r"^\d+ rows$"))
    total = int(re.sub(r"\D", "", plugin.row_count.inner_text()))
    plugin.choose_period("Step 12")
    expect(plugin.row_count).not_to_have_text(f"{total} rows")
    expect(plugin.rows("kernel.all").first).to_be_visible()
    lines = plugin.download(plugin.frame.get_by_text("CSV ↓").first).decode().splitlines()
    assert 0 < len(lines) - 1 < total
    address = plugin.page.url
    plugin.switch("overview")
    expect(plugin.main.locator(".ledger tr.sum th")).to_have_text("Step 12")
    plugin.switch("step_trace")
    expect(plugin.main.get_by_role("heading", name="Step 12", exact=True)).to_be_visible()
    plugin.switch("data_pipeline")
    expect(plugin.main.locator(".period-note")).to_contain_text("whole capture")
    plugin.open()
    plugin.go(address)
    plugin.ready("kernel")
    expect(plugin.row_count).not_to_have_text(f"{total} rows")
    plugin.frame.get_by_role("button", name="Show the whole capture").click()
    expect(plugin.row_count).to_have_text(f"{total} rows")


def test_a_step_of_another_capture_shows_the_whole_one(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("kernel", step="99")
    note = plugin.main.locator(".period-note")
    expect(note).to_contain_text("whole capture")
    expect(note).to_contain_text("'99' is not a step")
    assert plugin.state() == "ready" and "step=99" in plugin.page.url


@pytest.mark.parametrize("chosen", ["memory m.device", "diff x.step"])
def test_choice_of_another_span_is_dropped(open_plugin: Open, demo_server: str, chosen: str) -> None:
    view, key = chosen.split()
    plugin = open_plugin(demo_server)
    plugin.open(view, **{key: "99"})
    plugin.quiet()
    assert plugin.state() == "ready"
    assert f"{key}=" not in plugin.page.url


def test_part_of_a_chart_and_words_filter_the_table(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("kernel")
    rows = plugin.rows("kernel.statistic")
    plugin.frame.locator(".legend-table button", has_text="AI_CPU").click()
    expect(rows.filter(has_not_text="AI_CPU")).to_have_count(0)
    expect(rows.first).to_be_visible()
    plugin.open("kernel")
    plugin.frame.get_by_placeholder("Filter by words").fill("vector foreach")
    expect(rows.filter(has_not_text="Foreach")).to_have_count(0)
    expect(rows.filter(has_text="AI_VECTOR_CORE").first).to_be_visible()


@pytest.mark.parametrize(
    ("view", "card", "header"),
    [
        ("kernel", "Accelerator core", "core,total_ns,share"),
        ("overview", "Step 11", "step,device_id,part,ns"),
        *(
            pytest.param(*chart, marks=pytest.mark.full)
            for chart in (
                ("operator", "Host self", "name,total_ns,share"),
                ("distributed", "Links", "src,dst,transport,size_bytes,time_ns,bandwidth_gb_per_s"),
                ("diff", "Step by class of kernels", "class,baseline_ns,experimental_ns,difference_ns,running_ns"),
                (
                    "diff",
                    "Where the time changed",
                    "entry,a_ns,a_low_ns,a_high_ns,b_ns,b_low_ns,b_high_ns,difference_ns,running_ns",
                ),
            )
        ),
    ],
)
def test_charts_are_saved(open_plugin: Open, demo_server: str, view: str, card: str, header: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open(view)
    menu = plugin.card(card).locator(".chart-menu button")
    menu.click()
    lines = plugin.download(plugin.frame.get_by_role("button", name="Save the data as CSV")).decode().splitlines()
    assert lines[0] == header
    assert len(lines) > 1
    menu.click()
    picture = plugin.download(plugin.frame.get_by_role("button", name="Save as PNG"))
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(picture) > 5_000  # an empty picture of this size is smaller


def test_kernel_by_name_leads_to_its_calls_with_their_shapes(open_plugin: Open, demo_server: str) -> None:
    with TRACE.with_name("kernel_details.csv").open(newline="", encoding="utf-8") as file:
        kernels = [row for row in csv.DictReader(file) if row["Name"] == KERNEL]
    plugin = open_plugin(demo_server)
    plugin.open("kernel")
    plugin.rows("kernel.statistic").filter(has_text=KERNEL).click()
    plugin.frame.get_by_role("button", name=f"The {len(kernels)} calls").click()
    grid = plugin.frame.locator('[role="grid"][data-table="kernel.all"]')
    expect(grid).to_have_attribute("aria-rowcount", str(len(kernels) + 1))
    shapes = kernels[0]["Input Shapes"].strip('"')
    expect(grid.locator(".cell", has_text=shapes).first).to_be_visible()


def test_collectives_fold_and_unfold(open_plugin: Open, demo_server: str) -> None:
    with TRACE.with_name("kernel_details.csv").open(newline="", encoding="utf-8") as file:
        calls = [row for row in csv.DictReader(file) if row["Name"].startswith("hcom_allReduce__")]
    group = calls[0]["Name"].partition("__")[2].partition("_")[0]
    own = [row for row in calls if f"__{group}_" in row["Name"]]
    plugin = open_plugin(demo_server)
    plugin.open("kernel")
    plugin.rows("kernel.statistic").filter(has_text="hcom_allReduce").filter(has_text=group).click()
    plugin.frame.get_by_role("button", name=f"The {len(own)} calls").click()
    grid = plugin.frame.locator('[role="grid"][data-table="kernel.all"]')
    expect(grid).to_have_attribute("aria-rowcount", str(len(own) + 1))
    plugin.open("diff", **{"x.tab": "kernels"})
    plugin.rows("diff.kernels").filter(has_text="hcom_allReduce").first.click()
    plugin.frame.get_by_role("button", name="Its calls").click()
    expect(plugin.rows("diff.calls").first).to_contain_text("hcom_allReduce")


def test_filters_that_leave_no_row_are_listed_and_can_be_cleared(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("diff")
    plugin.frame.locator("button.diff-row", has_text="Attention").click()
    kernels = plugin.rows("diff.kernels")
    expect(kernels.filter(has_not_text=re.compile("attention", re.I))).to_have_count(0)
    expect(kernels.first).to_be_visible()
    plugin.pick("Changed", "slower by ≥ 5 %")
    nothing = plugin.frame.locator(".no-rows")
    expect(nothing).to_contain_text("Changed: slower by ≥ 5 %")
    expect(nothing).to_contain_text("Class: Attention")
    nothing.get_by_role("button", name="Clear the filter Changed").click()
    expect(kernels.filter(has_text="Attention").first).to_be_visible()
    plugin.frame.get_by_placeholder("Filter by words").fill("no such kernel")
    nothing.get_by_role("button", name="Clear all").click()
    expect(kernels.first).to_be_visible()
    expect(plugin.frame.get_by_placeholder("Filter by words")).to_have_value("")


def test_keys_alone_reach_a_kernel(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("overview")
    keys = plugin.page.keyboard
    plugin.main.press("0")
    plugin.ready("idle")
    plugin.main.press("-")
    plugin.ready("doctor")
    plugin.main.press("4")
    plugin.ready("kernel")
    plugin.quiet()
    plugin.frame.locator('[data-table="kernel.statistic"]').focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        keys.press(key)
    expect(plugin.frame.locator(".row-details")).to_be_visible()
    keys.press("/")
    keys.type("matmulv3")
    keys.press("Enter")  # before the answer
    expect(plugin.rows("kernel.statistic").filter(has_not_text="MatMulV3")).to_have_count(0)
    plugin.rows("kernel.statistic").get_by_text("MatMulV3").first.wait_for()
    keys.press("Escape")
    plugin.main.press("?")
    expect(plugin.frame.locator("dialog")).to_be_visible()
    keys.press("Escape")
    expect(plugin.frame.locator("dialog")).not_to_be_visible()


def test_a_click_on_an_explanation_opens_the_glossary(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("distributed")
    plugin.frame.locator("button.help").first.click()
    dialog = plugin.frame.locator("dialog.glossary")
    expect(dialog.locator("h3").first).to_have_text("Terms of this explanation")
    expect(dialog.locator("dt").first).to_have_text("step")
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)


def test_a_word_of_the_vendor_leads_to_its_view(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("overview")
    plugin.main.press("?")
    plugin.frame.get_by_role("button", name="Glossary").click()
    dialog = plugin.frame.locator("dialog.glossary")
    dialog.get_by_role("searchbox").fill("Step Tail")
    expect(dialog.locator("h3")).to_have_text(["Words of the vendor's documents"])
    dialog.get_by_role("link", name="Step Trace").click()
    expect(dialog).to_have_count(0)
    link = plugin.frame.locator("a[data-view=step_trace]")
    expect(link).to_have_attribute("aria-current", "page")
    link.hover()
    expect(plugin.frame.get_by_role("tooltip")).to_contain_text("In the vendor's documents: ")


def test_defect_of_a_view_leaves_the_rest_of_the_page(open_plugin: Open, demo_server: str) -> None:
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
    plugin.switch("operator")
    assert plugin.state() == "ready"
    assert plugin.defects
    assert all("TypeError" in defect for defect in plugin.defects)
    plugin.defects.clear()


def test_long_table_is_printed_in_full(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("kernel", **{"kernel.tab": "all"})
    rows = plugin.rows("kernel.all")
    expect(rows.first).to_be_visible()
    on_screen, total = rows.count(), int(plugin.row_count.inner_text().split(" ")[0])
    assert on_screen < total and total > 200, "the table scrolls"
    plugin.page.emulate_media(media="print")
    expect(rows).to_have_count(total)
    heights = plugin.frame.locator(".table-scroll.tall").evaluate("box => [box.clientHeight, box.scrollHeight]")
    assert heights[0] == heights[1] > 200 * 20, "nothing is cut"
    plugin.page.emulate_media(media="screen")
    expect(rows).not_to_have_count(total)


def test_a_type_unfolds_in_place_to_its_shapes_and_the_csv_holds_them(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.page.set_viewport_size({"width": 1440, "height": 900})
    plugin.open("kernel", **{"kernel.tab": "types"})
    rows = plugin.rows("kernel.types")
    count = rows.count()
    plugin.frame.get_by_role("button", name="Unfold MatMulV3").click()
    expect(plugin.frame.get_by_role("button", name="Fold MatMulV3")).to_be_visible()
    shape = rows.filter(has_text="4096,22016").first
    expect(shape).to_be_visible()
    whole = plugin.frame.locator("#shell").evaluate(
        "() => [...document.querySelectorAll('.middle-cut .head')].every(one => one.scrollWidth <= one.clientWidth + 1)"
    )
    assert whole, "a name is cut"
    lines = list(csv.DictReader(plugin.download(plugin.frame.get_by_text("CSV ↓").first).decode().splitlines()))
    calls = [int(line["calls"]) for line in lines if line["type"] == "MatMulV3" and line["name"]]
    assert len(lines) == count + len(calls) and len(calls) > 1
    assert sum(calls) == next(int(line["calls"]) for line in lines if line["type"] == "MatMulV3" and not line["name"])
    shape.click()
    plugin.frame.get_by_role("button", name=re.compile(r"The \d+ calls")).click()
    expect(plugin.row_count).to_have_text(re.compile(r"^\d of \d+ rows"))
    plugin.page.go_back()


def test_a_roof_needs_a_bandwidth_that_is_typed_once(open_plugin: Open, results_server: str) -> None:
    plugin = open_plugin(results_server)
    plugin.open("kernel", **plugin.span_of("metrics_L2Cache"))
    card = plugin.card("Roofline")
    expect(card).to_contain_text("No roof: neither the peak")
    expect(card.locator("svg")).to_have_count(0)
    for name, figure in (("Peak", "300"), ("Bandwidth", "1600")):
        card.get_by_role("textbox", name=name).fill(figure)
        card.get_by_role("textbox", name=name).press("Enter")
        plugin.quiet()
    expect(card.locator(".roof-line")).to_be_visible()
    plugin.open("kernel", **plugin.span_of("metrics_MemoryUB"))
    expect(card.get_by_role("textbox", name="Bandwidth")).to_have_value("1600")
    expect(card.locator(".roof-line")).to_be_visible()
    plugin.open("kernel", **plugin.span_of("metrics_PipeUtilization"))
    expect(card.get_by_role("textbox", name="Peak")).to_have_value("353.894")
    plugin.open("kernel", **plugin.span_of("metrics_MemoryUB"), **{"kernel.bandwidth": "800"})
    expect(card.get_by_role("textbox", name="Bandwidth")).to_have_value("800")
