"""A long answer is abandoned when its client disconnects."""

from __future__ import annotations

import itertools
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from werkzeug.serving import make_server

from tb_npu_plugin.store.timeline import stats as timeline_stats
from tests.http.conftest import PREFIX, Browser
from tests.unit.discovery.test_watch import until


@pytest.fixture
def port(browser: Browser) -> Iterator[int]:
    """Port of a real HTTP server of the plugin."""
    server = make_server("127.0.0.1", 0, browser.plugin.get_plugin_apps()["/api/*"], threaded=True)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    yield server.server_port
    server.shutdown()
    serving.join()
    server.server_close()


def test_statistics_end_when_the_client_disconnects(
    browser: Browser, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []
    go_on, begun = threading.Event(), threading.Event()
    tile = timeline_stats._tile

    def slow(*arguments: Any) -> Any:
        counts.append(1)
        begun.set()
        go_on.wait(30)
        return tile(*arguments)

    monkeypatch.setattr(timeline_stats, "_tile", slow)
    monkeypatch.setattr(timeline_stats, "_tiles", lambda *_: itertools.repeat((0, 10_000), 100_000))
    query = urlencode({"query": json.dumps({"sources": [{"span": browser.spans()[0]}], "t0": 0, "t1": 10_000})})
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(f"GET {PREFIX}/api/timeline/stats?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert begun.wait(30)
    go_on.set()
    seen: list[int] = []

    def is_over() -> bool:
        seen.append(len(counts))
        return len(seen) > 20 and len(set(seen[-20:])) == 1

    assert until(is_over)
    assert len(counts) < 100_000
