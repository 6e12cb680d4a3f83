"""The timeline's routes through the plugin: reading starts, answers are binary or JSON, errors are JSON."""

from __future__ import annotations

from tests.http.conftest import Browser
from tests.support.trace import decode
from tests.unit.discovery.test_watch import until


def test_a_request_for_the_timeline_starts_reading(fresh: Browser) -> None:
    span = fresh.spans()[0]
    query = {"span": span, "rows": "0-100", "t0": "0", "t1": "10000", "px": "1"}
    first = fresh.ask("/api/timeline/slices", **query)
    assert first.status_code == 503 and first.get_json()["code"] == "not_ready"
    assert until(lambda: fresh.ask("/api/timeline/slices", **query).status_code == 200)
    response = fresh.ask("/api/timeline/slices", **query)
    header, _ = decode(response.data)
    assert response.mimetype == "application/octet-stream"
    assert header["names"] == ["aten::add"] and header["base"] == "1736408883704000500"
    detail = fresh.json("/api/timeline/slice", span=span, id="0")
    assert detail["dur"] == 9500 and detail["args"] == {"Input Dims": "2,2"}


def test_the_trace_view_waits_for_the_trace_only(browser: Browser) -> None:
    found = browser.view("trace", span=browser.spans()[0])
    assert found["state"] == "ready" and found["base_ns"] == "1736408883704000500"
    before = found["fingerprint"]
    assert until(lambda: not browser.json("/api/progress")["jobs"])
    assert browser.view("trace", span=browser.spans()[0])["fingerprint"] == before, "it is not drawn again"


def test_a_span_without_a_trace_has_no_timeline(browser: Browser) -> None:
    span = browser.spans()[1]
    assert browser.view("trace", span=span)["state"] == "missing"
    assert browser.ask("/api/timeline/slice", span=span, id="0").status_code == 404


def test_trace_shows_times_from_the_zero_of_all_views(browser: Browser) -> None:
    """The trace begins at another moment than the tables."""
    span = browser.spans()[0]
    kernel = browser.view("kernel", span=span)
    trace = browser.view("trace", span=span)
    assert int(trace["base_ns"]) + trace["data"]["zero"] == int(kernel["base_ns"]) != int(trace["base_ns"])
