"""Firefox through WebDriver BiDi: its own remote protocol, JSON over a WebSocket, without a driver."""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sync_client = pytest.importorskip("websockets.sync.client", reason="websockets is not installed")

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
#: Limit of a start or of an answer, in seconds.
LIMIT = 120


class Firefox:
    """A tab of a running Firefox."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        #: Texts of errors on the console since the start.
        self.errors: list[str] = []
        self._call("session.new", capabilities={})
        self._call("session.subscribe", events=["log.entryAdded"])
        self._tab = self._call("browsingContext.getTree")["contexts"][0]["context"]

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._ids)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv(timeout=LIMIT))
            if message.get("id") == number:
                assert message["type"] == "success", message
                return dict(message["result"])
            if message.get("method") == "log.entryAdded" and message["params"]["level"] == "error":
                self.errors.append(message["params"]["text"])

    def open(self, url: str) -> None:
        """Load a page, also where only the fragment differs."""
        self._call("browsingContext.navigate", context=self._tab, url="about:blank", wait="complete")
        self._call("browsingContext.navigate", context=self._tab, url=url, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """Value of a JavaScript expression: a text, a number, a boolean or None."""
        target = {"context": self._tab}
        answer = self._call("script.evaluate", expression=expression, target=target, awaitPromise=True)
        assert answer["type"] == "success", answer
        return answer["result"].get("value")


@contextlib.contextmanager
def firefox(profile: Path) -> Iterator[Firefox]:
    """Start Firefox with an empty profile."""
    if FIREFOX is None:
        pytest.skip("no Firefox found and none could be installed (tools/ensure_firefox.sh)")
    command = [FIREFOX, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            place = profile / "WebDriverBiDiServer.json"
            end = time.monotonic() + LIMIT
            while not (place.exists() and place.read_text().endswith("}")):
                assert process.poll() is None and time.monotonic() < end, "Firefox does not start"
                time.sleep(0.1)
            address = json.loads(place.read_text())
            url = f"ws://{address['ws_host']}:{address['ws_port']}/session"
            with sync_client.connect(url, max_size=None) as socket:
                yield Firefox(socket)
        finally:
            process.terminate()
