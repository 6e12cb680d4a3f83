"""What the machine refuses is 503 and tried again; it is never damage, an absence or a defect."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from werkzeug.wrappers import Response

from tb_npu_plugin import refusal
from tb_npu_plugin.server import admission
from tb_npu_plugin.server.admission import Admission
from tb_npu_plugin.store import span as span_module
from tb_npu_plugin.store.timeline import files
from tests.http.conftest import Browser


def failing(error: Exception, calls: list[int]) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        calls.append(1)
        raise error

    return fail


def os_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("timeline", os_error(errno.EMFILE)),
        ("timeline", os_error(errno.EIO)),
        ("timeline", MemoryError()),
        ("table", os_error(errno.ENOSPC)),
        ("table", duckdb.IOException('IO Error: Cannot open file "/x/tables.duckdb": Too many open files')),
        ("table", duckdb.OutOfMemoryException("Out of Memory Error: failed to allocate data of size 16.0 MiB")),
        ("meta", os_error(errno.ENFILE)),
        ("meta", os_error(errno.EACCES)),
    ],
)
def test_a_refusal_is_503_and_costs_no_entry(
    place: str, error: Exception, fresh: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusal, "PERSISTENCE", 0.0)
    span = fresh.spans()[0]
    for view in ("trace", "kernel"):
        fresh.view(view, span=span)
    library = fresh.plugin.app().library
    entries = sorted(path.name for path in library.cache._entries.iterdir())
    route, query = {
        "timeline": ("/api/timeline/slice", {"query": json.dumps({"sources": [{"span": span}], "id": 0})}),
        "table": ("/api/view/kernel", {"span": span}),
        "meta": ("/api/view/kernel", {"span": span}),
    }[place]
    library._memory.__init__()  # type: ignore[misc]  # nothing is in memory
    library._open = type(library._open)(1, lambda _: 1)
    calls: list[int] = []
    with monkeypatch.context() as patch:
        if place == "timeline":
            patch.setattr(files, "read_or_map", failing(error, calls))
        elif place == "table":
            fresh.plugin.app().service._results = type(fresh.plugin.app().service._results)(1 << 20, lambda _: 1)
            patch.setattr(span_module, "read_short", failing(error, calls))
        else:
            library._records.clear()
            patch.setattr(Path, "read_bytes", failing(error, calls))
        response = fresh.ask(route, **query)
    assert calls, "the test does not reach it"
    assert response.status_code == 503, response.text
    assert response.headers["Retry-After"] == "1" and response.get_json()["code"] == "refused"
    assert sorted(path.name for path in library.cache._entries.iterdir()) == entries
    assert fresh.ask(route, **query).status_code == 200


def test_a_passing_refusal_is_not_seen(fresh: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    span = fresh.spans()[0]
    fresh.view("trace", span=span)
    fresh.plugin.app().library._memory.timelines.drop(fresh.view("trace", span=span)["data"]["version"])
    read, calls = files.read_or_map, []  # type: ignore[var-annotated]

    def refuse_once(file: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise OSError(errno.EMFILE, "Too many open files")
        return read(file)

    monkeypatch.setattr(files, "read_or_map", refuse_once)
    assert fresh.timeline("slice", span, id=0).status_code == 200
    assert len(calls) > 1


def test_requests_wait_for_those_before_them(fresh: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "MAX_WAIT", 0.1)
    gate = Admission(admission.RESERVED + 2 * admission.PER_REQUEST)
    monkeypatch.setattr(fresh.plugin.app(), "_admission", gate)
    go_on, at_once = threading.Event(), []

    def hold() -> Response:
        at_once.append(1)
        go_on.wait(30)
        return Response(b"")

    threads = [threading.Thread(target=gate.run, args=(hold,)) for _ in "ab"]
    for thread in threads:
        thread.start()
    while len(at_once) < 2:
        time.sleep(0.001)
    assert fresh.ask("/api/catalog").status_code == 503
    go_on.set()
    for thread in threads:
        thread.join()
    assert fresh.ask("/api/catalog").status_code == 200
    monkeypatch.setattr(fresh.plugin.app(), "_admission", Admission(16))
    assert fresh.ask("/api/catalog").status_code == 200, "a process with few descriptors answers one after the other"


def test_downloads_keep_their_place_until_they_are_sent(fresh: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    span = fresh.spans()[0]
    for view in ("trace", "kernel"):
        fresh.view(view, span=span)
    monkeypatch.setattr(admission, "MAX_WAIT", 0.1)
    gate = Admission(admission.RESERVED + 4 * admission.PER_REQUEST)
    monkeypatch.setattr(fresh.plugin.app(), "_admission", gate)
    asked = {
        "/api/trace/download": {"span": span},
        "/api/table/kernel.all": {"span": span, "format": "csv"},
        "/api/timeline/export": {"query": json.dumps({"sources": [{"span": span}], "t0": 0, "t1": 10**12})},
        "/index.js": {},  # unpacked while it is sent
    }
    for _ in range(4):
        assert fresh.ask("/api/trace/download", "HEAD", span=span).status_code == 200
    sending = [fresh.ask(route, **query) for route, query in asked.items()]
    assert [(one.status_code, one.is_streamed) for one in sending] == [(200, True)] * 4
    assert fresh.ask("/api/catalog").status_code == 503
    assert all(one.data for one in sending)
    sending[0].close()
    assert fresh.ask("/api/catalog").status_code == 200
    assert [fresh.ask("/api/trace/download", span="none").status_code for _ in range(4)] == [404] * 4
    for one in sending:
        one.close()
