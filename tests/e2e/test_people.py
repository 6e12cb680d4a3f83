"""What an expert does first, click by click: each click is counted."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Locator, expect

from tests.e2e.conftest import Open, Plugin
from tests.e2e.timeline import panel, ranks_settled, settled, shown


class Hands:
    """Clicks on the page, and their number."""

    def __init__(self, plugin: Plugin) -> None:
        self.plugin, self.actions = plugin, 0

    def click(self, target: Locator) -> None:
        self.actions += 1
        target.click()

    def type(self, text: str) -> None:
        self.actions += 1
        self.plugin.page.keyboard.press("/")
        self.plugin.page.keyboard.type(text)


def test_the_slow_kernel_of_the_straggler_among_64_ranks(open_plugin: Open, many_server: str) -> None:
    plugin = open_plugin(many_server)
    plugin.open("overview", **plugin.span_of("many"))
    hands = Hands(plugin)
    finding = plugin.main.locator(".ledger tr", has_text="Rank 22 is the straggler")
    hands.click(finding.get_by_role("link", name="Distributed"))
    plugin.ready("distributed")
    kernels = plugin.rows("kernel_ranks.types")
    expect(kernels.filter(has_text="MatMul").first).to_contain_text(re.compile(r"[23]\.\d\d"))
    expect(plugin.card("Kernel by rank")).to_contain_text("rank 22")
    assert hands.actions <= 2


def test_why_the_device_was_idle(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("overview", **plugin.span_of("transformer_910b"))
    hands = Hands(plugin)
    hands.click(plugin.main.locator(".ledger").get_by_role("link", name="Idle: late launches"))
    plugin.ready("idle")
    gap = plugin.rows("idle.intervals").first
    expect(gap).to_be_visible()
    expect(plugin.rows("idle.causes").first).to_contain_text(re.compile("[Dd]ata|[Ll]oader|[Ii]nput|[Hh]ost"))
    hands.click(gap)
    plugin.ready("trace")
    settled(plugin)
    expect(panel(plugin)).to_contain_text("Derived")
    assert hands.actions <= 2


def test_the_slowest_slice_of_a_name_over_all_ranks(open_plugin: Open, many_server: str) -> None:
    plugin = open_plugin(many_server)
    place = plugin.span_of("many")
    plugin.open("trace", **place)
    ranks_settled(plugin)
    plugin.switch("overview")
    plugin.quiet()
    hands = Hands(plugin)
    hands.type("MatMulV3")
    slices = plugin.frame.locator(".palette").get_by_role("group", name="Slices")
    first = slices.locator(".option").first
    expect(first).to_be_visible()
    hands.click(first)
    plugin.ready("trace")
    expect(plugin.frame.locator(".trace-title h2")).to_contain_text("MatMulV3")
    assert hands.actions <= 2


def test_both_places_of_the_largest_difference(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("diff")
    hands = Hands(plugin)
    hands.click(plugin.main.get_by_text("Same step in both timelines"))
    plugin.ready("trace")
    strips = plugin.frame.locator(".rank-strip-name")
    expect(strips.nth(1)).to_be_visible()
    assert hands.actions == 1


def test_a_link_to_a_range_over_three_ranks_shows_the_same_elsewhere(
    open_plugin: Open, demo_server: str, browser: Browser
) -> None:
    plugin = open_plugin(demo_server)
    place = plugin.span_of("transformer_slow_rank")
    (run,) = (run for run in plugin.catalog()["runs"] if run["id"] == place["run"])
    spans = [worker["spans"][0]["id"] for worker in run["workers"] if worker["rank"] in (0, 3, 5)]
    plugin.open("trace", **place, **{"trace.ranks": ".".join(spans), "trace.area": "20000000,60000000"})
    ranks_settled(plugin)
    said = plugin.frame.locator(".trace-explain summary")
    expect(said).to_contain_text("Rank 5")
    window, text, address = shown(plugin), said.inner_text(), plugin.page.url
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    other = Plugin(page, plugin.url)
    other.go(address)
    other.ready("trace")
    ranks_settled(other)
    expect(other.frame.locator(".trace-explain summary")).to_have_text(text)
    expect(other.frame.locator(".rank-strip-name")).to_have_count(3)
    assert [round(time) for time in shown(other)] == [round(time) for time in window]
    assert other.defects == []
    page.close()


def test_back_returns_from_what_a_number_opened(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("overview", **plugin.span_of("transformer_slow_rank"))
    plugin.main.locator(".ledger a[data-ns]").first.click()
    plugin.ready("distributed")
    plugin.page.go_back()
    plugin.ready("overview")
