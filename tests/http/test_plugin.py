"""What TensorBoard sees of the plugin."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from tb_npu_plugin.plugin import NpuPlugin
from tests.http.conftest import Browser, context
from tests.unit.store.results import NAME, write_result


def test_importing_it_loads_nothing_heavy() -> None:
    code = (
        "import sys; from tensorboard.plugins import base_plugin; before = set(sys.modules);"
        "import tb_npu_plugin.plugin; print(*sorted(set(sys.modules) - before))"
    )
    added = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {name for name in added if name.startswith("tb_npu_plugin")} == {"tb_npu_plugin", "tb_npu_plugin.plugin"}
    assert not {"numpy", "duckdb", "msgspec", "pandas"} & set(added)


def test_being_active_needs_results_but_reads_none(browser: Browser, empty_browser: Browser) -> None:
    assert browser.plugin.is_active() is True
    assert empty_browser.plugin.is_active() is False
    assert browser.plugin._app is None, "no store, no pool, no cache for this"


def test_metadata(browser: Browser) -> None:
    metadata = browser.plugin.frontend_metadata()
    assert metadata.tab_name == "NPU Profiler" and metadata.es_module_path == "/static/index.js"
    assert browser.plugin.plugin_name == "npu_profiler"


def test_logdir_spec(tmp_path: Path) -> None:
    write_result(tmp_path / "x" / NAME)
    write_result(tmp_path / "y" / "deep" / NAME)
    plugin = NpuPlugin(context("", f"a:{tmp_path / 'x'},b:{tmp_path / 'y'}"))
    browser = Browser(plugin)
    assert len(browser.spans()) == 2
    assert [run["label"] for run in browser.json("/api/catalog")["runs"]] == ["a", "b/deep"]
    plugin.app().library.close()


def test_without_any_logdir_it_is_there_and_empty() -> None:
    plugin = NpuPlugin(context(""))
    assert plugin.is_active() is False and Browser(plugin).json("/api/catalog")["runs"] == []


def test_two_first_requests_share_one_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # functools.cached_property has no lock since Python 3.12: each request made a library with workers of its own.
    app = NpuPlugin(context(str(tmp_path))).app()
    made: list[object] = []
    other = threading.Thread(target=lambda: app.library, daemon=True)

    def library(watcher: object) -> object:
        made.append(watcher)
        if len(made) == 1:
            other.start()
            other.join(0.2)  # without a lock it gets here as well; with one it waits
        return SimpleNamespace()

    monkeypatch.setattr("tb_npu_plugin.server.app.Library", library)
    assert app.library is app.library
    other.join()
    assert len(made) == 1
