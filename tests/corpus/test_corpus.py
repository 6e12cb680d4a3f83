"""Each mutilated result opens with what is left, reports what is lost, and causes no internal error.

results.md is the summary; UPDATE_CORPUS=1 with -m "full or not full" writes it.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.views.registry import VIEWS
from tests.corpus.cases import Case
from tests.corpus.make import make
from tests.http.conftest import Browser, serving
from tests.unit.store.results import settle

PAGE = Path(__file__).with_name("results.md")
#: Views of one span.
SPAN_VIEWS = [view.id for view in VIEWS if view.scope == "span"]
ENVIRONMENT_ERRORS = {"view_defect", "reader_defect", "reading_failed", "worker_killed"}
HEAD = """# Mutilated results

Made by `tests/corpus/make.py`, opened by `tests/corpus/test_corpus.py`, which writes this table (`UPDATE_CORPUS=1`). Each
result opens with what is left, what is lost is named, and no request fails. "Told": files that problems name, files that
are missed, folders that were not opened.

| result | what happened | views that open | told |
|---|---|---|---|
"""


@dataclass
class Opened:
    """What a case showed."""

    ready: list[str] = field(default_factory=list)
    reported: set[str] = field(default_factory=set)
    codes: set[str] = field(default_factory=set)


@pytest.fixture(scope="module", params=[10, pytest.param(1, marks=pytest.mark.full)], ids=["some", "all"])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Case, Opened]]:
    """The cases through every view."""
    folder = tmp_path_factory.mktemp("corpus")
    made = make(folder / "logs", request.param)
    settle(folder / "logs")  # on a fast machine, files of the first cases would be reported as still being written
    with serving(folder, str(folder / "logs")) as browser:
        browser.plugin.watcher().update()
        catalog = browser.json("/api/catalog")
        yield {case: _open(browser, catalog, case) for case in made}


def _open(browser: Browser, catalog: Any, case: Case) -> Opened:
    out = Opened()
    out.reported |= {item["path"] for item in catalog["skipped"] if item["path"].split("/")[0] == case.name}
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
        if problem["code"] != "not_shown":  # told of each database
            out.reported |= {name.rpartition(": ")[2].rpartition("/")[2] for name in problem["file"].split(", ")} - {""}
    if answer["view"] == "doctor":
        out.reported |= {item["file"] for item in answer["missing"]}


def test_no_internal_errors(opened: dict[Case, Opened]) -> None:
    assert {
        case.name: found.codes & ENVIRONMENT_ERRORS
        for case, found in opened.items()
        if found.codes & ENVIRONMENT_ERRORS
    } == {}


def test_lost_files_are_reported(opened: dict[Case, Opened]) -> None:
    silent = [case for case, found in opened.items() if not any(case.names in name for name in found.reported)]
    assert [case.name for case in silent if case.names] == []


def test_the_rest_opens(opened: dict[Case, Opened]) -> None:
    closed = [case.name for case, found in opened.items() if "doctor" not in found.ready and not found.reported]
    assert closed == []
    damaged_files = [found for case, found in opened.items() if case.names.endswith((".csv", ".json"))]
    assert all(len(found.ready) >= 3 for found in damaged_files)


def test_the_page_lists_them(opened: dict[Case, Opened], request: pytest.FixtureRequest) -> None:
    lines = [
        f"| `{case.base}` | {case.what} | {', '.join(found.ready) or 'none'} | {_names(found)} |"
        for case, found in opened.items()
    ]
    is_whole = "all" in request.node.name
    if os.environ.get("UPDATE_CORPUS") and is_whole:
        PAGE.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8").splitlines()
    expected = page[len(HEAD.splitlines()) :] if is_whole else [line for line in page if line in lines]
    changes = list(difflib.unified_diff(expected, lines, lineterm="", n=0))
    assert not changes, "\n".join(changes)
    assert page[: len(HEAD.splitlines())] == HEAD.splitlines()


def _names(found: Opened) -> str:
    return ", ".join(f"`{name}`" for name in sorted(found.reported)) or "nothing to tell"
