"""What TensorBoard sees of the plugin."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from tensorboard.plugins import base_plugin

from tb_npu_plugin.plugin import NpuPlugin
from tb_npu_plugin.store.library import Library
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


class OtherTab(base_plugin.TBPlugin):
    """Another plugin. TensorBoard takes it for active if it says so, or if its data are there."""

    plugin_name = "scalars"

    def __init__(self, active: bool) -> None:
        self._active = active

    def get_plugin_apps(self) -> dict[str, object]:
        return {}

    def is_active(self) -> bool:
        return self._active


@pytest.mark.parametrize(
    ("made", "is_other_active", "with_data", "is_active"),
    [
        ("parsed", True, (), True),
        ("never parsed", True, (), True),
        ("nothing", True, (), False),
        ("nothing", False, ("scalars",), False),
        ("nothing", False, (), True),
    ],
)
def test_the_tab_is_active_where_it_can_help(
    tmp_path: Path,
    made: str,
    is_other_active: bool,
    with_data: tuple[str, ...],
    is_active: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prepared = threading.Event()
    if made == "parsed":
        write_result(tmp_path / NAME)
    elif made == "never parsed":
        (tmp_path / NAME / "FRAMEWORK").mkdir(parents=True)
    asked = context(str(tmp_path))
    asked.data_provider = SimpleNamespace(list_plugins=lambda ctx, experiment_id: with_data)
    plugin = NpuPlugin(asked)
    monkeypatch.setattr(plugin, "_prepare", prepared.set)  # plugins of other tests may still be preparing
    core = SimpleNamespace(plugin_name="core", is_active=lambda: True, data_plugin_names=lambda: ())
    asked.plugin_name_to_instance = {"core": core, "npu_profiler": plugin, "scalars": OtherTab(is_other_active)}
    assert plugin.is_active() is is_active
    assert prepared.wait(60) if is_active else not prepared.wait(0.05), "no store, no pool, no cache for nothing"


def test_the_application_is_loaded_before_the_first_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_npu_plugin.plugin.PRELOAD_AFTER", 0.0)
    prepared = threading.Event()
    monkeypatch.setattr(Library, "prepare", lambda library: prepared.set())
    write_result(tmp_path / NAME)
    plugin = NpuPlugin(context(str(tmp_path)))
    plugin.get_plugin_apps()
    assert prepared.wait(60) and plugin._app is not None
    plugin.app().library.close()


def test_the_console_names_runs_and_loaded_spans(fresh: Browser, caplog: pytest.LogCaptureFixture) -> None:
    span = fresh.spans()[0]
    fresh.view("overview", span=span)
    found = [record.getMessage() for record in caplog.records if record.levelname == "INFO"]
    assert any(text.startswith("found run run: 2 workers, 2 captures, ") for text in found)
    assert any(text.startswith("loaded tables of rank 0") and " rows, " in text and NAME in text for text in found)


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


def test_without_a_logdir_the_catalog_is_empty() -> None:
    plugin = NpuPlugin(context(""))
    assert Browser(plugin).json("/api/catalog")["runs"] == []


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
