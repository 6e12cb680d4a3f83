"""One server over broken results, and such that lack files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tb_npu_plugin.views.registry import VIEWS
from tests.conftest import FIXTURES
from tests.http.conftest import Browser, serving

RESULTS = ("level2", "metrics_Memory", "metrics_PipeUtilization", "no_memory", "cpu_only")


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    spec = [f"broken:{FIXTURES / 'broken'}", *(f"{name}:{FIXTURES / 'results' / name}" for name in RESULTS)]
    with serving(tmp_path_factory.mktemp("faults"), "", ",".join(spec)) as browser:
        browser.plugin.watcher().update()
        yield browser


def runs(browser: Browser) -> list[Any]:
    return list(browser.json("/api/catalog")["runs"])


def span_ids(run: Any) -> list[str]:
    return [span["id"] for worker in run["workers"] for span in worker["spans"]]


@pytest.fixture(scope="package")
def answers(browser: Browser) -> list[tuple[str, Any]]:
    """(label of the run, answer) of every view of every span and run."""
    out = []
    for run in runs(browser):
        spans = span_ids(run)
        for view in VIEWS:
            of_spans = [
                {"baseline": span, "experimental": spans[0]} if view.scope == "diff" else {"span": span}
                for span in spans
            ]
            for query in [{"run": run["id"]}] if view.scope == "run" else of_spans:
                out.append((run["label"], browser.view(view.id, **query)))
    return out
