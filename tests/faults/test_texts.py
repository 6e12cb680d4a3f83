"""Every sentence that the server sends has a code, so that the page can show it in its language."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tb_npu_plugin.messages import CATALOGUE
from tests.faults.conftest import runs, span_ids
from tests.http.conftest import Browser


def check_texts(answer: dict[str, Any]) -> int:
    """Assert that the texts of an answer have codes, but for data: `expected` and `found` may quote the file. Returns the columns."""
    for problem in answer["problems"]:
        assert {"lost", "action"} <= problem["texts"].keys(), problem
        assert {f"place.{unit}" for unit in re.findall(r"(?:^|, )([a-z]+) \d+(?=, |$)", problem["where"])} <= set(
            CATALOGUE
        )
    for item in answer["missing"]:
        assert {"title", "text"} <= item["texts"].keys(), item
    columns = [column for table in answer["tables"].values() for column in table["columns"]]
    for column in columns:
        assert "doc" in column["texts"] or not column["doc"], column
        # metrics are named by the headers of the file
        assert "title" in column["texts"] or column["group"] == "metric" or not column["title"], column
    return len(columns)


def test_views(answers: list[tuple[str, Any]]) -> None:
    assert sum(check_texts(answer) for _, answer in answers) > 100


def test_catalog(browser: Browser) -> None:
    catalog = browser.json("/api/catalog")
    assert catalog["skipped"]
    for item in catalog["skipped"]:
        assert item["texts"].keys() == {"reason", "action"}
    states = [state for run in catalog["runs"] for state in run["workers"][0]["spans"][0]["views"]]
    assert {state["available"] for state in states} == {True, False}
    for state in states:
        assert bool(state["reason"]) == ("reason" in state["texts"])


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/api/view/nothing", {}),
        ("/api/view/kernel", {"span": "gone"}),
        ("/api/view/kernel", {}),
        ("/api/view/distributed", {"run": "gone"}),
        ("/api/table/kernel.nothing", {}),
        ("/api/table/kernel.all", {"sort": "nothing"}),
        ("/api/table/kernel.all", {"where": "name:lt:3"}),
        ("/api/table/kernel.all", {"where": "dur_ns:eq:many"}),
        ("/api/timeline/stats", {"query": '{"sources": [{"span": "x"}], "t0": 5, "t1": 3}'}),
        ("/api/nothing", {}),
    ],
)
def test_errors(browser: Browser, path: str, query: dict[str, str]) -> None:
    span = span_ids(next(run for run in runs(browser) if run["label"].startswith("level2")))[0]
    browser.view("kernel", span=span)
    response = browser.ask(path, **({} if path.startswith("/api/view") else {"span": span}), **query)
    error = response.get_json()
    assert response.status_code >= 400
    assert error["texts"].keys() == {"message", "hint"}, error
