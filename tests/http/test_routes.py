"""The routes of docs/http_api.md: contracts, errors, headers."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import io
import json
import os
import threading
import typing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from tb_npu_plugin.server import respond, static
from tb_npu_plugin.server.timeline.layers import LayerJson, StepMarkJson
from tb_npu_plugin.service import catalog, resolve
from tb_npu_plugin.views import kernel
from tb_npu_plugin.views.availability import ViewStateJson
from tb_npu_plugin.views.base import ErrorJson, ProgressJson, ViewJson
from tests.http.conftest import PREFIX, Browser
from tests.support.ask import part
from tests.unit.discovery.test_watch import until
from tests.unit.store.results import NAME, TRACE, settle, write_result


def keys(kind: type) -> set[str]:
    return set(typing.get_type_hints(kind))


def test_the_catalog_keeps_its_contract(fresh: Browser) -> None:
    found = fresh.json("/api/catalog")
    assert set(found) == keys(catalog.CatalogJson)
    (run,) = found["runs"]
    assert set(run) == keys(catalog.RunJson) and run["label"] == "run"
    assert [worker["label"] for worker in run["workers"]] == ["rank 0 · host1_4242", "rank 1 · host1_4243"]
    for worker in run["workers"]:
        assert set(worker) == keys(catalog.WorkerJson)
        (span,) = worker["spans"]
        assert set(span) == keys(catalog.SpanJson)
        assert span["state"] == "new" and span["start_ns"] is None
        assert all(set(view) == keys(ViewStateJson) for view in span["views"])
    assert [worker["spans"][0]["has_trace"] for worker in run["workers"]] == [True, False]


def test_the_catalog_counts_the_problems_of_each_capture(fresh: Browser, logs: Path) -> None:
    for kernels in logs.rglob("kernel_details.csv"):
        kernels.write_bytes(kernels.read_bytes() + b"short,row\r\n")
    settle(logs)
    for span in fresh.spans():
        fresh.view("kernel", span=span)
    (run,) = fresh.json("/api/catalog")["runs"]
    assert [worker["spans"][0]["problems"] for worker in run["workers"]] == [1, 1]


def test_new_results_and_skipped_folders_are_listed(fresh: Browser, logs: Path) -> None:
    before = fresh.json("/api/catalog")["generation"]
    os.mkdir(os.fsencode(logs) + b"/bad\xff\xfe")  # noqa: PTH102
    write_result(Path(os.fsdecode(os.fsencode(logs) + b"/bad\xff\xfe")) / NAME, rank=5)
    write_result(logs / "<script>alert(1)<" / "x<b>y_1_20250109154804123_ascend_pt")
    (logs / "raw_ascend_pt" / "FRAMEWORK").mkdir(parents=True)
    settle(logs)
    assert until(lambda: len(fresh.json("/api/rescan", method="POST")["runs"]) == 3)
    found = fresh.json("/api/catalog")
    assert found["generation"] > before
    assert {run["label"] for run in found["runs"]} == {"run", "bad\ufffd\ufffd", "<script>alert(1)<"}
    (item,) = found["skipped"]
    assert set(item) == keys(catalog.SkippedJson) and item["path"] == "raw_ascend_pt" and "analyse(" in item["command"]


def test_a_change_during_the_catalog_raises_the_generation(fresh: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    # The page asks again when the generation has changed: it went on showing what was being read as it was.
    library = fresh.plugin.app().library
    real = catalog._span

    def span(*arguments: Any) -> Any:
        found = real(*arguments)
        library._events.count += 1
        return found

    monkeypatch.setattr(catalog, "_span", span)
    assert fresh.json("/api/catalog")["generation"] < library.generation


def test_a_view_is_read_when_it_is_asked_for(fresh: Browser) -> None:
    span = fresh.spans()[0]
    first = fresh.json("/api/view/overview", span=span)
    assert set(first) == keys(ViewJson)
    assert first["state"] == "reading" and first["data"] is None
    assert all(set(item) == keys(ProgressJson) for item in first["progress"]) and first["progress"]
    found = fresh.view("overview", span=span)
    assert found["state"] == "ready" and found["base_ns"] == "1736408883704643212"
    (step,) = found["data"]["steps"]
    assert (step["step"], step["computing"], step["free"], step["preparing"]) == ("7", 13750, 1500, 2000)
    state = fresh.json("/api/catalog")["runs"][0]["workers"][0]["spans"][0]
    assert state["state"] in ("partial", "ready") and state["start_ns"] == "1736408883704643212"
    assert state["label"] == "2025-01-09 15:48:04 · step 7"


def test_progress_of_a_span_and_of_everything(fresh: Browser) -> None:
    span = fresh.spans()[1]
    assert fresh.json("/api/progress", span=span)["jobs"] == []
    assert fresh.ask("/api/table/kernel.all", span=span).status_code == 503
    fresh.view("overview", span=span)
    (job,) = fresh.json("/api/progress", span=span)["jobs"]
    assert (job["stage"], job["state"]) == ("tables", "ready") and job["bytes_done"] == job["bytes_total"] > 0
    assert until(lambda: fresh.json("/api/progress")["jobs"] == [])
    assert fresh.json("/api/progress", span="nonsense")["jobs"] == []


def test_progress_waits_for_a_change(fresh: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = fresh.json("/api/progress")["changes"]
    monkeypatch.setattr("tb_npu_plugin.server.app.PROGRESS_WAIT", 0.01)
    assert fresh.json("/api/progress", seen=changes)["changes"] == changes
    monkeypatch.setattr("tb_npu_plugin.server.app.PROGRESS_WAIT", 600.0)
    threading.Timer(0.05, fresh.json, ("/api/view/overview",), {"span": fresh.spans()[0]}).start()
    found = fresh.json("/api/progress", seen=changes)
    assert found["changes"] > changes and found["jobs"]


def test_operators_come_from_the_trace_without_their_own_file(fresh: Browser, logs: Path) -> None:
    device_only = TRACE.replace("cpu_op", "other")
    write_result(logs / "other" / NAME, trace=device_only)
    without_host, with_trace, without_trace = fresh.spans()  # runs "other", "run" rank 0 and rank 1
    found = fresh.view("operator", span=with_trace)
    assert found["state"] == "ready" and found["data"]["source"] == "trace_view.json"
    assert found["tables"]["by_name"]["data"]["host_total_ns"] == [9500]
    for span in (without_host, without_trace):
        found = fresh.view("operator", span=span)
        assert found["state"] == "missing" and found["missing"][0]["file"] == "operator_details.csv"
    runs = fresh.json("/api/catalog")["runs"]
    spans = [span for run in runs for worker in run["workers"] for span in worker["spans"]]
    states = [next(view for view in span["views"] if view["id"] == "operator") for span in spans]
    assert [(state["available"], state["count"]) for state in states] == [(False, None), (True, 1), (False, None)]


def test_operators_of_a_range_wait_for_the_trace(fresh: Browser, logs: Path) -> None:
    rows = "Name,Input Shapes,Call Stack,Host Self Duration(us),Host Total Duration(us)\naten::add,,,9.5,9.5\n"
    write_result(logs / "other" / NAME, files={"operator_details.csv": rows})
    span = fresh.spans()[0]
    begin = 1736408883704000500
    fresh.plugin.app().service._for_page = False  # nothing but what the view needs
    found = [fresh.view("operator", span=span, within=f"{begin + at},{begin + at + 1}") for at in (-1, 0, 9_499, 9_500)]
    assert [one["data"]["calls"] for one in found] == [0, 1, 1, 0]
    assert {one["data"]["source"] for one in found} == {"trace_view.json"}
    assert fresh.view("operator", span=span)["data"]["source"] == "operator_details.csv"
    write_result(logs / "z_last" / NAME, files={"operator_details.csv": rows}, trace=None)
    without_trace = fresh.spans()[-1]
    assert fresh.view("operator", span=without_trace)["data"]["calls"] == 1
    assert fresh.ask("/api/view/operator", span=without_trace, within="1,2").status_code == 400


def test_the_fingerprint_changes_when_the_trace_adds_operators(fresh: Browser) -> None:
    span = fresh.spans()[0]
    library = fresh.plugin.app().library
    places = [library.place(one) for one in fresh.spans()]  # Overview shows what the other ranks say of its waits
    library.read(places, ["tables"])
    asked = fresh.plugin.app().service
    asked._for_page = False  # nothing but what the view needs
    before = fresh.view("overview", span=span)
    library.read(places, ["trace"])
    after = fresh.view("overview", span=span)
    assert "operators" not in before["tables"] and "operators" in after["tables"]
    assert (before["state"], before["preliminary"], after["preliminary"]) == ("ready", True, False)
    assert after["fingerprint"] != before["fingerprint"]


def test_a_table_of_a_view_without_data_is_not_waited_for(browser: Browser) -> None:
    span = browser.spans()[0]
    found = browser.view("memory", span=span)
    assert found["state"] == "missing" and found["data"] is None
    assert {item["file"] for item in found["missing"]} >= {"memory_record.csv"}
    assert all(item["option"] for item in found["missing"])
    response = browser.ask("/api/table/memory.allocations", span=span)
    assert response.status_code == 404 and "nothing to show" in response.get_json()["message"]


def test_tables_are_paged_sorted_and_downloaded_whole(browser: Browser) -> None:
    span = browser.spans()[0]
    page = browser.json("/api/table/kernel.all", span=span, sort="dur_ns", desc="1", limit="1")
    assert page["total"] == 2 and page["rows"] == 1 and page["data"]["dur_ns"] == [10250]
    response = browser.ask("/api/table/kernel.all", span=span, limit="1", format="csv")
    rows = list(csv.reader(io.StringIO(response.text, newline="")))
    assert response.mimetype == "text/csv" and len(rows) == 3, "all rows, not the page"
    assert "attachment" in response.headers["Content-Disposition"]


def test_the_original_trace_is_downloaded_unchanged(browser: Browser) -> None:
    response = browser.ask("/api/trace/download", span=browser.spans()[0])
    assert response.data == TRACE.encode() and response.headers["Content-Length"] == str(len(TRACE))
    assert "attachment" in response.headers["Content-Disposition"]
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert browser.ask("/api/trace/download", span=browser.spans()[1]).status_code == 404


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("/api/nonsense", {}, 404),
        ("/api/view/nonsense", {"span": "SPAN"}, 404),
        ("/api/view/overview", {}, 400),
        ("/api/view/overview", {"span": "nonsense"}, 404),
        ("/api/view/overview", {"span": "../../etc/passwd"}, 404),
        ("/api/view/diff", {"baseline": "SPAN"}, 400),
        ("/api/view/distributed", {"run": "nonsense"}, 404),
        ("/api/table/overview.nonsense", {"span": "SPAN"}, 404),
        ("/api/table/overview.kernels", {"span": "SPAN", "limit": "-1"}, 400),
        ("/api/table/overview.kernels", {"span": "SPAN", "where": "x"}, 400),
        ("/api/table/overview.kernels", {"span": "SPAN", "format": "xlsx"}, 400),
        ("/api/timeline/stats", {"query": '{"sources": [{"span": "x"}], "t0": 5, "t1": 3}'}, 400),
        ("/api/timeline/slice", {"query": '{"sources": [{"span": "x"}], "id": 1e3}'}, 400),
        ("/api/timeline/slice", {"query": '{"sources": [{"span": "nonsense"}], "id": 1}'}, 404),
        ("/api/timeline/slice", {"query": '{"sources": [{"span": "x", "layer": "../x"}], "id": 1}'}, 400),
        ("/api/timeline/slice", {"query": '{"sources": [{"span": "x"'}, 400),
        ("/api/table/", {}, 404),
        ("/api/trace/download", {"span": "/etc/passwd"}, 404),
        ("/api/timeline/nonsense", {"span": "SPAN"}, 404),
        ("/api/timeline/rows", {}, 400),
        ("/static/nonsense.js", {}, 404),
        ("/static/../plugin.py", {}, 404),
        ("/static/..%2fplugin.py", {}, 404),
        ("/static//etc/passwd", {}, 404),
        ("/static/", {}, 404),
    ],
)
def test_errors_are_json_with_code_message_and_hint(
    browser: Browser, path: str, query: dict[str, str], status: int
) -> None:
    span = browser.spans()[0]
    response = browser.ask(path, **{name: span if value == "SPAN" else value for name, value in query.items()})
    assert response.status_code == status, response.text
    assert response.mimetype == "application/json" and set(response.get_json()) == keys(ErrorJson)
    found = response.get_json()
    assert found["message"] and found["hint"] and "Traceback" not in response.text
    assert str(Path(__file__).parents[2]) not in response.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
@pytest.mark.parametrize("path", ["/api/catalog", "/static/index.js"])
def test_only_get_is_answered(browser: Browser, method: str, path: str) -> None:
    response = browser.ask(path, method=method)
    assert response.status_code == 405 and response.get_json()["code"] == "method"
    assert response.headers["Allow"] == "GET, HEAD"


def test_the_first_of_equal_parameters_counts(browser: Browser) -> None:
    found = browser.json("/api/table/overview.kernels", span=[browser.spans()[0], "nonsense"], limit=["1", "7"])
    assert found["rows"] == 1


@pytest.mark.defect
def test_an_internal_error_is_json_without_a_traceback(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(resolve, "find_view", lambda view: 1 / 0)
    response = browser.ask("/api/view/overview", span="x")
    assert response.status_code == 500 and response.get_json()["code"] == "internal"
    assert "ZeroDivision" not in response.text and "ZeroDivisionError" in caplog.text


@pytest.mark.defect
def test_a_view_that_cannot_be_built_fails_alone(fresh: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = dataclasses.replace(kernel.VIEW, build=lambda source: {}["played"])
    real = resolve.find_view
    monkeypatch.setattr(resolve, "find_view", lambda view: broken if view == "kernel" else real(view))
    span = fresh.spans()[0]
    found = fresh.view("kernel", span=span)
    assert found["state"] == "failed" and found["data"] is None
    assert "view_defect" in {problem["code"] for problem in found["problems"]}
    assert fresh.view("overview", span=span)["state"] == "ready"


def test_headers(browser: Browser) -> None:
    for path in ("/api/catalog", "/api/nonsense"):
        response = browser.ask(path)
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert "no-cache" in response.headers["Cache-Control"]
    packed = browser.ask("/api/catalog", headers={"Accept-Encoding": "gzip"})
    assert json.loads(gzip.decompress(packed.data))["runs"]


def test_static_files_are_those_of_the_package(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.js").write_text("one")
    (tmp_path / "assets" / "chart.js").write_text("two")
    static.pack_all(tmp_path)
    for name, content in {"index.js": b"one", "assets/chart.js": b"two"}.items():
        packed, mime = static.packed_static(name, tmp_path)
        assert (gzip.decompress(packed), mime) == (content, "text/javascript")
    for name in ("", "..", "../x", "assets", "assets/../index.js", "/index.js", "index.js\0"):
        with pytest.raises(static.NotFound):
            static.packed_static(name, tmp_path)


def test_a_browser_keeps_a_static_file_until_it_changes(browser: Browser) -> None:
    first = browser.ask("/static/index.js", headers={"Accept-Encoding": "gzip"})
    assert "no-cache" in first.headers["Cache-Control"]
    assert gzip.decompress(first.data) == browser.ask("/static/index.js").data
    assert first.headers["ETag"].startswith("W/"), "of all encodings"
    again = browser.ask("/static/index.js", headers={"Accept-Encoding": "gzip", "If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    assert again.headers["Content-Type"] == first.headers["Content-Type"], "TensorBoard warns of each answer without"


def test_encodings_of_answers() -> None:
    packs = Request(EnvironBuilder(headers={"Accept-Encoding": "gzip"}).get_environ())
    plain = Request(EnvironBuilder().get_environ())
    content = {"a": [float("nan"), float("inf"), 1.5], "b": np.int64(3), "c": np.float64("nan"), "d": ["\ud800"]}
    found = json.loads(respond.json(plain, content).get_data(), parse_constant=pytest.fail)
    assert found == {"a": [None, None, 1.5], "b": 3, "c": None, "d": ["?"]}
    large, small = bytes(respond.GZIP_FROM), b"x" * 10
    assert gzip.decompress(respond.binary(packs, large).get_data()) == large
    assert respond.binary(packs, large).headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in respond.binary(packs, small).headers
    assert respond.binary(plain, large).get_data() == large


def test_no_request_carries_a_path_and_no_answer_an_absolute_one(fresh: Browser, logs: Path) -> None:
    span = fresh.spans()[0]
    found = fresh.json("/api/catalog")
    assert found.pop("logdirs") == [str(logs)]
    view = fresh.view("overview", span=span)
    assert str(logs) not in json.dumps([found, view])
    for value in ("x/..", str(logs), "run", NAME, PREFIX):
        assert fresh.ask("/api/view/overview", span=value).status_code == 404


def test_doctor_lists_a_file_that_was_added_later(fresh: Browser, logs: Path) -> None:
    span = fresh.spans()[0]
    before = fresh.view("doctor", span=span)
    assert "unread" not in {file["state"] for file in before["data"]["files"]}
    (logs / "run" / NAME / "ASCEND_PROFILER_OUTPUT" / "hbm.csv").write_text("1")
    assert fresh.spans()[0] == span
    after = fresh.view("doctor", span=span)
    assert [file["file"] for file in after["data"]["files"] if file["state"] == "unread"] == [
        "ASCEND_PROFILER_OUTPUT/hbm.csv"
    ]
    assert after["fingerprint"] != before["fingerprint"]


@pytest.mark.parametrize("path", ["/api/rescan", "/api/reading"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT"])
def test_what_changes_something_is_no_get(browser: Browser, method: str, path: str) -> None:
    response = browser.ask(path, method=method, span="nonsense", stage="all", do="cancel")
    assert (response.status_code, response.headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),  # curl
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://proxy.example"}, 200),
        ({"Origin": "http://localhost"}, 200),
        ({"Origin": "https://proxy.example", "X-Forwarded-Host": "proxy.example"}, 200),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "https://other.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_what_changes_something_comes_from_our_own_page(browser: Browser, headers: dict[str, str], status: int) -> None:
    response = browser.ask("/api/rescan", method="POST", headers=headers)
    assert response.status_code == status, response.text


def test_a_request_for_the_timeline_starts_reading(fresh: Browser) -> None:
    span = fresh.spans()[0]
    first = fresh.timeline("slice", span, id=0)
    assert first.status_code == 503 and first.get_json()["code"] == "not_ready"
    assert until(lambda: fresh.timeline("slice", span, id=0).status_code == 200)
    response = fresh.timeline("rows", {"span": span, "rows": [[0, 0, 100]]}, t0=0, t1=10_000, px=1)
    header, _ = part(response.data, "0")
    assert response.mimetype == "application/octet-stream"
    assert header["names"] == ["aten::add"] and header["base"] == "1736408883704000500"
    detail = fresh.timeline("slice", span, id=0).get_json()
    assert detail["dur"] == 9500 and detail["args"] == {"Input Dims": "2,2"}


def test_the_trace_view_waits_for_the_trace_only(browser: Browser) -> None:
    span = browser.spans()[0]
    found = browser.view("trace", span=span)
    assert found["state"] == "ready" and found["base_ns"] == "1736408883704000500"
    zero = int(found["base_ns"]) + found["data"]["zero"]
    assert zero == int(browser.view("kernel", span=span)["base_ns"]), "the origin of all views"
    assert until(lambda: not browser.json("/api/progress")["jobs"])
    assert browser.view("trace", span=span)["fingerprint"] == found["fingerprint"], "it is not drawn again"


def test_a_span_without_a_trace_has_no_timeline(browser: Browser) -> None:
    span = browser.spans()[1]
    assert browser.view("trace", span=span)["state"] == "missing"
    assert browser.timeline("slice", span, id=0).status_code == 404


def test_derived_rows_need_a_trace(browser: Browser) -> None:
    first, second = browser.spans()
    derived = [{"span": span, "layer": "derived"} for span in (first, second)]
    found = browser.timeline("layer", derived[0]).get_json()
    assert set(found) == keys(LayerJson) and found["rows"] == []  # the trace holds no launches
    assert browser.timeline("slice", derived[0], id=0).status_code == 404
    assert browser.timeline("layer", derived[1]).status_code == 404


def test_other_rows_are_packed_and_asked_for_like_those_of_the_trace(slow_rank: Browser) -> None:
    span = slow_rank.spans()[0]
    processes = slow_rank.view("trace", span=span)["data"]["processes"]
    frames = {"span": span, "layer": "frames"}
    (track,) = slow_rank.timeline("layer", frames).get_json()["replaced"]
    (thread,) = (one for each in processes for one in each["threads"] if one["track"] == track["tracks"][0])
    assert 0 < track["rows"] < thread["rows"] and 0 < track["slices"] < thread["slices"]
    rows = [[thread["track"], 0, track["rows"] - 1]]
    answer = slow_rank.timeline("rows", {**frames, "rows": rows}, t0=0, t1=10**12, px=1).data
    header, columns = part(answer, "0")
    assert int(columns["count"].sum()) == track["slices"]
    (_, depth, at, _), *_ = header["rows"]
    own = int(columns["id"][at])
    detail = slow_rank.timeline("slice", span, id=own, shown=["frames"]).get_json()
    assert (detail["track"], detail["depth"]) == (thread["track"], depth)
    assert slow_rank.timeline("slice", span, id=own).get_json()["depth"] > detail["depth"]
    assert slow_rank.timeline("layer", {**frames, "layer": "no"}).status_code == 400


def test_steps_of_the_ruler_are_those_of_the_overview(slow_rank: Browser) -> None:
    span = slow_rank.spans()[0]
    steps = slow_rank.view("overview", span=span)["data"]["steps"]
    slow_rank.view("trace", span=span)
    found = slow_rank.timeline("steps", span).get_json()["steps"]
    assert [one["step"] for one in found] == [one["step"] for one in steps] != []
    assert [set(one) for one in found] == [keys(StepMarkJson)] * len(steps)
    assert all(0 < one["start"] < one["end"] for one in found), "ns after the base of the trace"
