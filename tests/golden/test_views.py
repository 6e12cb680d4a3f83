"""What each view says of small fixtures, word for word. After a wanted change: UPDATE_GOLDEN=1 pytest tests/golden,
and read the difference before committing it."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.views.availability import facts_of_span, is_available, missing_data
from tb_npu_plugin.views.base import TableJson, View, ViewInput
from tb_npu_plugin.views.registry import VIEWS, find_view
from tb_npu_plugin.views.tables_json import inline_tables
from tests.support.span import TestSpan, found_spans, span_of
from tests.support.trace import open_trace

RESULTS = Path(__file__).parents[2] / "fixtures" / "results"
#: Rows of a table that a golden file holds.
ROWS = 5
FIXTURES = ("two_ranks", "level0", "no_steps", "cpu_only", "old_spellings", "mindspore_two_ranks", "mindspore_db")
VIEW_IDS = [view.id for view in VIEWS if view.id != "trace"]


@cache
def spans(fixture: str) -> list[TestSpan]:
    if fixture.startswith("mindspore"):
        return found_spans(RESULTS / fixture)
    return [span_of(folder) for folder in sorted((RESULTS / fixture).iterdir()) if folder.name.endswith("_ascend_pt")]


@cache
def span_with_trace(fixture: str) -> TestSpan:
    """The first span, with the starts of its steps and its timeline."""
    folder = min(path for path in (RESULTS / fixture).iterdir() if path.is_dir())
    (span,) = found_spans(folder)
    found = list(folder.rglob("trace_view.json*"))
    span.timeline = open_trace(found[0].read_text(encoding="utf-8"))[0] if found else None
    return span


def answer(view: View, found: list[TestSpan]) -> dict[str, Any]:
    chosen = {"span": found[:1], "run": found, "diff": [found[0], found[-1]]}[view.scope]
    facts = facts_of_span(chosen[0])
    lacking = [entry["file"] for entry in missing_data(facts, view.id)]
    if not is_available(view, facts):
        return {"missing": lacking}
    result = view.build(ViewInput(chosen, {}))
    tables = inline_tables(view.id, result)
    return {
        "missing": lacking,
        "data": _shortened(result.data),
        "tables": {name: _first_rows(table) for name, table in tables.items()},
    }


def _first_rows(table: TableJson) -> dict[str, Any]:
    """Order and size of a table, and per column its kind and first values."""
    columns = {
        f"{column['key']} ({column['kind']})": json.dumps(table["data"][column["key"]][:ROWS], ensure_ascii=False)
        for column in table["columns"]
    }
    return {"sort": table["sort"], "desc": table["desc"], "total": table["total"], "columns": columns}


def _shortened(value: Any) -> Any:
    """The same with long lists cut: their ends and their length say enough."""
    if isinstance(value, dict):
        return {key: _shortened(part) for key, part in value.items()}
    if isinstance(value, list) and len(value) > 2 * ROWS:
        return [*map(_shortened, value[:ROWS]), f"... {len(value) - ROWS - 1} more ...", _shortened(value[-1])]
    return [_shortened(part) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize("view", VIEW_IDS)
@pytest.mark.parametrize("fixture", FIXTURES)
def test_view(fixture: str, view: str) -> None:
    golden = Path(__file__).parent / fixture / f"{view}.json"
    found = [span_with_trace(fixture)] if view == "idle" else spans(fixture)
    text = json.dumps(answer(find_view(view), found), indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
