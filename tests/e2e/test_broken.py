"""Broken results: each opens with what is left, names what is lost, and shows no error of the plugin."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.conftest import FIXTURES
from tests.e2e.conftest import VIEWS, Open

BROKEN = sorted(folder.name for folder in (FIXTURES / "broken").iterdir() if folder.is_dir())
#: One for each kind of defect: a table, a trace, a database, a folder that is not opened.
FEW = ("nul_bytes", "truncated_json", "db_cut", "never_parsed")


def test_hostile_names_are_text(open_plugin: Open, broken_server: str) -> None:
    plugin = open_plugin(broken_server)
    plugin.page.on("dialog", lambda dialog: plugin.defects.append(f"script ran: {dialog.message}"))
    span = plugin.span_of("script_in_name")
    for view in VIEWS:
        plugin.open(view, **span)
        assert plugin.frame.locator("main script, main img[src='x']").count() == 0


@pytest.mark.parametrize(
    "defect", [name if name in FEW else pytest.param(name, marks=pytest.mark.full) for name in BROKEN]
)
def test_broken_result_opens(open_plugin: Open, broken_server: str, defect: str) -> None:
    plugin = open_plugin(broken_server)
    span = plugin.span_of(defect)
    if not span:
        skipped = [item for item in plugin.catalog()["skipped"] if defect in item["path"]]
        assert skipped, "neither opened nor listed with a reason"
        assert skipped[0]["reason"] and skipped[0]["action"]
        return
    for view in ("overview", "kernel", "trace"):
        plugin.open(view, **span)
        assert plugin.main.inner_text().strip() or plugin.main.locator("canvas").count()


def test_banner_lists_every_problem(open_plugin: Open, broken_server: str) -> None:
    plugin = open_plugin(broken_server)
    plugin.open("overview", **plugin.span_of("short_row"))
    plugin.frame.locator(".banner").get_by_role("button", name="Show").click()
    problem = plugin.frame.locator(".banner .problem")
    for part in ("kernel_details.csv", "line 4", "Lost", "What to do"):
        assert part in problem.inner_text()
    plugin.frame.get_by_role("button", name="Hide", exact=True).click()
    expect(problem).to_have_count(0)


def test_skipped_folders_are_listed_with_reason_and_action(open_plugin: Open, broken_server: str) -> None:
    plugin = open_plugin(broken_server)
    plugin.open("overview")
    plugin.frame.locator("nav.side").get_by_text("Not opened").click()
    skipped = plugin.frame.locator(".popover")
    expect(skipped.get_by_text("never_parsed/", exact=False).first).to_be_visible()
    assert "analyse(" in skipped.inner_text()
