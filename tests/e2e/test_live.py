"""While TensorBoard runs: its tabs, colours and Reload; files that change."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from playwright.sync_api import expect
from tensorboard.compat.proto import event_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from tests.conftest import FIXTURES
from tests.e2e.conftest import Open, Plugin, wait_until
from tests.e2e.tensorboard import tensorboard

SMALL = FIXTURES / "results" / "level1"


def write_scalar(folder: Path) -> None:
    """Data for another tab of TensorBoard."""
    writer = EventFileWriter(str(folder))
    event = event_pb2.Event(step=1, wall_time=1.0)
    event.summary.value.add(tag="loss", simple_value=1.0)
    writer.add_event(event)
    writer.close()


def is_enabled(plugin: Plugin, tab: str) -> bool:
    """TensorBoard shows this tab."""
    return bool(plugin.page.request.get(f"{plugin.url}data/plugins_listing").json()[tab]["enabled"])


def test_tabs_colours_reload_and_a_file_that_grows(open_plugin: Open, cache: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run" / "host_1_ascend_pt"
    shutil.copytree(next(SMALL.iterdir()), folder, ignore=shutil.ignore_patterns("trace_view.json"))
    file = folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:4]))
    write_scalar(tmp_path / "run")
    with tensorboard("--logdir", str(tmp_path), "--reload_interval", "0", cache=cache) as url:
        plugin = open_plugin(url, whole=True)
        page = plugin.page
        # TensorBoard asks once which tabs exist, and reads events meanwhile.
        wait_until(plugin, lambda: is_enabled(plugin, "scalars") and is_enabled(plugin, "npu_profiler"))
        plugin.open("kernel")
        count = plugin.frame.locator('a[data-view="kernel"] .count')
        expect(count).to_have_text("3")
        file.write_text("".join(lines))
        expect(count).to_have_text(str(len(lines) - 1))  # without Reload
        plugin.ready("kernel")

        page.get_by_role("tab", name=re.compile("scalars", re.I)).click()
        expect(plugin.frame_holder).not_to_be_visible()
        page.get_by_role("tab", name=re.compile("npu profiler", re.I)).click()
        plugin.ready("kernel")
        assert "p.npu_profiler.view=kernel" in page.url

        page.get_by_label(re.compile("color theme|dark", re.I)).first.click()
        page.get_by_role("menuitem", name="Dark").click()
        expect(plugin.frame.locator("html")).to_have_attribute("data-theme", "dark")

        file.write_text("".join(lines[:-1]))
        page.locator("app-header-reload button").click()
        expect(count).to_have_text(str(len(lines) - 2))
        expect(plugin.row_count).to_contain_text(f"{len(lines) - 2} rows")
        plugin.close()


def test_runs_that_may_be_one_job_are_joined_and_the_link_keeps_it(
    open_plugin: Open, cache: Path, tmp_path: Path
) -> None:
    for number, rank in enumerate(sorted((FIXTURES / "results" / "two_ranks").iterdir())):
        target = tmp_path / f"node-{'ab'[number]}" / rank.name
        shutil.copytree(rank, target, ignore=shutil.ignore_patterns("profiler_metadata.json"))
    with tensorboard("--logdir", str(tmp_path), cache=cache) as url:
        plugin = open_plugin(url)
        first, second = plugin.catalog()["runs"]
        frame = plugin.open("distributed", run=second["id"])
        frame.get_by_role("button", name="One job in several runs?").click()
        frame.get_by_role("button", name="Make them one run").click()
        folders = frame.get_by_role("button", name="Folders of the run")
        expect(folders).to_contain_text("2")
        plugin.ready("distributed")
        expect(frame.locator(".side")).to_contain_text("node-a + 1")
        expect(plugin.main).to_contain_text("2 of 2 ranks")
        link = plugin.page.url
        assert f"join={second['id']}" in link or f"join={first['id']}" in link
        plugin.go(link)
        plugin.ready("distributed")
        folders.click()
        frame.get_by_role("button", name="Make each folder a run").click()
        expect(frame.locator(".side")).not_to_contain_text("node-a + 1")
        plugin.ready("distributed")
