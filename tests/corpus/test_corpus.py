"""Each mutilated result opens with what is left, names what is lost, and gives no error of the server.

docs/mutilated.md is the summary; UPDATE_CORPUS=1 writes it.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.plugin import NpuPlugin
from tb_npu_plugin.views.registry import VIEWS
from tests.conftest import ROOT
from tests.corpus.cases import Case
from tests.corpus.make import make
from tests.http.conftest import Browser, context
from tests.unit.store.results import settle

PAGE = ROOT / "docs" / "mutilated.md"
#: Views of one span.
SPAN_VIEWS = [view.id for view in VIEWS if view.scope == "span"]
OURS = {"view_defect", "reader_defect", "reading_failed", "worker_killed"}
HEAD = """# Mutilated results

Made by `tests/corpus/make.py`, opened by `tests/corpus/test_corpus.py`, which writes this table (`UPDATE_CORPUS=1`). Each
result opens with what is left, what is lost is named, and no request fails. "Told": files that problems name, files that
are missed, folders that were not opened.

| result | what happened | views that open | told |
|---|---|---|---|
"""


@dataclass
class Opened:
    """What came of a case."""

    ready: list[str] = field(default_factory=list)
    told: set[str] = field(default_factory=set)
    codes: set[str] = field(default_factory=set)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Case, Opened]]:
    """Every case through every view."""
    logs = tmp_path_factory.mktemp("logs")
    made = make(logs)
    settle(logs)  # on a fast machine, files of the first cases would be told of as still being written
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TB_NPU_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        plugin = NpuPlugin(context(str(logs)))
        plugin.watcher().update()
        browser = Browser(plugin)
        catalog = browser.json("/api/catalog")
        yield {case: _open(browser, catalog, case) for case in made}
        plugin.app().library.close()


def _open(browser: Browser, catalog: Any, case: Case) -> Opened:
    out = Opened()
    out.told |= {item["path"] for item in catalog["skipped"] if item["path"].split("/")[0] == case.name}
    spans = [
        (run, span)
        for run in catalog["runs"]
        for worker in run["workers"]
        for span in worker["spans"]
        if run["label"].split("/")[0] == case.name
    ]
    for run, span in spans:
        for view in SPAN_VIEWS:
            _look(browser.view(view, span=span["id"]), out)
        _look(browser.view("distributed", run=run["id"]), out)
        _look(browser.view("diff", baseline=span["id"], experimental=span["id"]), out)
    return out


def _look(answer: Any, out: Opened) -> None:
    assert answer["state"] in ("ready", "missing", "failed"), answer
    if answer["state"] == "ready" and answer["view"] not in out.ready:
        out.ready.append(answer["view"])
    for problem in answer["problems"]:
        out.codes.add(problem["code"])
        out.told |= {name.rpartition(": ")[2].rpartition("/")[2] for name in problem["file"].split(", ")} - {""}
    if answer["view"] == "doctor":
        out.told |= {item["file"] for item in answer["missing"]}


def test_there_are_sixty_results(opened: dict[Case, Opened]) -> None:
    assert len(opened) >= 60


def test_none_is_blamed_on_a_defect_of_ours(opened: dict[Case, Opened]) -> None:
    assert {case.name: found.codes & OURS for case, found in opened.items() if found.codes & OURS} == {}


def test_what_is_lost_is_named(opened: dict[Case, Opened]) -> None:
    silent = [case.name for case, found in opened.items() if not any(case.names in told for told in found.told)]
    assert [name for name in silent if next(case for case in opened if case.name == name).names] == []


def test_what_is_left_opens(opened: dict[Case, Opened]) -> None:
    closed = [case.name for case, found in opened.items() if "doctor" not in found.ready and not found.told]
    assert closed == []
    damaged_files = [found for case, found in opened.items() if case.names.endswith((".csv", ".json"))]
    assert all(len(found.ready) >= 3 for found in damaged_files)


def test_the_page_lists_them(opened: dict[Case, Opened]) -> None:
    lines = [
        f"| `{case.base}` | {case.what} | {', '.join(found.ready) or 'none'} | {_told(found)} |"
        for case, found in opened.items()
    ]
    text = HEAD + "\n".join(lines) + "\n"
    if os.environ.get("UPDATE_CORPUS"):
        PAGE.write_text(text, encoding="utf-8")
    page = Path(PAGE).read_text(encoding="utf-8")
    changes = list(difflib.unified_diff(page.splitlines(), text.splitlines(), lineterm="", n=0))
    assert not changes, "\n".join(changes)


def _told(found: Opened) -> str:
    return ", ".join(f"`{name}`" for name in sorted(found.told)) or "nothing to tell"
