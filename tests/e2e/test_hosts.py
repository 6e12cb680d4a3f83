"""The ways in which TensorBoard is started."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from tests.conftest import FIXTURES
from tests.e2e.conftest import Plugin, expect
from tests.e2e.tensorboard import tensorboard

Open = Callable[..., Plugin]


def test_path_prefix(open_plugin: Open, cache: Path) -> None:
    with tensorboard("--logdir", str(FIXTURES / "demo"), cache=cache, prefix="/some/prefix") as url:
        plugin = open_plugin(url)
        for view in ("overview", "trace"):
            plugin.open(view)
            assert plugin.state() == "ready"
        plugin.close()


def test_logdir_spec(open_plugin: Open, cache: Path) -> None:
    demo = FIXTURES / "demo"
    spec = f"before:{demo / 'transformer_910b'},after:{demo / 'transformer_910b_tuned'}"
    with tensorboard("--logdir_spec", spec, cache=cache) as url:
        plugin = open_plugin(url)
        plugin.open("diff")
        text = plugin.frame.locator("main").inner_text()
        assert "before" in text
        assert "after" in text
        plugin.close()


def test_a_capture_that_was_never_parsed_opens_with_the_command_that_parses_it(
    open_plugin: Open, cache: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "result" / "localhost_1_20250109_ascend_pt"
    (folder / "FRAMEWORK").mkdir(parents=True)
    with tensorboard("--logdir", str(tmp_path), cache=cache) as url:
        plugin = open_plugin(url)
        plugin.page.goto(url)  # no address of ours: the tab is there and opens by itself
        plugin.page.get_by_role("tab", name="NPU Profiler").wait_for()
        page = plugin.page.frame_locator("iframe").locator("main")
        command = page.locator(".command code").first
        expect(command).to_contain_text(f'analyse("{folder}")')
        plugin.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.get_by_role("button", name="Copy the command").first.click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert plugin.page.evaluate("navigator.clipboard.readText()") == command.inner_text()
        plugin.close()


def test_a_result_that_appears_is_picked_up(open_plugin: Open, cache: Path, tmp_path: Path) -> None:
    with tensorboard("--logdir", str(tmp_path), "--reload_interval", "1", cache=cache) as url:
        plugin = open_plugin(url)
        plugin.open()
        plugin.frame.locator("main").get_by_text(str(tmp_path)).first.wait_for()
        source = min((FIXTURES / "demo" / "transformer_910b").glob("*_ascend_pt"))
        shutil.copytree(source, tmp_path / "late" / source.name)
        plugin.frame.locator("nav.side").get_by_text("late").first.wait_for()
        # It may have been found while it was still copied: then what was missing comes later.
        expect(plugin.frame.locator('#shell[data-view="overview"] .view-frame')).to_have_attribute(
            "data-state", "ready"
        )
        plugin.close()
