"""Links that name what is not there, and what a table gives away."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import Plugin
from tests.e2e.timeline import Open


@pytest.mark.parametrize(
    ("state", "title"),
    [
        ({"run": "rgone"}, "Run not found"),
        ({"worker": "wgone"}, "Worker not found in this run"),
        ({"span": "sgone"}, "Span not found in this worker"),
        ({"view": "nonsense"}, "There is no such view"),
    ],
)
def test_what_is_not_there_is_said_and_the_address_stays(
    open_plugin: Open, demo_server: str, state: dict[str, str], title: str
) -> None:
    plugin: Plugin = open_plugin(demo_server)
    state = {"view": "kernel", **state}
    plugin.open(**{"wait": False, **state})
    card = plugin.frame.locator("section.card", has_text=title)
    card.wait_for()
    plugin.quiet()
    for key, value in state.items():
        assert f".{key}={value}" in plugin.page.url
    named = next(value for key, value in state.items() if title.lower().find(key) >= 0)
    assert named in card.inner_text()
    kernel = state["view"] == "nonsense"
    choices = card.locator(".choices button")
    (choices.filter(has_text="Kernel") if kernel else choices.first).click()
    plugin.ready("kernel")
    assert named not in plugin.page.url
    assert plugin.state() == "ready"


def test_header_of_a_table_stays_in_sight(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server, viewport={"width": 1440, "height": 500})
    plugin.open("kernel")
    grid = plugin.frame.locator('[role="grid"]').first
    head, last = grid.locator(".data-row.head"), grid.locator(".data-row.body").last
    last.scroll_into_view_if_needed()
    plugin.drawn()
    page, header, row = plugin.frame.locator(".main").bounding_box(), head.bounding_box(), last.bounding_box()
    assert page and header and row
    assert page["y"] <= header["y"] < page["y"] + 40, "it stands at the top of what scrolls"
    assert row["y"] > header["y"] + header["height"] - 1
