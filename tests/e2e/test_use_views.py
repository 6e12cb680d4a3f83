"""Use of Memory, Distributed and Diff."""

from __future__ import annotations

import csv
import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Open
from tests.e2e.timeline import TRACE


def allocations() -> list[dict[str, str]]:
    with TRACE.with_name("operator_memory.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_memory_lists_allocations_that_were_not_released(open_plugin: Open, demo_server: str) -> None:
    rows = allocations()
    held = [row for row in rows if not row["Release Time(us)"] and not row["Active Release Time(us)"]]
    mib = sum(float(row["Size(KB)"]) for row in held) / 1024
    plugin = open_plugin(demo_server)
    plugin.open("memory")
    plugin.pick("Show: all", "not released")
    expect(plugin.row_count).to_have_text(f"{len(held)} of {len(rows)} rows")
    plugin.frame.get_by_text(f"not released: {len(held)} of {len(rows)}, {mib:.2f} MiB").wait_for()
    plugin.frame.get_by_role("button", name="Show all allocations").click()
    expect(plugin.row_count).to_have_text(f"{len(rows)} rows")


def test_memory_zooms_and_lists_live_allocations(open_plugin: Open, demo_server: str) -> None:
    total = len(allocations())
    plugin = open_plugin(demo_server)
    plugin.open("memory")
    plugin.quiet()
    box = plugin.main.locator("svg").first.bounding_box()
    assert box is not None
    mouse, top, whole = plugin.page.mouse, box["y"] + 90, plugin.frame.get_by_role("button", name="Whole range")
    expect(plugin.row_count).to_have_text(f"{total} rows")
    mouse.move(box["x"] + box["width"] * 0.3, top)
    mouse.down()
    mouse.move(box["x"] + box["width"] * 0.5, top, steps=4)
    mouse.up()
    whole.wait_for()
    mouse.click(box["x"] + box["width"] * 0.6, top)
    plugin.main.get_by_text(re.compile(rf"live at .*: \d+ of {total}")).wait_for()
    expect(plugin.row_count).not_to_have_text(f"{total} rows")
    whole.click()
    expect(whole).to_have_count(0)
    plugin.frame.get_by_role("tab", name="Components").click()
    peaks = csv.DictReader(plugin.download(plugin.frame.get_by_text("CSV ↓").last).decode().splitlines())
    assert {row["component"] for row in peaks} >= {"APP", "PTA", "PTA+GE"}


def test_link_matrix_changes_its_figure(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("distributed")
    heat = plugin.frame.locator("table.heat")
    before = heat.inner_text()
    for figure in ("Size", "Time"):
        plugin.frame.get_by_role("tab", name=figure, exact=True).click()
        expect(heat).not_to_have_text(before, use_inner_text=True)
    plugin.frame.get_by_role("tab", name="Transport", exact=True).click()
    expect(heat).to_contain_text("HCCS")


@pytest.mark.parametrize(
    "view", ["overview", *(pytest.param(view, marks=pytest.mark.full) for view in ("distributed", "doctor"))]
)
def test_the_verdict_names_the_straggler_and_leads_to_its_trace(open_plugin: Open, demo_server: str, view: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open(view)
    plugin.choose("Run", "transformer_slow_rank")
    plugin.ready(view)
    card = plugin.frame.locator("section.diagnosis")
    expect(card.locator(".verdict")).to_contain_text("Waiting for rank 5")
    expect(card).not_to_contain_text("Still reading")
    if view == "overview":
        other = plugin.frame.locator(".rank-ledgers button").first
        other.click()
        expect(card).to_contain_text("the sentence is about rank")
        shares = [text.strip("< %") for text in card.locator(".entry:not(.child) .share").all_inner_texts()]
        assert abs(sum(float(share) for share in shares if share) - 100) < 1
        assert "view=trace" in (card.get_by_role("link", name="Trace").first.get_attribute("href") or "")
    card.get_by_role("link", name="Trace").first.click()
    plugin.ready("trace")
    expect(plugin.frame.locator("header")).to_contain_text("rank 5")
    assert "trace.ranks=" in plugin.page.url, "beside a rank that waits for it"


def test_longest_first_begins_with_the_straggler(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("distributed")
    plugin.choose("Run", "transformer_slow_rank")
    plugin.ready("distributed")
    ranks = plugin.frame.locator("section.card", has_text="Step by rank").locator(".dist-bar > .ellipsis")
    expect(ranks).to_have_count(8)
    plugin.frame.get_by_role("tab", name="longest first").click()
    expect(ranks.first).to_have_text("rank 5")


def test_row_of_diff_leads_to_the_trace_of_either_side(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("diff")
    expect(plugin.frame.locator(".diff-row", has_text="Idle").locator("button, .link")).to_have_count(0)
    plugin.rows("diff.operators").filter(has_text="npu::npu_apply_adam_w").click()  # only in the experimental capture
    expect(plugin.frame.get_by_text("In the trace of A")).to_have_count(0)
    link = plugin.frame.get_by_text("In the trace of B")
    assert "view=trace" in (link.get_attribute("href") or ""), "a real address"
    link.click()
    plugin.ready("trace")
    expect(plugin.frame.locator(".trace-title h2")).to_have_text("npu::npu_apply_adam_w")
    expect(plugin.frame.locator("header")).to_contain_text("transformer_910b_tuned")


def test_diff_is_per_step_and_says_so(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("diff")
    note = plugin.main.get_by_text("per step: mean of all steps")
    expect(note).to_be_visible()  # operators name no step
    last = plugin.main.locator(".diff-row:not(.sum)").last.locator("> .mono").last
    total = plugin.main.locator(".diff-row.sum .middle").inner_text()
    assert last.inner_text() == total
    assert f"{float(total.replace('−', '-')):.2f}".strip("-") in plugin.main.locator(".diff-head b").inner_text()
    plugin.pick("Step", "11")
    expect(note).to_be_visible()
    plugin.main.get_by_role("tab", name="Kernels").click()
    expect(note).to_have_count(0)


def test_diff_goes_on_from_step_to_step_and_adds_a_capture(open_plugin: Open, demo_server: str) -> None:
    """The entries go from the step of A to that of B, findings are gone, and a third capture stands beside."""
    plugin = open_plugin(demo_server)
    plugin.open("diff")
    entries = plugin.card("Where the time changed").locator("table.waterfall")
    step = entries.locator("tr.sum").last
    expect(step).to_contain_text("−17.29")
    expect(entries.locator("tr", has_text="Computing")).to_contain_text("−10.94")
    assert "trace.ranks" in (plugin.main.get_by_text("Same step in both timelines").get_attribute("href") or "")
    findings = plugin.card("What became of the findings of A in B").locator("tbody tr")
    expect(findings.filter(has_text="Optimizer that is not fused")).to_contain_text("gone")
    plugin.frame.locator("nav.side").get_by_role("button", name="Add a capture").click()
    expect(plugin.main.locator(".diff-captures tr")).to_have_count(3)
    plugin.main.get_by_role("tab", name="A → B").click()
    expect(step).to_contain_text("−17.29")
    columns = entries.locator("thead th")
    expect(columns).to_have_text(["Entry", "A", "B", "C", re.compile("ms"), "B − A", "running sum"])
    plugin.frame.locator("nav.side").get_by_role("button", name="Remove C").click()
    expect(plugin.main.locator(".diff-captures tr")).to_have_count(2)
    plugin.main.get_by_role("button", name="Slowest step 12 against median step 13").click()
    expect(step).to_contain_text("+0.70")


def test_diff_compares_the_pair_of_the_sidebar(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("overview")
    side = plugin.frame.locator("nav.side")
    face = side.get_by_role("button", name=re.compile("^Compare with"))
    expect(face).to_contain_text("transformer_910b_tuned")
    plugin.switch("diff")
    expect(side.locator('[data-side="experimental"]')).to_contain_text("transformer_910b_tuned")
    plugin.switch("overview")
    plugin.choose("Run", "transformer_slow_rank")  # no other run has as many ranks
    expect(face).to_contain_text("choose a capture")
    side.locator('a[data-view="diff"]').click()
    expect(plugin.main).to_contain_text("Choose the second capture")
    expect(plugin.main.get_by_text("Where the time changed")).to_have_count(0)


def test_kernels_of_a_rank_are_compared_with_the_other_ranks(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("distributed", **plugin.span_of("transformer_slow_rank"))
    card, rows = plugin.card("Kernel by rank"), plugin.rows("kernel_ranks.types")
    expect(card).to_contain_text("Computing of rank 5")
    expect(card).to_contain_text("check its clock")
    expect(rows.first).to_contain_text(re.compile(r"×1\.[45]\d"))
    card.locator(".card-head button", has_text="rank 5").click()
    plugin.frame.get_by_role("option", name="rank 2", exact=True).click()
    expect(card).to_contain_text("Computing of rank 2")
    expect(rows.first).to_contain_text(re.compile(r"×(1\.0|0\.9)\d"))
    plugin.frame.get_by_role("button", name="Unfold MatMulV3").click()
    expect(rows.nth(1)).to_contain_text("4096")
    plugin.open("kernel", **plugin.span_of("transformer_slow_rank"))
    plugin.frame.get_by_role("button", name="Compare the kernels with the other ranks").click()
    expect(card).to_contain_text("Computing of rank 5")
