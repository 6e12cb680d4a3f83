"""While TensorBoard runs: its tabs, colours and Reload; files that change; many ranks."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, expect
from tensorboard.compat.proto import event_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from tests.conftest import FIXTURES
from tests.e2e.conftest import Plugin, wait_until
from tests.e2e.tensorboard import tensorboard

Open = Callable[..., Plugin]
SMALL = next((FIXTURES / "results" / "level1").iterdir())
KERNELS = len((SMALL / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").read_text().splitlines()) - 1


def result(folder: Path, *left_out: str) -> Path:
    """A small result without a trace; returns its kernel_details.csv."""
    shutil.copytree(SMALL, folder, ignore=shutil.ignore_patterns("trace_view.json", *left_out))
    return folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"


def scalar(folder: Path) -> None:
    """Something for another tab of TensorBoard."""
    writer = EventFileWriter(str(folder))
    event = event_pb2.Event(step=1, wall_time=1.0)
    event.summary.value.add(tag="loss", simple_value=1.0)
    writer.add_event(event)
    writer.close()


def kernels(plugin: Plugin) -> Locator:
    """The count of kernels beside the view's name."""
    return plugin.frame.locator('a[data-view="kernel"] .count')


def is_enabled(plugin: Plugin, tab: str) -> bool:
    """TensorBoard shows this tab."""
    return bool(plugin.page.request.get(f"{plugin.url}data/plugins_listing").json()[tab]["enabled"])


def test_tabs_colours_and_reload_of_tensorboard(open_plugin: Open, cache: Path, tmp_path: Path) -> None:
    file = result(tmp_path / "run" / SMALL.name)
    scalar(tmp_path / "run")
    with tensorboard("--logdir", str(tmp_path), "--reload_interval", "0", cache=cache) as url:
        plugin = open_plugin(url)
        page = plugin.page
        # TensorBoard asks once which tabs there are, and reads events meanwhile.
        wait_until(plugin, lambda: is_enabled(plugin, "scalars"))
        assert is_enabled(plugin, "npu_profiler")
        plugin.open("kernel")
        expect(kernels(plugin)).to_have_text(str(KERNELS))

        page.get_by_role("tab", name=re.compile("scalars", re.I)).click()
        expect(page.locator('iframe[src*="npu_profiler"]')).not_to_be_visible()
        page.get_by_role("tab", name=re.compile("npu profiler", re.I)).click()
        plugin.ready("kernel")
        assert "p.npu_profiler.view=kernel" in page.url

        page.get_by_label(re.compile("color theme|dark", re.I)).first.click()
        page.get_by_role("menuitem", name="Dark").click()
        expect(plugin.frame.locator("html")).to_have_attribute("data-theme", "dark")

        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(lines[:-1]))
        page.locator("app-header-reload button").click()
        expect(kernels(plugin)).to_have_text(str(KERNELS - 1))
        expect(plugin.frame.locator(".table-tools [role=status]")).to_contain_text(f"{KERNELS - 1} rows")
        plugin.close()


def test_a_file_that_grows_is_read_again(open_plugin: Open, cache: Path, tmp_path: Path) -> None:
    file = result(tmp_path / "run" / SMALL.name)
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:4]))
    with tensorboard("--logdir", str(tmp_path), cache=cache) as url:
        plugin = open_plugin(url)
        plugin.open("kernel")
        expect(kernels(plugin)).to_have_text("3")
        file.write_text("".join(lines))
        expect(kernels(plugin)).to_have_text(str(KERNELS))
        plugin.ready("kernel")
        plugin.close()


def test_sixty_four_ranks(open_plugin: Open, cache: Path, tmp_path: Path) -> None:
    info = json.loads((SMALL / "profiler_info_0.json").read_text())
    for rank in range(64):
        folder = tmp_path / "run" / f"rank_{rank}_ascend_pt"
        result(folder, "*memory*", "npu_module_mem.csv", "op*", "api*", "l2*", "task*", "data*")
        (folder / "profiler_info_0.json").unlink()
        (folder / f"profiler_info_{rank}.json").write_text(json.dumps({**info, "rank_id": rank}))
    with tensorboard("--logdir", str(tmp_path), cache=cache) as url:
        plugin = open_plugin(url)
        plugin.open("overview")
        card = plugin.frame.locator("section.card", has=plugin.frame.get_by_role("heading", name="Ranks", exact=True))
        expect(card.locator("tbody tr")).to_have_count(64)
        # All are read without being asked for, and meanwhile the pages answer.
        plugin.frame.locator('a[data-view="distributed"]').click()
        plugin.ready("distributed")
        assert plugin.state() == "ready"
        expect(plugin.frame.locator("main .chip")).to_have_count(0, timeout=300_000)
        expect(plugin.frame.locator(".dist-bar:not(:disabled)")).to_have_count(128)
        plugin.frame.locator('a[data-view="overview"]').click()
        expect(card.get_by_text("not read yet")).to_have_count(0)
        side = plugin.frame.locator("nav.side")
        side.locator('h2:text-is("Worker") + *').first.locator("button").first.click()
        options = side.get_by_role("listbox")
        expect(options.get_by_role("textbox")).to_be_focused()
        plugin.page.keyboard.type("63")
        expect(options.get_by_role("option")).to_have_count(1)
        plugin.page.keyboard.press("Enter")
        expect(plugin.frame.locator(".crumbs")).to_contain_text("rank 63")
        plugin.ready("overview")
        plugin.close()
