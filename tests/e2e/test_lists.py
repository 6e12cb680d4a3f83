"""No list or table of the page holds all rows, however many there are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Route, expect

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


#: Rows of each table of an answer.
MANY = 10_000
#: The tables of the views, by their names, with the tab that shows them.
TABLES = (
    *(("kernel", name, {"kernel.tab": name}) for name in ("statistic", "types", "all", "task_time")),
    *(("operator", name, {"operator.tab": name}) for name in ("by_name", "by_shape", "api_statistic")),
    ("memory", "allocations", {"m.tab": "operators"}),
    ("memory", "modules", {"m.tab": "modules"}),
    *(("diff", name, {"x.tab": name}) for name in ("kernels", "operators", "calls")),
    *(("distributed", name, {"d.step": "*"}) for name in ("ops", "transports", "calls", "packets", "matrix")),
    *(("idle", name, {}) for name in ("causes", "places", "intervals")),
    ("step_trace", "steps", {}),
)
#: Category of trace events of the browser, one for each task.
TASKS = "disabled-by-default-devtools.timeline"
#: Most CPU time of a task, ms, at one of so many tries: a task costs more beside other programs.
MOST_MS, TRIES = 100, 3


def lengthen(table: dict[str, Any], rows: int) -> None:
    if table["rows"]:
        times = -(-rows // table["rows"])
        table["data"] = {key: (values * times)[:rows] for key, values in table["data"].items()}
        table["rows"], table["total"] = rows, MANY


def make_long(route: Route, name: str) -> None:
    """Answer with that table of so many rows."""
    found = route.fetch()
    answer = found.json()
    for table in (answer, *(answer.get("tables") or {}).values()):
        if table.get("id", "").endswith(f".{name}"):
            limit = parse_qs(urlsplit(route.request.url).query).get("limit", ["200"])
            lengthen(table, MANY if table is not answer else min(MANY, int(limit[0])))
    route.fulfill(response=found, json=answer)


def slowest_task(plugin: Plugin, act: Callable[[], None]) -> float:
    """CPU time of the longest task of the page while something happens, ms: other programs do not count."""
    browser = plugin.page.context.browser
    assert browser is not None
    browser.start_tracing(page=plugin.page, categories=[TASKS])
    act()
    plugin.quiet()
    events = json.loads(browser.stop_tracing())["traceEvents"]
    return max(event.get("tdur", 0) / 1000 for event in events if event["name"] == "RunTask")


@pytest.mark.parametrize(("view", "name", "state"), TABLES)
def test_a_table_of_many_rows_draws_few_and_fast(
    open_plugin: Open, demo_server: str, view: str, name: str, state: dict[str, str]
) -> None:
    plugin = open_plugin(demo_server)
    place = plugin.span_of("transformer_910b")
    plugin.page.route(re.compile(rf"/api/(view|table)/{view}[.?]"), lambda route: make_long(route, name))
    slowest = float("inf")
    for _ in range(TRIES):
        # Another view first: starting the page is not what is measured.
        plugin.open("doctor", **place, **state)
        plugin.quiet()
        slowest = min(slowest, slowest_task(plugin, lambda: plugin.switch(view)))
        if slowest <= MOST_MS:
            break
    grid = plugin.frame.locator(f'[data-table="{view}.{name}"]')
    expect(grid).to_have_attribute("aria-rowcount", str(MANY + 1))
    assert 0 < grid.locator(".data-row.body").count() < 100
    check(plugin, f"{view} {name}")
    assert slowest <= MOST_MS
