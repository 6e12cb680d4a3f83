"""The plugin's WSGI apps behind werkzeug's test client, over small results."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tensorboard.plugins import base_plugin
from werkzeug.test import Client, TestResponse

from tb_npu_plugin.plugin import NpuPlugin
from tests.unit.store.results import NAME, write_result

PREFIX = "/data/plugin/npu_profiler"


class Browser:
    """Asks the plugin's routes as the frontend does."""

    def __init__(self, plugin: NpuPlugin) -> None:
        self.plugin = plugin
        self._clients = {route: Client(app) for route, app in plugin.get_plugin_apps().items()}

    def ask(self, path: str, method: str = "GET", **query: Any) -> TestResponse:
        """Response of a route, which must be one that TensorBoard would find."""
        client = next(
            client
            for route, client in self._clients.items()
            if path == route or (route.endswith("*") and path.startswith(route[:-1]))
        )
        headers = query.pop("headers", None)
        return client.open(PREFIX + path, method=method, query_string=query, headers=headers)

    def json(self, path: str, **query: Any) -> Any:
        """JSON of a route that answers 200."""
        response = self.ask(path, **query)
        assert response.status_code == 200, response.text
        return response.get_json()

    def view(self, view: str, **query: str) -> Any:
        """A view, waited for."""
        pause = threading.Event()
        for _ in range(2400):
            found = self.json(f"/api/view/{view}", **query)
            if found["state"] != "reading":
                return found
            pause.wait(0.05)
        raise AssertionError(f"{view} is still being read: {found['progress']}")

    def spans(self) -> list[str]:
        """Ids of all spans of the catalog, scanned anew."""
        self.plugin.watcher().update()
        runs = self.json("/api/catalog")["runs"]
        return [span["id"] for run in runs for worker in run["workers"] for span in worker["spans"]]


def context(logdir: str, logdir_spec: str = "") -> base_plugin.TBContext:
    """What TensorBoard hands to a plugin."""
    return base_plugin.TBContext(logdir=logdir, flags=SimpleNamespace(logdir=logdir, logdir_spec=logdir_spec))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A logdir with one run of two ranks."""
    folder = tmp_path / "logs"
    write_result(folder / "run" / NAME, rank=0)
    write_result(folder / "run" / NAME.replace("4242", "4243"), rank=1, trace=None)
    return folder


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is, the first answers tell what the first scan found."""
    monkeypatch.setattr("tb_npu_plugin.server.app.FIRST_SCAN", 120.0)
    monkeypatch.setattr("tb_npu_plugin.plugin.FIRST_RESULT", 120.0)


@pytest.fixture
def browser(logs: Path) -> Iterator[Browser]:
    plugin = NpuPlugin(context(str(logs)))
    yield Browser(plugin)
    plugin.app().library.close()


@pytest.fixture
def empty_browser(tmp_path: Path) -> Iterator[Browser]:
    """Over a logdir without results."""
    (tmp_path / "nothing").mkdir()
    plugin = NpuPlugin(context(str(tmp_path / "nothing")))
    yield Browser(plugin)
    plugin.app().library.close()
