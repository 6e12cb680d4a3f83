"""Every broken fixture through every view: none gives a 500, an empty page or a silent skip."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.plugin import NpuPlugin
from tb_npu_plugin.service.catalog import span_facts
from tb_npu_plugin.views.availability import facts_of_span, missing, view_states
from tb_npu_plugin.views.registry import VIEWS
from tests.conftest import FIXTURES
from tests.http.conftest import Browser, context

BROKEN = FIXTURES / "broken"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One server over all broken results."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TB_NPU_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        plugin = NpuPlugin(context(str(BROKEN)))
        plugin.watcher().update()
        yield Browser(plugin)
        plugin.app().library.close()


def refuse(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def runs(browser: Browser) -> list[Any]:
    return list(browser.json("/api/catalog")["runs"])


def test_every_defect_is_in_the_catalog_or_told(browser: Browser) -> None:
    catalog = browser.json("/api/catalog")
    told = {item["path"].split("/")[0] for item in catalog["skipped"]}
    taken = {run["label"].split("/")[0] for run in catalog["runs"]}
    assert told | taken == {folder.name for folder in BROKEN.iterdir() if folder.is_dir()}
    assert all(item["reason"] and item["action"] for item in catalog["skipped"])


@pytest.mark.parametrize("view", [view.id for view in VIEWS])
def test_every_view_of_every_defect_answers(browser: Browser, view: str) -> None:
    scope = next(item.scope for item in VIEWS if item.id == view)
    for run in runs(browser):
        spans = [span["id"] for worker in run["workers"] for span in worker["spans"]]
        if scope == "run":
            queries: list[dict[str, str]] = [{"run": run["id"]}]
        elif scope == "diff":
            queries = [{"baseline": span, "experimental": spans[0]} for span in spans]
        else:
            queries = [{"span": span} for span in spans]
        for query in queries:
            found = browser.view(view, **query)
            assert found["state"] in ("ready", "missing", "failed"), run["label"]
            assert "view_defect" not in {problem["code"] for problem in found["problems"]}, (run["label"], found)
            if found["state"] == "ready":
                assert found["data"] is not None
            elif found["state"] == "failed":
                assert found["problems"], run["label"]
            else:
                assert found["missing"], run["label"]
            raw = browser.ask(f"/api/view/{view}", **query).text
            json.loads(raw, parse_constant=refuse)


def test_no_reader_met_a_defect_of_ours(browser: Browser) -> None:
    for run in runs(browser):
        for worker in run["workers"]:
            found = browser.view("overview", span=worker["spans"][0]["id"])
            assert "reader_defect" not in {problem["code"] for problem in found["problems"]}, run["label"]
            assert "reading_failed" not in {problem["code"] for problem in found["problems"]}, run["label"]


@pytest.mark.parametrize("defect", ["short_row", "bad_timestamp", "na_and_nan", "truncated_json", "missing_file"])
def test_a_defect_costs_no_more_than_itself(browser: Browser, defect: str) -> None:
    (run,) = [run for run in runs(browser) if run["label"].split("/")[0] == defect]
    found = browser.view("overview", span=run["workers"][0]["spans"][0]["id"])
    assert found["state"] == "ready" and found["data"]["steps"], (defect, Path(BROKEN / defect))


@pytest.mark.parametrize(
    ("defect", "codes"),
    [
        ("db_not_a_database", ["no_database"]),
        ("db_cut", ["file_cut", "unknown_task", "unknown_text"]),
    ],
)
def test_what_is_wrong_with_a_database_is_told_once(browser: Browser, defect: str, codes: list[str]) -> None:
    (run,) = [run for run in runs(browser) if run["label"].split("/")[0] == defect]
    span = run["workers"][0]["spans"][0]["id"]
    browser.view("trace", span=span)  # both stages read the file
    found = browser.view("doctor", span=span)["data"]
    problems = [problem for file in found["files"] for problem in file["problems"]] + found["others"]
    assert [problem["code"] for problem in problems] == codes
    assert all(problem["count"] == 1 for problem in problems if problem["code"] in ("no_database", "file_cut"))


def test_what_cannot_be_read_is_not_called_unrecorded(browser: Browser) -> None:
    (run,) = [run for run in runs(browser) if run["label"].split("/")[0] == "db_not_a_database"]
    span = run["workers"][0]["spans"][0]
    found = browser.view("kernel", span=span["id"])
    assert [item["option"] for item in found["missing"]] == ["", ""]
    assert all(item["text"].endswith("see the problems.") for item in found["missing"])
    (again,) = [one for one in runs(browser) if one["id"] == run["id"]]
    (state,) = [view for view in again["workers"][0]["spans"][0]["views"] if view["id"] == "kernel"]
    assert not state["available"] and "ascend_pytorch_profiler_0.db exists" in state["reason"] and not state["option"]


def test_lists_and_views_say_of_what_is_lost_what_the_data_say(browser: Browser) -> None:
    """Before anything is read names of files tell what there is; then a file that gave nothing is no file that was not
    recorded: nobody shall record again for it."""
    library, lost = browser.plugin.app().library, 0
    for run in runs(browser):
        for span in (span["id"] for worker in run["workers"] for span in worker["spans"]):
            browser.view("doctor", span=span)  # reads everything
            place = library.place(span)
            listed, read = span_facts(library, place), facts_of_span(library.open(place))
            assert view_states(listed) == view_states(read), run["label"]
            for view in VIEWS:
                assert missing(listed, view.id) == missing(read, view.id), run["label"]
            lost += len(listed.unusable)
    assert lost > 20
