"""Broken results: each opens with what is left, names what is lost, and shows no error of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import FIXTURES
from tests.e2e.conftest import VIEWS, Plugin, wait_until

Open = Callable[..., Plugin]
BROKEN = sorted(folder.name for folder in (FIXTURES / "broken").iterdir() if folder.is_dir())


@pytest.mark.parametrize("view", VIEWS)
def test_hostile_names_are_text(open_plugin: Open, broken_server: str, view: str) -> None:
    plugin = open_plugin(broken_server)
    plugin.page.on("dialog", lambda dialog: plugin.defects.append(f"script ran: {dialog.message}"))
    plugin.open(view, **span_of(plugin, "script_in_name"))
    assert plugin.frame.locator("main script, main img[src='x']").count() == 0


def catalog(plugin: Plugin) -> dict[str, Any]:
    """What was found, once that is known."""
    found: dict[str, Any] = {}

    def is_scanned() -> bool:
        found.update(plugin.page.request.get(f"{plugin.url}data/plugin/npu_profiler/api/catalog").json())
        return not found["scanning"]

    wait_until(plugin, is_scanned)
    return found


def span_of(plugin: Plugin, defect: str) -> dict[str, str]:
    """URL state that chooses the first span of a broken result; {} when it was not taken."""
    for run in catalog(plugin)["runs"]:
        for worker in run["workers"]:
            for span in worker["spans"]:
                if defect in (run["label"] + worker["label"] + span["label"]):
                    return {"run": run["id"], "worker": worker["id"], "span": span["id"]}
    return {}


@pytest.mark.parametrize("defect", BROKEN)
def test_broken_result_opens(open_plugin: Open, broken_server: str, defect: str) -> None:
    plugin = open_plugin(broken_server)
    chosen = span_of(plugin, defect)
    if not chosen:
        skipped = [item for item in catalog(plugin)["skipped"] if defect in item["path"]]
        assert skipped, "neither opened nor listed with a reason"
        assert skipped[0]["reason"]
        assert skipped[0]["action"]
        return
    for view in ("overview", "kernel", "trace"):
        plugin.open(view, **chosen)
        assert plugin.frame.locator("main").inner_text().strip() or plugin.frame.locator("main canvas").count()
