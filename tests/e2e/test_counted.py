"""Each time of the ledger that is a link: the sum of what it opens equals it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Open

#: Times of the mean step are rounded down part by part, ns.
_ROUNDING = 20


@pytest.mark.parametrize(
    ("server", "run", "step"),
    [
        ("demo_server", "transformer_slow_rank", ""),
        ("demo_server", "transformer_slow_rank", "12"),
        ("demo_server", "transformer_910b", ""),
        ("results_server", "two_ranks", ""),
        ("results_server", "mindspore_two_ranks", ""),
    ],
)
def test_what_a_link_of_the_ledger_opens_sums_to_its_time(
    open_plugin: Open, request: pytest.FixtureRequest, server: str, run: str, step: str
) -> None:
    plugin = open_plugin(request.getfixturevalue(server))
    place = plugin.span_of(run)
    plugin.open("overview", **place, **({"step": step} if step else {}))
    links = plugin.main.locator(".ledger a[data-ns]")
    plugin.main.locator(".ledger tr.sum").first.wait_for()
    expect(plugin.main.locator(".first-look, .verdict strong", has_text="Reading")).to_have_count(0)
    plugin.quiet()
    found = [(str(one.get_attribute("href")), int(one.get_attribute("data-ns") or 0)) for one in links.all()]
    assert found, "the ledger has links"
    for address, ns in found:
        plugin.go(plugin.url.rstrip("/") + "/" + address[address.index("#") :])
        total = plugin.main.locator(".table-tools [data-ns]").first
        expect(total).to_be_visible()
        plugin.quiet()
        assert abs(int(total.get_attribute("data-ns") or 0) - ns) <= _ROUNDING, address


def test_a_wait_opens_in_the_trace_of_its_rank(open_plugin: Open, demo_server: str) -> None:
    plugin = open_plugin(demo_server)
    plugin.open("distributed", **plugin.span_of("transformer_slow_rank"), step="12")
    row = plugin.rows("distributed.waits").filter(has_text="hcom_allReduce").first
    name = row.locator(".data-cell, [role=gridcell]").nth(1).inner_text()
    row.click()
    plugin.ready("trace")
    expect(plugin.frame.locator(".trace-title h2")).to_have_text(name)
