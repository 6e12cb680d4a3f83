"""What a person does on the pages of Memory, Distributed and Diff, and what must come of it."""

from __future__ import annotations

import csv
import re

from playwright.sync_api import expect

from tests.e2e.test_use import Open, pick, rows_of
from tests.e2e.test_views import choose
from tests.e2e.timeline import TRACE


def test_memory_tells_what_was_not_released(open_plugin: Open, demo_server: str) -> None:
    with TRACE.with_name("operator_memory.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    held = [row for row in rows if not row["Release Time(us)"] and not row["Active Release Time(us)"]]
    mib = sum(float(row["Size(KB)"]) for row in held) / 1024
    plugin = open_plugin(demo_server)
    plugin.open("memory")
    plugin.frame.get_by_role("button", name="Show: all").click()
    plugin.frame.get_by_role("option", name="not released").click()
    expect(rows_of(plugin)).to_have_text(f"{len(held)} of {len(rows)} rows")
    plugin.frame.get_by_text(f"not released: {len(held)} of {len(rows)}, {mib:.2f} MiB").wait_for()
    plugin.frame.get_by_role("button", name="Show all allocations").click()
    expect(rows_of(plugin)).to_have_text(f"{len(rows)} rows")


def test_memory_zooms_tells_what_is_live_and_comes_back(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("memory")
    plugin.quiet()
    chart = plugin.frame.locator("main svg").first
    box = chart.bounding_box()
    assert box is not None
    mouse, top = plugin.page.mouse, box["y"] + 90
    with TRACE.with_name("operator_memory.csv").open(newline="", encoding="utf-8") as file:
        every = len(list(csv.DictReader(file)))
    expect(rows_of(plugin)).to_have_text(f"{every} rows")
    mouse.move(box["x"] + box["width"] * 0.3, top)
    mouse.down()
    mouse.move(box["x"] + box["width"] * 0.5, top, steps=4)
    mouse.up()
    plugin.frame.get_by_role("button", name="Whole range").wait_for()
    mouse.click(box["x"] + box["width"] * 0.6, top)
    plugin.frame.locator("main").get_by_text(re.compile(rf"live at .*: \d+ of {every}")).wait_for()
    expect(rows_of(plugin)).not_to_have_text(f"{every} rows")
    plugin.frame.get_by_role("button", name="Whole range").click()
    expect(plugin.frame.get_by_role("button", name="Whole range")).to_have_count(0)
    plugin.frame.get_by_role("tab", name="Components").click()
    with plugin.page.expect_download() as download:
        plugin.frame.get_by_text("CSV ↓").last.click()
    peaks = list(csv.DictReader(download.value.path().read_text().splitlines()))
    assert {row["component"] for row in peaks} >= {"APP", "PTA", "PTA+GE"}


def test_the_link_matrix_changes_its_figure(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("distributed")
    heat = plugin.frame.locator("table.heat")
    before = heat.inner_text()
    for figure in ("Size", "Time"):
        plugin.frame.get_by_role("tab", name=figure, exact=True).click()
        expect(heat).not_to_have_text(before, use_inner_text=True)
    plugin.frame.get_by_role("tab", name="Transport", exact=True).click()
    expect(heat).to_contain_text("HCCS")


def test_the_slow_rank_stands_first_among_the_longest(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("distributed")
    choose(plugin, "RUN", "transformer_slow_rank")
    plugin.ready("distributed")
    ranks = plugin.frame.locator("section.card", has_text="Step by rank").locator(".dist-bar > .ellipsis")
    expect(ranks).to_have_count(8)
    plugin.frame.get_by_role("tab", name="longest first").click()
    expect(ranks.first).to_have_text("rank 5")


def test_a_row_of_diff_leads_to_the_trace_of_either_side(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("diff")
    expect(plugin.frame.locator(".diff-row", has_text="Idle").locator("button, .link")).to_have_count(0)
    rows = plugin.frame.locator('[data-table="diff.operators"] .data-row.body')
    rows.filter(has_text="npu::npu_apply_adam_w").click()  # only in the experimental capture
    expect(plugin.frame.get_by_text("In the trace of the baseline")).to_have_count(0)
    plugin.frame.get_by_text("In the trace of the experimental capture").click()
    plugin.ready("trace")
    expect(plugin.frame.locator(".trace-title h2")).to_have_text("npu::npu_apply_adam_w")
    expect(plugin.frame.locator("header")).to_contain_text("transformer_910b_tuned")


def test_diff_drills_down_by_class(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("diff")
    plugin.frame.locator("button.diff-row", has_text="Attention").click()
    plugin.quiet()
    kernels = plugin.frame.locator('[data-table="diff.kernels"] .data-row.body')
    expect(kernels.first).to_be_visible()
    assert all("attention" in text.lower() for text in kernels.all_inner_texts())


def test_diff_is_per_step_and_says_so(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("diff")
    main = plugin.frame.locator("main")
    note = main.get_by_text("per step: mean of all steps")
    expect(note).to_be_visible()  # operators name no step
    last = main.locator(".diff-row:not(.sum)").last.locator("> .mono").last
    total = main.locator(".diff-row.sum .middle")
    assert last.inner_text() == total.inner_text()
    assert f"{float(total.inner_text().replace('−', '-')):.2f}".strip("-") in main.locator(".diff-head b").inner_text()
    pick(plugin, "Step", "11")
    expect(note).to_be_visible()
    main.get_by_role("tab", name="Kernels").click()
    expect(note).to_have_count(0)


def test_diff_compares_what_the_sidebar_says(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("overview")
    side = plugin.frame.locator("nav.side")
    face = side.get_by_role("button", name=re.compile("^Compare with"))
    expect(face).to_contain_text("transformer_910b_tuned")
    side.locator('a[data-view="diff"]').click()
    plugin.ready("diff")
    expect(side.locator('[data-side="experimental"]')).to_contain_text("transformer_910b_tuned")
    side.locator('a[data-view="overview"]').click()
    choose(plugin, "RUN", "transformer_slow_rank")  # no other run has as many ranks
    expect(face).to_contain_text("choose a capture")
    side.locator('a[data-view="diff"]').click()
    main = plugin.frame.locator("main")
    expect(main).to_contain_text("Choose the second capture")
    expect(main.get_by_text("Where the time changed")).to_have_count(0)
