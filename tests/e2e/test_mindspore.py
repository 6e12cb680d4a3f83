"""The results of the examples of the vendor's documents on MindSpore open in the browser: every view that their switches promise."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Open
from tests.e2e.tensorboard import settle, tensorboard
from tests.programs import python_of
from tests.programs.mindspore import run_example

pytestmark = pytest.mark.full
ALWAYS = ("overview", "trace", "step_trace", "kernel", "operator", "idle", "doctor")
VIEWS = {
    "model_train": ALWAYS,
    "callback": ALWAYS,
    "schedule": ALWAYS,
    "dynamic": ALWAYS,
    "environment": ALWAYS,
    "mindformers_profile": (*ALWAYS, "memory"),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[str]:
    """A run for each example whose packages are there."""
    logdir = tmp_path_factory.mktemp("mindspore")
    for name in VIEWS:
        with contextlib.suppress(pytest.skip.Exception):
            run_example(name, logdir / name)
    settle(logdir)
    with tensorboard("--logdir", str(logdir), cache=cache) as url:
        yield url


@pytest.mark.parametrize("name", VIEWS)
def test_every_promised_view_opens(open_plugin: Open, server: str, name: str) -> None:
    python_of("mindformers" if name == "mindformers_profile" else "mindspore")
    plugin = open_plugin(server)
    span = plugin.span_of(name)
    assert span
    plugin.open("overview", **span)
    expect(plugin.main.get_by_text("simulated").first).to_be_visible()
    for view in VIEWS[name]:
        plugin.switch(view)
        assert plugin.state() == "ready", view
