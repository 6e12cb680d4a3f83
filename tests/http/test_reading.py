"""/api/reading, and what views say of what is cancelled; versions of a timeline."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.plugin import NpuPlugin
from tb_npu_plugin.server import app as app_module
from tb_npu_plugin.server.app import App
from tb_npu_plugin.store import library as store_library
from tb_npu_plugin.store.cache.disk import Cache
from tb_npu_plugin.store.library import Library
from tests.http.conftest import Browser, context, serving
from tests.unit.discovery.test_watch import until
from tests.unit.store.results import NAME, write_result
from tests.unit.store.slow_worker import Holding
from tests.unit.store.test_previews import COUNT
from tests.unit.store.test_previews import TRACE as LONG_TRACE

FILES = ("kernel_details.csv", "trace_view.json")


@pytest.fixture
def holding(tmp_path: Path) -> Holding:
    return Holding(tmp_path / "holding", *FILES)


@pytest.fixture
def slow(logs: Path, tmp_path: Path, holding: Holding) -> Iterator[Browser]:
    """A browser of a server whose one worker stops at each file."""
    plugin = NpuPlugin(context(str(logs)))
    library = Library(plugin.watcher(), Cache(tmp_path / "cache"), workers=1, process=holding)
    plugin._app = App(plugin.watcher(), library)
    yield Browser(plugin)
    library.close()


def jobs(answer: Any) -> dict[str, str]:
    return {job["stage"]: job["state"] for job in answer["jobs"]}


def test_a_cancelled_view_waits_until_it_is_resumed(
    slow: Browser, holding: Holding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_module, "VIEW_WAIT", 60.0)  # no answer waits for what is cancelled
    span = slow.spans()[0]
    slow.json("/api/view/overview", span=span)
    assert until(lambda: "kernel_details" in holding.at())
    cancelled = {"tables": "cancelled", "trace": "cancelled"}
    assert jobs(slow.json("/api/reading", method="POST", span=span, stage="all", do="cancel")) == cancelled
    for view in ("overview", "kernel", "trace"):
        found = slow.json(f"/api/view/{view}", span=span, wait="1")
        assert found["state"] == "reading" and found["data"] is None and jobs({"jobs": found["progress"]}) == cancelled
    assert jobs(slow.json("/api/progress")) == cancelled
    assert slow.timeline("slice", span, id=0).status_code == 503
    state = slow.json("/api/catalog")["runs"][0]["workers"][0]["spans"][0]["state"]
    assert state == "new"

    holding.hold("trace_view.json")
    found = jobs(slow.json("/api/reading", method="POST", span=span, stage="tables", do="resume"))
    assert found["tables"] != "cancelled" and found["trace"] == "cancelled"
    assert slow.view("kernel", span=span)["state"] == "ready"
    assert jobs(slow.json("/api/progress", span=span)) == {"tables": "ready", "trace": "cancelled"}
    slow.json("/api/view/kernel", span=span)
    assert jobs(slow.json("/api/progress", span=span))["trace"] == "cancelled", "no view reads it ahead"
    holding.hold()
    slow.json("/api/reading", method="POST", span=span, stage="all", do="resume")
    assert slow.view("trace", span=span)["state"] == "ready"


def test_a_comparison_waits_for_both_captures(slow: Browser, holding: Holding) -> None:
    first, second = slow.spans()
    holding.hold()
    assert slow.view("kernel", span=first)["state"] == "ready" == slow.view("trace", span=first)["state"]
    holding.hold("kernel_details.csv")
    found = slow.json("/api/view/diff", baseline=first, experimental=second)
    assert found["state"] == "reading" and found["data"] is None
    holding.hold()
    assert slow.view("diff", baseline=first, experimental=second)["state"] == "ready"


def test_the_rest_of_a_run_is_cancelled(slow: Browser, holding: Holding) -> None:
    first, second = slow.spans()
    run = slow.json("/api/catalog")["runs"][0]["id"]
    holding.hold("trace_view.json")
    slow.view("kernel", span=first)
    assert until(lambda: "trace_view" in holding.at())
    slow.json("/api/view/distributed", run=run)
    assert jobs(slow.json("/api/reading", method="POST", run=run, stage="tables", do="cancel")) == {
        "tables": "cancelled",
        "trace": "reading",
    }
    found = slow.json("/api/view/distributed", run=run)
    assert found["state"] == "ready"
    states = {item["span"]: (item["state"], item["reason"]) for item in found["data"]["ranks"]}
    assert states == {first: ("ready", ""), second: ("missing", "Reading it was cancelled.")}
    holding.hold()
    slow.json("/api/reading", method="POST", run=run, stage="tables", do="resume")

    def all_ready() -> bool:
        found = slow.json("/api/view/distributed", run=run)
        return [item["state"] for item in found["data"]["ranks"]] == ["ready", "ready"]

    assert until(all_ready)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"stage": "all", "do": "cancel"}, 400),
        ({"span": "SPAN", "stage": "all"}, 400),
        ({"span": "SPAN", "do": "cancel"}, 400),
        ({"span": "SPAN", "stage": "nonsense", "do": "cancel"}, 400),
        ({"span": "nonsense", "stage": "all", "do": "cancel"}, 404),
        ({"run": "nonsense", "stage": "all", "do": "cancel"}, 404),
    ],
)
def test_what_is_no_such_work_is_refused(browser: Browser, query: dict[str, str], status: int) -> None:
    span = browser.spans()[0]
    given = {name: span if value == "SPAN" else value for name, value in query.items()}
    response = browser.ask("/api/reading", method="POST", **given)
    assert response.status_code == status, response.text


def test_the_beginning_of_a_trace_is_shown_while_the_rest_is_read(
    slow: Browser, holding: Holding, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_module, "VIEW_WAIT", 60.0)
    write_result(logs / "run" / NAME, trace=LONG_TRACE)
    span = slow.spans()[0]
    holding.hold("preview-1")
    found = slow.json("/api/view/trace", span=span, wait="1")
    assert found["state"] == "reading" and [job["state"] for job in found["progress"]][-1] == "reading"
    first, few = found["data"]["version"], found["data"]["slices"]
    assert first and 0 < few < COUNT and found["fingerprint"] == first
    assert slow.timeline("slice", {"span": span, "version": first}, id=0).status_code == 200
    hits = slow.timeline("search", [{"span": span, "version": first}, {"span": span}], q="a").get_json()
    assert hits["total"] == few
    assert [part["state"] for part in hits["parts"]] == ["ready", "unread"], "beside the open rank, only whole traces"
    holding.hold()
    found = slow.view("trace", span=span)
    assert found["state"] == "ready" and found["data"]["slices"] == COUNT and found["data"]["version"] != first
    old = slow.timeline("slice", {"span": span, "version": first}, id=0)
    assert old.status_code == 404 and old.get_json()["code"] == "stale"
    assert slow.timeline("slice", {"span": span, "version": found["data"]["version"]}, id=0).status_code == 200


def test_a_run_is_not_diagnosed_by_the_beginning_of_a_trace(slow: Browser, holding: Holding, logs: Path) -> None:
    # A rule then counted as checked, or not, by the moment of a cancel.
    write_result(logs / "run" / NAME, trace=LONG_TRACE)
    span = slow.spans()[0]
    holding.hold("preview-1")
    slow.view("kernel", span=span)
    slow.json("/api/view/trace", span=span)
    assert until(lambda: slow.json("/api/view/trace", span=span)["data"] is not None)
    run = slow.json("/api/catalog")["runs"][0]["id"]
    found = slow.plugin.app().service.resolve("diagnosis", {"run": run})
    assert [one.timeline for one in found.ready if one.token == span] == [None]


def test_what_is_cancelled_is_not_read_ahead(slow: Browser, holding: Holding) -> None:
    with_trace = slow.spans()[0]
    run = slow.json("/api/catalog")["runs"][0]["id"]
    slow.json("/api/view/distributed", run=run)
    assert until(lambda: "kernel_details" in holding.at())
    slow.json("/api/reading", method="POST", run=run, stage="tables", do="cancel")
    slow.json("/api/view/overview", span=with_trace)
    assert jobs(slow.json("/api/progress", span=with_trace)) == {"tables": "cancelled"}, "its trace is not begun either"


def test_a_trace_that_settles_within_a_request_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The view was ready at one look and had no trace at the next: it failed without a reason.
    monkeypatch.setattr(store_library, "is_settled", lambda files: False)
    for number in range(8):
        write_result(tmp_path / "logs" / str(number) / NAME)
    with serving(tmp_path, str(tmp_path / "logs")) as browser:
        spans = browser.spans()
        assert [browser.view("trace", span=span)["state"] for span in spans] == ["ready"] * 8
        for looks, span in enumerate(spans):
            left = iter(range(looks))
            monkeypatch.setattr(store_library, "is_settled", lambda files, left=left: next(left, None) is None)
            assert browser.json("/api/view/trace", span=span)["state"] in ("ready", "reading")
            assert browser.view("trace", span=span)["state"] == "ready"
            monkeypatch.setattr(store_library, "is_settled", lambda files: False)
