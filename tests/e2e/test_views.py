"""Every view opens and shows its figures; every choice of the sidebar works."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import VIEWS, Open, Plugin
from tests.e2e.timeline import settled

#: A text that each view shows for the first rank of the demo.
LANDMARK = {
    "overview": "This capture",
    "trace": "Flows",
    "step_trace": "Forward and backward",
    "kernel": "Accelerator core",
    "operator": "Device self",
    "memory": "Allocations",
    "distributed": "Communication operators",
    "diff": "Where the time changed",
    "doctor": "Folders that were not opened",
}


#: Colour of the last pixel of a canvas.
CORNER = "c => [...c.getContext('2d').getImageData(c.width - 2, c.height - 2, 1, 1).data].slice(0, 3)"

#: Views with the widest tables and pictures.
WIDE = ("overview", "trace", "distributed")


def test_each_view_opens_from_the_sidebar(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server, whole=True)
    plugin.open()
    for view, text in LANDMARK.items():
        plugin.switch(view)
        assert plugin.state() == "ready", view
        plugin.main.get_by_text(text).first.wait_for()
        assert f"view={view}" in plugin.page.url or view == "overview"
    plugin.page.go_back()
    plugin.ready("diff")
    plugin.page.go_forward()
    plugin.ready("doctor")


def test_link_opens_the_same_page(open_plugin: Open, demo_server: str) -> None:
    first = open_plugin(demo_server)
    first.open("kernel")
    first.choose("Worker", "rank 1")
    first.ready("kernel")
    first.frame.get_by_role("tab", name="By type").click()
    first.page.wait_for_function("location.hash.includes('worker') && location.hash.includes('kernel.tab')")
    second = open_plugin(demo_server)
    second.go(first.page.url)
    second.ready("kernel")
    expect(second.frame.locator(".crumbs")).to_contain_text("rank 1")
    expect(second.frame.get_by_role("tab", name="By type")).to_have_attribute("aria-selected", "true")


def test_each_view_follows_the_choice_of_run_and_worker(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open()
    crumbs = plugin.frame.locator(".crumbs")
    for number, view in enumerate(view for view in VIEWS if view != "diff"):
        plugin.switch(view)
        run, rank = ("transformer_slow_rank", "transformer_910b_tuned")[number % 2], f"rank {1 - number % 2}"
        plugin.choose("Run", run)
        plugin.choose("Worker", rank)
        expect(crumbs).to_contain_text(run)
        expect(crumbs).to_contain_text(rank)
        plugin.ready(view)
        assert plugin.state() == "ready", view


def test_sides_of_diff_are_swapped(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("diff")
    plugin.quiet()
    before = plugin.main.inner_text()
    plugin.frame.locator("nav.side").get_by_role("button", name="Swap A and B").click()
    expect(plugin.main).not_to_have_text(before, use_inner_text=True)
    plugin.ready("diff")


def test_table_sorts_filters_and_exports(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    frame = plugin.open("kernel")
    frame.get_by_role("tab", name="All", exact=True).click()
    frame.get_by_placeholder("Filter by words").fill("matmul")
    rows = plugin.rows("kernel.all")
    rows.filter(has_text="MatMul").first.wait_for()
    plugin.quiet()
    assert all("matmul" in text.lower() for text in rows.all_inner_texts())
    frame.locator('[role="grid"]').get_by_text("Duration").first.click()
    plugin.page.wait_for_function("location.hash.includes('dur_ns')")
    plugin.quiet()
    header, *lines = plugin.download(frame.get_by_text("CSV ↓").first).decode().splitlines()
    assert header.startswith("step,") or "name" in header.lower()
    assert lines and all("matmul" in line.lower() for line in lines)


def test_each_view_is_dark_and_chinese(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server, color_scheme="dark", locale="zh-CN")
    plugin.open()
    expect(plugin.frame.locator("nav.side")).to_contain_text("总览")
    for view in VIEWS:
        plugin.switch(view)
        assert LANDMARK[view] not in plugin.main.inner_text()
        background = plugin.frame.locator("body").evaluate("body => getComputedStyle(body).backgroundColor")
        assert background == "rgb(20, 24, 29)"
        if view == "trace":
            settled(plugin)
            assert plugin.frame.locator(".tl-base").evaluate(CORNER) == [29, 34, 40]


@pytest.mark.parametrize(
    "view", [view if view in WIDE else pytest.param(view, marks=pytest.mark.full) for view in VIEWS]
)
def test_narrow_window_does_not_scroll_sideways(open_plugin: Open, demo_server: str, view: str) -> None:
    plugin = open_plugin(demo_server, width=480)
    plugin.open(view)
    for width in (480, 600, 900):
        plugin.page.set_viewport_size({"width": width, "height": 800})
        plugin.quiet()
        body = plugin.frame.locator("body")
        assert body.evaluate("() => document.documentElement.scrollWidth - window.innerWidth") <= 0


@pytest.mark.full
@pytest.mark.parametrize("view", VIEWS)
def test_docs_screenshot(open_plugin: Open, demo_server: str, shot: Callable[[Plugin, str], None], view: str) -> None:
    plugin = open_plugin(demo_server, color_scheme="light")
    plugin.open(view)
    expect(plugin.frame.get_by_text("Reading finished", exact=True)).to_be_attached()
    plugin.page.wait_for_timeout(700)  # charts are drawn after the data arrive
    shot(plugin, view)


def test_sidebar_over_a_narrow_page_closes(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server, width=600)
    plugin.open("kernel")
    side = plugin.frame.locator("nav.side")
    for close in (
        lambda: plugin.page.keyboard.press("Escape"),
        lambda: plugin.main.click(position={"x": 500, "y": 10}),
    ):
        plugin.frame.get_by_role("button", name="Show or hide the sidebar").click()
        side.wait_for(state="visible")
        close()
        side.wait_for(state="hidden")
