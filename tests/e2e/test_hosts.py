"""The ways in which TensorBoard is started."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.conftest import FIXTURES
from tests.e2e.conftest import Open
from tests.e2e.tensorboard import tensorboard


@pytest.mark.full
def test_path_prefix_and_logdir_spec(open_plugin: Open, cache: Path) -> None:
    demo = FIXTURES / "demo"
    spec = f"before:{demo / 'transformer_910b'},after:{demo / 'transformer_910b_tuned'}"
    with tensorboard("--logdir_spec", spec, cache=cache, prefix="/some/prefix") as url:
        plugin = open_plugin(url, whole=True)
        for view in ("trace", "diff"):
            plugin.open(view)
            assert plugin.state() == "ready"
        expect(plugin.main).to_contain_text("before")
        expect(plugin.main).to_contain_text("after")
        plugin.close()


def test_command_that_parses_a_raw_capture_and_a_result_that_appears_later(
    open_plugin: Open, cache: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "result" / "localhost_1_20250109_ascend_pt"
    (folder / "FRAMEWORK").mkdir(parents=True)
    with tensorboard("--logdir", str(tmp_path), "--reload_interval", "1", cache=cache) as url:
        plugin = open_plugin(url, whole=True)
        plugin.page.goto(url)  # without the plugin's address: the only tab opens by itself
        plugin.page.get_by_role("tab", name="NPU Profiler").wait_for()
        command = plugin.main.locator(".command code").first
        expect(command).to_contain_text(f'analyse("{folder}")')
        plugin.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        plugin.main.get_by_role("button", name="Copy the command").first.click()
        expect(plugin.main.get_by_role("button", name="Copied")).to_be_visible()
        assert plugin.page.evaluate("navigator.clipboard.readText()") == command.inner_text()

        source = min((FIXTURES / "demo" / "transformer_910b").glob("*_ascend_pt"))
        shutil.copytree(source, tmp_path / "late" / source.name)
        plugin.frame.locator("nav.side").get_by_text("late").first.wait_for()
        # A scan during the copy finds a part of the files; the next scan completes them.
        expect(plugin.frame.locator('#shell[data-view="overview"] .view-frame')).to_have_attribute(
            "data-state", "ready"
        )
        plugin.close()
