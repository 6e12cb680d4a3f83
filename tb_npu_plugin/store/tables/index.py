"""Where a span's tables are: the key "tables" of each entry's meta.json, and which of them a span shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tb_npu_plugin.schema.formats import Format
from tb_npu_plugin.store.cache.disk import Entry
from tb_npu_plugin.store.stages import SHORT_FILE, SHORT_ROWS, TABLES_FILE
from tb_npu_plugin.store.tables.short import write_short
from tb_npu_plugin.tables import Table

#: SHORT_FILE, TABLES_FILE, or only in the timeline's arrays.
Where = Literal["short", "long", "timeline"]
#: Operator calls without times, shown as "operators" where nothing has times.
_NAMED_ONLY = "operator_shapes"


@dataclass(frozen=True)
class StoredTable:
    """A logical table of an entry.

    Attributes:
        name: Its name in the entry.
        files: Rows by the name of the file that they came from, the main file first; {} where unknown.
    """

    entry: Entry
    name: str
    rows: int
    where: Where
    files: Mapping[str, int]


def stored_in(entry: Entry | None) -> dict[str, StoredTable]:
    """The tables of one entry by name; {} for a stage that is not read."""
    found = entry.meta["tables"] if entry is not None else {}
    return {name: StoredTable(entry, name, **where) for name, where in found.items()}  # type: ignore[arg-type]


def shown_tables(tables: Entry | None, trace: Entry | None) -> dict[str, StoredTable]:
    """The logical tables of a span: those of the files, then those that only the trace holds. The steps of a serving
    capture without marked steps are its iterations, which only the trace marks."""
    own, of_trace = stored_in(tables), stored_in(trace)
    found = {**of_trace, **own}
    if "iterations" in own or (tables is not None and tables.meta["steps"]):
        found.pop("engine_iterations", None)
    elif "engine_iterations" in of_trace:
        found.update({name: table for name, table in of_trace.items() if name == "step_trace"})
    if _NAMED_ONLY in found:
        found.setdefault("operators", found[_NAMED_ONLY])
    return found


def only_in_trace(format: Format, tables: Entry | None) -> frozenset[str]:
    """Tables that the trace can hold and the other files lack. tables: the entry of the other files."""
    return format.from_trace.difference(stored_in(tables))


def in_timeline(rows: int, file: str) -> dict[str, Any]:
    """The index of a table that only the timeline holds."""
    return {"rows": rows, "where": "timeline", "files": {file: rows}}


def write_tables(out: Path, tables: Mapping[str, Table], files: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """Write the tables of an entry. Returns their index. files: see StoredTable. Raises OSError."""
    long = {name: table for name, table in tables.items() if len(table) > SHORT_ROWS}
    write_short(out / SHORT_FILE, {name: table for name, table in tables.items() if name not in long})
    if long:
        from tb_npu_plugin.store.tables import database

        database.write_tables(out / TABLES_FILE, long)
    return {
        name: {"rows": len(table), "where": "long" if name in long else "short", "files": files.get(name, {})}
        for name, table in tables.items()
    }
