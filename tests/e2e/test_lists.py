"""No list or table of the page holds all rows, however many there are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Open, Plugin
from tests.e2e.tensorboard import tensorboard
from tests.e2e.timeline import drag_range, find, panel, settled
from tests.support.long_run import NEEDLE, write_long_run

#: Elements with 100 children or more; drawings have as many as they have points.
CROWDED = """() => [...document.querySelectorAll("*")]
  .filter(one => one.childElementCount >= 100 && !one.closest("svg, head"))
  .map(one => `${one.tagName} ${one.className} ${one.getAttribute("aria-label") ?? ""}: ${one.childElementCount}`)"""
VIEWS = ("overview", "kernel", "operator", "memory", "distributed", "diff", "step_trace", "idle", "doctor")
#: Further states of views, with a table each.
STATES = (
    ("kernel", {"kernel.tab": "all"}),
    ("kernel", {"kernel.tab": "types"}),
    ("operator", {"operator.group": "calls"}),
)


def rows_of(config: pytest.Config) -> int:
    return 100_000 if "full or" in config.option.markexpr else 2_000


@pytest.fixture(scope="module")
def long_server(cache: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[str]:
    logdir = tmp_path_factory.mktemp("long")
    write_long_run(logdir, rows_of(request.config), ranks=105, skipped=105)
    with tensorboard("--logdir", str(logdir), cache=cache) as url:
        yield url


def check(plugin: Plugin, place: str) -> None:
    assert plugin.frame.locator(":root").evaluate(f"root => ({CROWDED})()") == [], place


def open_all(plugin: Plugin, place: str) -> None:
    """Open every menu and folded part of the view, one after the other."""
    for scope in ("main", "nav.side"):
        menus = plugin.frame.locator(f"{scope} button[aria-haspopup]:not([disabled])")
        for number in range(menus.count()):
            menu = menus.nth(number)
            if not menu.is_visible():
                continue
            menu.click()
            plugin.drawn()
            check(plugin, f"{place}, {menu.inner_text()}")
            plugin.page.keyboard.press("Escape")
    for folded in plugin.frame.locator("main summary").all():
        folded.click()
    plugin.drawn()
    check(plugin, f"{place}, unfolded")


@pytest.mark.full
def test_every_list_of_every_view(open_plugin: Open, long_server: str) -> None:
    plugin = open_plugin(long_server)
    place = plugin.span_of("long")
    for view, state in (*((view, {}) for view in VIEWS), *STATES):
        plugin.open(view, **place, **state)
        plugin.quiet()
        check(plugin, view)
        open_all(plugin, f"{view} {state}")


@pytest.mark.full
@pytest.mark.parametrize(
    ("run", "view"),
    [("wide", "distributed"), ("wide", "overview"), ("wide", "trace"), ("steps", "overview"), ("steps", "step_trace")],
)
def test_lists_of_many_ranks_and_steps(open_plugin: Open, long_server: str, run: str, view: str) -> None:
    plugin = open_plugin(long_server)
    plugin.open(view, **plugin.span_of(run), **({"trace.ranks": "all"} if view == "trace" else {}))
    plugin.quiet()
    check(plugin, view)
    open_all(plugin, view)


def test_every_list_of_the_trace(open_plugin: Open, long_server: str) -> None:
    plugin = open_plugin(long_server)
    plugin.open("trace", **plugin.span_of("long"))
    settled(plugin)
    check(plugin, "trace")
    open_all(plugin, "trace")
    find(plugin, NEEDLE)
    plugin.frame.locator(".trace-place .link").click()
    panel(plugin).locator(".data-row.body").first.wait_for()
    plugin.quiet()
    check(plugin, "matches")
    assert panel(plugin).locator(".data-row.body").count() < 100
    drag_range(plugin)
    plugin.quiet()
    check(plugin, "range")
