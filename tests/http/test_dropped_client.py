"""A long answer is given up when nobody waits for it any more."""

from __future__ import annotations

import socket
import threading
from typing import Any
from urllib.parse import urlencode

import pytest
from werkzeug.serving import make_server

from tb_npu_plugin.store.timeline import stats as timeline_stats
from tests.http.conftest import PREFIX, Browser
from tests.unit.discovery.test_watch import until


def test_statistics_end_when_the_client_goes(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    span = browser.spans()[0]
    browser.view("trace", span=span)
    tiles: list[int] = []
    go_on, begun = threading.Event(), threading.Event()
    tile = timeline_stats._tile

    def slow(*arguments: Any) -> Any:
        tiles.append(1)
        begun.set()
        go_on.wait(30)
        return tile(*arguments)

    def endless(*_: Any) -> Any:
        while len(tiles) < 1000:
            yield 0, 10_000

    monkeypatch.setattr(timeline_stats, "_tile", slow)
    monkeypatch.setattr(timeline_stats, "_tiles", endless)
    app = browser.plugin.get_plugin_apps()["/api/*"]
    server = make_server("127.0.0.1", 0, app, threaded=True)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        query = urlencode({"span": span, "t0": 0, "t1": 10_000})
        with socket.create_connection(("127.0.0.1", server.server_port)) as client:
            client.sendall(f"GET {PREFIX}/api/timeline/stats?{query} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert begun.wait(30)
        go_on.set()
        seen: list[int] = []

        def is_over() -> bool:
            seen.append(len(tiles))
            return len(seen) > 20 and len(set(seen[-20:])) == 1

        assert until(is_over)
        assert len(tiles) < 1000
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
