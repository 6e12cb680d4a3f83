"""The plugin's WSGI apps behind werkzeug's test client, over small results."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tensorboard.plugins import base_plugin
from werkzeug.test import Client, TestResponse

from tb_npu_plugin.plugin import NpuPlugin
from tb_npu_plugin.server.app import App
from tb_npu_plugin.store.cache.disk import Cache
from tb_npu_plugin.store.library import Library
from tb_npu_plugin.store.pool import worker
from tb_npu_plugin.store.stages import Request
from tests.conftest import FIXTURES
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

    def timeline(self, ask: str, sources: Any, **fields: Any) -> TestResponse:
        """Response to a question about timelines. sources: a list; of one, its fields or the token of its span."""
        one = {"span": sources} if isinstance(sources, str) else sources
        asked = {"sources": [one] if isinstance(one, dict) else one, **fields}
        return self.ask(f"/api/timeline/{ask}", query=json.dumps(asked))

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


class InProcess:
    """A worker without a process, which takes long to start; tests/unit/store/test_worker.py has the real one."""

    def run(self, request: Request, say: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        meta: dict[str, Any] = json.loads(json.dumps(worker.run(request, say)))
        return meta

    def kill(self) -> None:
        pass

    def close(self) -> None:
        pass


@contextmanager
def serving(folder: Path, logdir: str, logdir_spec: str = "") -> Iterator[Browser]:
    """A plugin with a cache in `folder`."""
    plugin = NpuPlugin(context(logdir, logdir_spec))
    library = Library(plugin.watcher(), Cache(folder / "cache"), workers=1, process=InProcess)
    plugin._app = App(plugin.watcher(), library)
    yield Browser(plugin)
    library.close()


def write_run(folder: Path) -> Path:
    """A logdir with one run of two ranks; the second has no trace."""
    write_result(folder / "run" / NAME, rank=0)
    write_result(folder / "run" / NAME.replace("4242", "4243"), rank=1, trace=None)
    return folder


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A logdir of its own for a test that changes it."""
    return write_run(tmp_path / "logs")


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first answers wait for the first scan, however busy the machine is."""
    monkeypatch.setattr("tb_npu_plugin.server.app.FIRST_SCAN", 120.0)
    monkeypatch.setattr("tb_npu_plugin.plugin.FIRST_RESULT", 120.0)


@pytest.fixture
def fresh(logs: Path, tmp_path: Path) -> Iterator[Browser]:
    """A plugin that has read nothing, over `logs`."""
    with serving(tmp_path, str(logs)) as browser:
        yield browser


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """The plugin over two ranks, both read. Tests that change files or the library take `fresh`."""
    folder = tmp_path_factory.mktemp("http")
    with serving(folder, str(write_run(folder / "logs"))) as browser:
        first, second = browser.spans()
        for view, span in (("overview", first), ("trace", first), ("overview", second)):
            browser.view(view, span=span)
        yield browser


@pytest.fixture(scope="package")
def slow_rank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """The plugin over the demo run of 8 ranks with a straggler."""
    with serving(tmp_path_factory.mktemp("slow_rank"), str(FIXTURES / "demo" / "transformer_slow_rank")) as browser:
        browser.spans()
        yield browser
