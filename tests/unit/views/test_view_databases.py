"""Every view says the same of a run as text and as databases, byte by byte, apart from where the figures come from.

What the two formats cannot both hold (each with its reason in tests/unit/readers/test_database_parity.py and
test_database_events.py) is put into the tables of the text run before; everything else is compared as it is.
"""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.discovery.watch import Watcher
from tb_npu_plugin.store.cache.disk import Cache
from tb_npu_plugin.store.library import Library
from tb_npu_plugin.store.span import Span
from tb_npu_plugin.store.stages import stages_of
from tb_npu_plugin.tables import Table
from tb_npu_plugin.views.availability import facts_of_span, is_available
from tb_npu_plugin.views.base import View, ViewInput
from tb_npu_plugin.views.registry import VIEWS
from tb_npu_plugin.views.tables_json import inline_tables
from tests.support.mock import run
from tests.unit.store.results import settle

RUNS = ("both_level2", "both_cluster", "both_gc", "both_no_memory")
#: Where the figures come from, and what the trace of text counts besides slices (names, sort indices, arrow ends).
SOURCES = frozenset(("files", "databases", "source", "types_source", "steps_source", "version", "scanner", "events"))
#: Only the database names the chip. Its groups have their names, those of the mock's text export numbers.
ONLY_DATABASE = frozenset(("device",))
#: Columns that text holds otherwise: float64 microseconds in steps of 250 ns.
OTHERWISE = {"step_trace": ("stage", "preparing")}
#: Files whose tables databases lack and no view shows; but their times count for the origin of offsets.
NO_VIEW = ("task_time.csv", "l2_cache.csv")
#: Columns that only text has.
ONLY_TEXT = {"kernels": ("cube_utilization",)}


class Half(Span):
    """A span read from one of the two; `other` gives what it holds otherwise."""

    other: Span | None = None

    def table(self, table: str) -> Table | None:
        found = super().table(table)
        if found is None or self.other is None:
            return found
        theirs = self.other.table(table)
        assert theirs is not None
        if table == "comm_bandwidth":  # databases have no rows for transports that moved nothing
            return theirs
        left_out = ONLY_TEXT.get(table, ())
        columns = tuple(column for column in found.columns if column.key not in left_out)
        swapped = OTHERWISE.get(table, ())
        return Table(columns, {c.key: (theirs if c.key in swapped else found).data[c.key] for c in columns})


@cache
def halves(name: str, folder: Path) -> tuple[list[Span], list[Span]]:
    """The spans of a run, read from its text files and from its databases."""
    text, database = (_read(name, folder / f"{name}-{kind}", kind) for kind in ("text", "db"))
    for mine, theirs in zip(text, database):
        mine.other = theirs
    return [*text], [*database]


def _read(name: str, root: Path, kind: str) -> list[Half]:
    shutil.copytree(run(name)[0], root / "logs")
    for path in (root / "logs").rglob("ASCEND_PROFILER_OUTPUT/*"):
        if (path.suffix == ".db") != (kind == "db") or path.name in NO_VIEW:
            path.unlink()
    settle(root / "logs")
    library = Library(Watcher({"": root / "logs"}, background=False), Cache(root / "cache"), workers=1)
    try:
        library.watcher.update()
        places = library.scan().places()
        for stage in stages_of(places[0].span):
            library.read(places, [stage])
        spans = []
        for place in places:
            entries = [library.status(place, stage).entry for stage in ("tables", "trace")]
            spans.append(Half(place, entries[0], entries[1]))
        return spans
    finally:
        library.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("halves")


def answer(view: View, spans: list[Span]) -> Any:
    chosen = {"span": spans[:1], "run": spans, "diff": [spans[0], spans[-1]]}[view.scope]
    if not is_available(view, facts_of_span(chosen[0])):
        return None
    result = view.build(ViewInput(chosen, {}))
    return {"data": result.data, "tables": inline_tables(view.id, result), "base": result.base_ns}


def without(value: Any, keys: frozenset[str]) -> Any:
    """JSON without some keys of its objects."""
    if isinstance(value, dict):
        return {key: without(part, keys) for key, part in value.items() if key not in keys}
    return [without(part, keys) for part in value] if isinstance(value, list) else value


#: Without the trace of both_cluster: its text shows tasks of communication on their planes only (test_database_events.py).
PAIRS = [
    pytest.param(view, name, id=f"{view.id}-{name}")
    for view in VIEWS
    for name in RUNS
    if view.id != "doctor" and (view.id, name) != ("trace", "both_cluster")
]


@pytest.mark.parametrize(("view", "name"), PAIRS)
def test_views_are_equal(name: str, view: View, folder: Path) -> None:
    text, database = halves(name, folder)
    mine, theirs = answer(view, text), answer(view, database)
    left = json.dumps(without(mine, SOURCES | ONLY_DATABASE), allow_nan=False)
    assert left == json.dumps(without(theirs, SOURCES | ONLY_DATABASE), allow_nan=False)
    assert mine is not None or view.id not in ("overview", "kernel", "operator", "trace", "diff")


def test_the_text_half_has_what_only_text_has(folder: Path) -> None:
    """Else the exceptions above would be in vain."""
    text, database = halves("both_level2", folder)
    for table, keys in OTHERWISE.items():
        mine, theirs = Span.table(text[0], table), database[0].table(table)
        assert mine is not None and theirs is not None
        assert all((mine.ints(key) != theirs.ints(key)).any() for key in keys)
    kernels = Span.table(text[0], "kernels")
    assert kernels is not None and all(kernels.has(key) for key in ONLY_TEXT["kernels"])
