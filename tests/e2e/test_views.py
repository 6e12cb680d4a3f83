"""Every view opens and shows its figures; every choice of the sidebar works."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import VIEWS, Plugin

Open = Callable[..., Plugin]

#: A text that each view must show for the demo's first rank, beyond being there at all.
LANDMARK = {
    "overview": "This capture",
    "trace": "Ascend Hardware",
    "step_trace": "Forward and backward",
    "kernel": "Accelerator core",
    "operator": "Device self",
    "memory": "Allocations",
    "distributed": "Communication operators",
    "diff": "Where the time changed",
    "doctor": "Folders that were not opened",
}


def shows(plugin: Plugin, text: str) -> None:
    plugin.frame.locator("main").get_by_text(text).first.wait_for()


@pytest.mark.parametrize("view", VIEWS)
def test_view_opens_from_the_sidebar(open_plugin: Open, demo_server: str, view: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open()
    plugin.frame.locator(f'a[data-view="{view}"]').click()
    plugin.ready(view)
    assert plugin.state() == "ready"
    if view != "trace":  # its text is on a canvas
        shows(plugin, LANDMARK[view])
    assert f"view={view}" in plugin.page.url or view == "overview"


def test_back_returns_to_the_view_before(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("kernel")
    plugin.frame.locator('a[data-view="operator"]').click()
    plugin.ready("operator")
    plugin.page.go_back()
    plugin.ready("kernel")
    plugin.page.go_forward()
    plugin.ready("operator")


def test_link_opens_the_same_page(open_plugin: Open, demo_server: str) -> None:
    first = open_plugin(demo_server)
    first.open("kernel")
    choose(first, "WORKER", "rank 1")
    first.ready("kernel")
    first.frame.get_by_role("tab", name="By type").click()
    first.page.wait_for_function("location.hash.includes('worker') && location.hash.includes('kernel.tab')")
    second = open_plugin(demo_server)
    second.page.goto(first.page.url)
    second.ready("kernel")
    expect(second.frame.locator(".crumbs")).to_contain_text("rank 1")
    expect(second.frame.get_by_role("tab", name="By type")).to_have_attribute("aria-selected", "true")


def choose(plugin: Plugin, label: str, option: str) -> None:
    """Choose in the dropdown below a heading of the sidebar."""
    side = plugin.frame.locator("nav.side")
    side.locator(f'h2:text-is("{label.capitalize()}") + *').first.locator("button").first.click()
    plugin.frame.get_by_role("option", name=re.compile(re.escape(option))).first.click()


@pytest.mark.parametrize("view", VIEWS)
def test_run_and_worker_can_be_chosen(open_plugin: Open, demo_server: str, view: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open(view)
    if view == "diff":
        swap = plugin.frame.locator("nav.side").get_by_role("button", name="Swap the sides")
        plugin.quiet()
        before = plugin.frame.locator("main").inner_text()
        swap.click()
        expect(plugin.frame.locator("main")).not_to_have_text(before, use_inner_text=True)
        plugin.ready(view)
        return
    choose(plugin, "RUN", "transformer_910b_tuned")
    plugin.ready(view)
    choose(plugin, "WORKER", "rank 1")
    plugin.ready(view)
    expect(plugin.frame.locator(".crumbs")).to_contain_text("transformer_910b_tuned")
    expect(plugin.frame.locator(".crumbs")).to_contain_text("rank 1")
    assert plugin.state() == "ready"


def test_table_sorts_filters_and_exports(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("kernel")
    frame = plugin.frame
    frame.get_by_role("tab", name="All", exact=True).click()
    frame.get_by_placeholder("Filter by words").fill("matmul")
    rows = frame.locator('[role="grid"][data-table="kernel.all"] [role="row"]')
    rows.filter(has_text="MatMul").first.wait_for()
    plugin.quiet()
    assert all("matmul" in text.lower() for text in rows.all_inner_texts()[1:])
    frame.locator('[role="grid"]').get_by_text("Duration").first.click()
    plugin.page.wait_for_function("location.hash.includes('dur_ns')")
    plugin.quiet()
    with plugin.page.expect_download() as download:
        frame.get_by_text("CSV ↓").first.click()
    lines = download.value.path().read_text().splitlines()
    assert lines[0].startswith("step,") or "name" in lines[0].lower()
    assert len(lines) > 1
    assert all("matmul" in line.lower() for line in lines[1:])


@pytest.mark.parametrize(("theme", "locale"), [("dark", "en-US"), ("light", "zh-CN")])
@pytest.mark.parametrize("view", VIEWS)
def test_dark_and_chinese(open_plugin: Open, demo_server: str, shot, view: str, theme: str, locale: str) -> None:  # type: ignore[no-untyped-def]
    plugin = open_plugin(demo_server, color_scheme=theme, locale=locale)
    plugin.open(view)
    if theme == "dark":
        background = plugin.frame.locator("body").evaluate("body => getComputedStyle(body).backgroundColor")
        assert background == "rgb(20, 24, 29)"
    else:
        expect(plugin.frame.locator("nav.side")).to_contain_text("总览")
    shot(plugin, f"{view}-{theme}-{locale}")


@pytest.mark.parametrize("width", [900, 600])
@pytest.mark.parametrize("view", VIEWS)
def test_narrow_window_does_not_scroll_sideways(open_plugin: Open, demo_server: str, view: str, width: int) -> None:
    plugin = open_plugin(demo_server, viewport={"width": width, "height": 800})
    plugin.open(view)
    plugin.quiet()
    excess = plugin.frame.locator("body").evaluate("body => document.documentElement.scrollWidth - window.innerWidth")
    assert excess <= 0


@pytest.mark.parametrize("view", VIEWS)
def test_docs_screenshot(open_plugin: Open, demo_server: str, shot, view: str) -> None:  # type: ignore[no-untyped-def]
    plugin = open_plugin(demo_server, color_scheme="light")
    plugin.open(view)
    expect(plugin.frame.get_by_text("Everything asked for is read", exact=True)).to_be_attached()
    plugin.page.wait_for_timeout(700)  # charts draw after the data are there
    shot(plugin, view)


def test_escape_and_a_click_beside_it_close_the_sidebar_over_a_narrow_page(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server, viewport={"width": 600, "height": 900})
    plugin.open("kernel")
    side = plugin.frame.locator("nav.side")
    for close in (
        lambda: plugin.page.keyboard.press("Escape"),
        lambda: plugin.frame.locator("main").click(position={"x": 500, "y": 10}),
    ):
        plugin.frame.get_by_role("button", name="Show or hide the sidebar").click()
        side.wait_for(state="visible")
        close()
        side.wait_for(state="hidden")


def test_the_first_stop_of_the_tab_key_goes_past_the_sidebar(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("kernel")
    skip = plugin.frame.get_by_role("button", name="Go to the view")
    skip.focus()
    plugin.page.keyboard.press("Enter")
    plugin.page.keyboard.press("Tab")
    assert plugin.frame.locator("main :focus").count() == 1
