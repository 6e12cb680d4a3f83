"""Every sentence that the server sends is one that tools/gen_texts.py found, so that the frontend can translate it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.faults.conftest import runs, span_ids
from tests.http.conftest import Browser
from tests.support.texts import Texts


def sentences(answer: dict[str, Any]) -> Iterator[str]:
    """Texts of an answer that have no code; problems carry messages: `expected` and `found` may quote the file."""
    for problem in answer["problems"]:
        assert {"lost", "action"} <= problem["texts"].keys(), problem
    for item in answer["missing"]:
        assert "text" in item["texts"], item
        yield item["title"]
    for table in answer["tables"].values():
        for column in table["columns"]:
            yield column["doc"]
            if column["group"] != "metric":  # those are named by the headers of the file
                yield column["title"]


def test_views(answers: list[tuple[str, Any]]) -> None:
    texts = Texts()
    found = {text for _, answer in answers for text in sentences(answer)}
    assert len(found) > 100
    assert not {text for text in found if text and not texts.knows(text)}


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
