"""Every broken fixture through every view: no internal error, no empty page and no silent skip."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tb_npu_plugin.service.catalog import span_facts
from tb_npu_plugin.views.availability import facts_of_span, missing_data, view_states
from tb_npu_plugin.views.registry import VIEWS
from tests.conftest import FIXTURES
from tests.faults.conftest import runs, span_ids
from tests.http.conftest import Browser

INTERNAL = {"view_defect", "reader_defect", "reading_failed"}


def run_of(browser: Browser, defect: str) -> Any:
    (run,) = [run for run in runs(browser) if run["label"].split("/")[:2] == ["broken", defect]]
    return run


def test_every_defect_is_in_the_catalog_or_skipped_with_a_reason(browser: Browser) -> None:
    catalog = browser.json("/api/catalog")
    paths = [item["path"] for item in catalog["skipped"]] + [run["label"] for run in catalog["runs"]]
    listed = {path.split("/")[1] for path in paths if path.startswith("broken/")}
    assert listed == {folder.name for folder in (FIXTURES / "broken").iterdir() if folder.is_dir()}
    assert all(item["reason"] and item["action"] for item in catalog["skipped"])


def test_every_view_of_every_defect_answers(browser: Browser, answers: list[tuple[str, Any]]) -> None:
    for label, found in answers:
        assert not INTERNAL & {problem["code"] for problem in found["problems"]}, (label, found["view"])
        shown = {"ready": found["data"], "missing": found["missing"], "failed": found["problems"]}
        assert shown[found["state"]], (label, found["view"])
    for run in runs(browser):
        raw = browser.ask("/api/view/overview", span=span_ids(run)[0]).text
        json.loads(raw, parse_constant=pytest.fail)


@pytest.mark.parametrize("defect", ["short_row", "bad_timestamp", "na_and_nan", "truncated_json", "missing_file"])
def test_a_defect_leaves_the_steps(browser: Browser, defect: str) -> None:
    found = browser.view("overview", span=span_ids(run_of(browser, defect))[0])
    assert found["state"] == "ready" and found["data"]["steps"], defect


@pytest.mark.parametrize(
    ("defect", "codes"),
    [
        ("db_not_a_database", ["no_database"]),
        (
            "db_cut",
            [
                "file_cut",
                "unknown_task",
                "unknown_text",
                "unknown_module",
                "not_shown",
                "unknown_text",
                *["unknown_curve"] * 3,
            ],
        ),
    ],
)
def test_a_defect_of_a_database_is_reported_once(browser: Browser, defect: str, codes: list[str]) -> None:
    span = span_ids(run_of(browser, defect))[0]
    browser.view("trace", span=span)  # both stages read the file
    found = browser.view("doctor", span=span)["data"]
    problems = [problem for file in found["files"] for problem in file["problems"]] + found["others"]
    assert [problem["code"] for problem in problems] == codes
    assert all(problem["count"] == 1 for problem in problems if problem["code"] in ("no_database", "file_cut"))


def test_an_unreadable_file_is_not_called_unrecorded(browser: Browser) -> None:
    run = run_of(browser, "db_not_a_database")
    found = browser.view("kernel", span=span_ids(run)[0])
    assert [item["option"] for item in found["missing"]] == ["", ""]
    assert all(item["text"].endswith("see the problems.") for item in found["missing"])
    states = run_of(browser, "db_not_a_database")["workers"][0]["spans"][0]["views"]
    (state,) = [view for view in states if view["id"] == "kernel"]
    assert not state["available"] and "ascend_pytorch_profiler_0.db exists" in state["reason"] and not state["option"]


def test_lists_and_views_agree_on_what_is_missing(browser: Browser) -> None:
    """Lists know names of files, views what was read. A file without usable content is not called unrecorded by either."""
    library, lost = browser.plugin.app().library, 0
    for run in runs(browser):
        for span in span_ids(run):
            browser.view("doctor", span=span)  # reads everything
            place = library.place(span)
            listed, read = span_facts(library, place), facts_of_span(library.open(place))
            assert view_states(listed) == view_states(read), run["label"]
            for view in VIEWS:
                assert missing_data(listed, view.id) == missing_data(read, view.id), run["label"]
            lost += len(listed.unusable)
    assert lost > 20
