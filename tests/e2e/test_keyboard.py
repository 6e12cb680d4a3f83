"""Without a mouse: each stop of Tab has an accessible name and shows that it has the focus."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import VIEWS, Open

#: Records each element that gets the focus: its accessible name, and whether it shows the focus.
RECORD = """() => { window.stops = []; document.addEventListener("focusin", ({target: it}) => {
  const name = it.getAttribute("aria-label") || it.textContent.trim() || it.getAttribute("placeholder") || "";
  const style = getComputedStyle(it);
  const isOutlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  const isField = it.matches("input[type=checkbox], [role=application]");
  window.stops.push({what: it.tagName + "." + it.className, name, isShown: isOutlined || isField}); }); }"""
#: Presses between two looks at the focus; more looks than any view of the demo needs.
PRESSES, LOOKS = 10, 15


QUICK = ("overview",)


@pytest.mark.parametrize(
    "view", [view if view in QUICK else pytest.param(view, marks=pytest.mark.full) for view in VIEWS]
)
def test_each_stop_of_tab_has_a_name_and_shows_the_focus(open_plugin: Open, demo_server: str, view: str) -> None:
    plugin = open_plugin(demo_server)
    shell = plugin.open(view).locator("#shell")
    plugin.quiet()
    shell.locator(".skip").focus()
    shell.evaluate(RECORD)
    for _ in range(LOOKS):
        for _ in range(PRESSES):
            plugin.page.keyboard.press("Tab")
        if not shell.evaluate("() => document.hasFocus()"):
            break
    stops = shell.evaluate("() => window.stops")
    assert len(stops) > 20  # the bar, the list of views and the view itself
    assert [stop for stop in stops if not stop["name"] or not stop["isShown"]] == []
    # An internal id is not a name.
    assert [stop for stop in stops if stop["name"].startswith((f"{view}.", f"{view}-"))] == []


def test_first_stop_of_tab_skips_the_sidebar(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("kernel")
    plugin.frame.get_by_role("button", name="Go to the view").focus()
    plugin.page.keyboard.press("Enter")
    plugin.page.keyboard.press("Tab")
    expect(plugin.frame.locator("main :focus")).to_have_count(1)


def test_tables_and_choices_have_accessible_names(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    frame = plugin.open("overview")
    table = frame.get_by_role("grid", name="Top kernels")
    expect(table).to_have_attribute("aria-rowcount", str(table.locator('[role="row"]').count()))  # with the header
    table.focus()
    plugin.page.keyboard.press("ArrowDown")
    first = table.locator(".data-row.body").first.get_attribute("id") or ""
    assert first and " " not in first
    expect(table).to_have_attribute("aria-activedescendant", first)

    run = frame.get_by_role("button", name="Run: transformer_910b", exact=True)
    run.focus()
    plugin.page.keyboard.press("Enter")
    choices = frame.get_by_role("listbox", name="Run")
    expect(choices).to_be_focused()
    plugin.page.keyboard.press("ArrowDown")
    current = choices.locator(".option.at")
    expect(current.locator(".ellipsis")).to_have_text("transformer_910b_tuned")
    expect(choices).to_have_attribute("aria-activedescendant", current.get_attribute("id") or "")
    plugin.page.keyboard.press("Escape")
    choices.wait_for(state="detached")
    expect(run).to_be_focused()


def test_tooltip_shows_with_the_focus_and_describes_it(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    frame = plugin.open("overview")
    table = frame.get_by_role("grid", name="Top kernels")
    share = table.get_by_role("button", name="Sort by Share of computing")
    table.get_by_role("button", name="Sort by Total").focus()
    plugin.quiet()  # a scroll, or an answer that moves the page, hides the tooltip
    plugin.page.keyboard.press("Tab")
    tip = frame.get_by_role("tooltip")
    expect(tip).to_have_text(share.get_attribute("data-tip") or "")
    expect(share).to_have_attribute("aria-describedby", tip.get_attribute("id") or "")
    plugin.page.keyboard.press("Escape")
    tip.wait_for(state="detached")
    expect(share).not_to_have_attribute("aria-describedby", "tooltip")


def test_open_panels_close(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    frame = plugin.open("kernel")
    panel = frame.locator(".popover")
    frame.get_by_role("button", name="Columns", exact=True).click()
    panel.wait_for()
    plugin.page.set_viewport_size({"width": 1000, "height": 800})
    panel.wait_for(state="detached")
    plugin.open("trace", **{"trace.q": "mm"})
    flows = frame.get_by_role("button", name="Flows")
    flows.click()
    expect(panel).to_be_visible()
    plugin.page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    flows.click()
    panel.locator("p").click()  # takes the focus from the button
    plugin.page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect(frame.get_by_label("Search slices")).to_have_value("mm")


def test_the_search_of_the_header_leads_to_all_that_it_finds(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("trace", **plugin.span_of("transformer_910b"))  # its trace is read
    plugin.quiet()
    plugin.switch("overview")
    plugin.frame.locator("main h2").first.click()
    plugin.page.keyboard.press("/")
    plugin.page.keyboard.type("MatMulV3")
    palette = plugin.frame.locator(".palette")
    groups = palette.locator(".palette-head")
    expect(groups.filter(has_text="Kernel")).to_be_visible()
    expect(groups.filter(has_text="Slices")).to_be_visible()
    option = palette.get_by_role("group", name="Slices").locator(".option").first
    option.wait_for()
    name = option.locator(".ellipsis").inner_text().split(" · ")[0]
    slices = palette.get_by_role("group", name="Slices").locator(".option")
    others = palette.locator(".option").count() - slices.count()
    for _ in range(others):
        plugin.page.keyboard.press("ArrowDown")
        plugin.drawn()
    expect(option).to_have_class(re.compile(r"\bat\b"))
    plugin.page.keyboard.press("Enter")
    plugin.ready("trace")
    expect(plugin.frame.locator(".trace-title h2")).to_have_text(name)
