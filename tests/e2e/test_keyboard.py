"""Without a mouse: what Tab stops at has a name that a person understands, can be seen, and shows that it has the focus."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.e2e.conftest import VIEWS, Plugin, expect

#: What is focused: its role, its name as a screen reader says it, and what is wrong with how it looks.
FOCUSED = """() => {
  const it = document.activeElement;
  if (!it || it === document.body) return null;
  const named = it.getAttribute("aria-label") || it.textContent.trim() || it.getAttribute("placeholder") || "";
  const style = getComputedStyle(it);
  const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  const isField = it.matches("input[type=checkbox], [role=application]");
  return {what: it.tagName + "." + it.className, name: named, shows: seen || isField};
}"""
#: More than any view of the demo has.
STOPS = 150


@pytest.mark.parametrize("view", VIEWS)
def test_each_stop_of_tab_has_a_name_and_shows_the_focus(
    open_plugin: Callable[..., Plugin], demo_server: str, view: str
) -> None:
    plugin = open_plugin(demo_server)
    shell = plugin.open(view).locator("#shell")
    plugin.quiet()
    shell.locator(".skip").focus()
    stops = []
    for _ in range(STOPS):
        plugin.page.keyboard.press("Tab")
        stop = shell.evaluate(FOCUSED)
        if stop is None:
            break
        stops.append(stop)
    assert len(stops) > 20  # the bar, the list of views and the view itself
    assert [stop for stop in stops if not stop["name"] or not stop["shows"]] == []
    # An id of ours is no name.
    assert [stop for stop in stops if stop["name"].startswith((f"{view}.", f"{view}-"))] == []


def test_tables_and_choices_are_told_by_what_they_show(open_plugin: Callable[..., Plugin], demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    frame = plugin.open("overview")
    table = frame.get_by_role("grid", name="Top kernels")
    rows = table.locator('[role="row"]').count()
    expect(table).to_have_attribute("aria-rowcount", str(rows))  # that of the titles, too
    table.focus()
    plugin.page.keyboard.press("ArrowDown")
    first = table.locator(".data-row.body").first.get_attribute("id") or ""
    assert " " not in first
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


def test_a_tooltip_shows_with_the_focus_and_is_read_out(open_plugin: Callable[..., Plugin], demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    frame = plugin.open("overview")
    table = frame.get_by_role("grid", name="Top kernels")
    share = table.get_by_role("button", name="Sort by Share of computing")
    table.get_by_role("button", name="Sort by Total").focus()
    plugin.drawn()  # it may have scrolled, which hides a tooltip
    plugin.page.keyboard.press("Tab")
    tip = frame.get_by_role("tooltip")
    expect(tip).to_have_text(share.get_attribute("data-tip") or "")
    expect(share).to_have_attribute("aria-describedby", tip.get_attribute("id") or "")
    plugin.page.keyboard.press("Escape")
    tip.wait_for(state="detached")
    expect(share).not_to_have_attribute("aria-describedby", "tooltip")


def test_a_window_of_another_size_closes_an_open_panel(open_plugin: Callable[..., Plugin], demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    frame = plugin.open("kernel")
    frame.get_by_role("button", name="Columns").click()
    panel = frame.locator(".popover")
    panel.wait_for()
    plugin.page.set_viewport_size({"width": 1000, "height": 800})
    panel.wait_for(state="detached")
