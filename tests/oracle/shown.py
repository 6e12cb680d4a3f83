"""What the product shows: a view built from result folders, its tables as rows of plain values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tb_npu_plugin.readers.text.kernel_columns import with_kernel_columns
from tb_npu_plugin.tables import NULL_INT, Kind, Table
from tb_npu_plugin.views.base import ViewInput
from tb_npu_plugin.views.registry import VIEWS
from tests.oracle.raw import raw
from tests.support.span import TestSpan, span_of

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Shown:
    """Data of a view and its tables. Times of tables are ns since the epoch, offsets in `data` count from `base_ns`."""

    data: Any
    tables: dict[str, Rows]
    base_ns: int


@cache
def span(folder: Path) -> TestSpan:
    """One folder through the readers; skips where it is real data that is absent."""
    found = span_of(raw(folder).folder)
    found.tables = with_kernel_columns(found.tables)
    return found


def rows_of(table: Table) -> Rows:
    """Rows of a table; None where unknown."""
    columns: dict[str, list[Any]] = {}
    for column in table.columns:
        if column.kind is Kind.TEXT:
            columns[column.key] = table.text(column.key).tolist()
        elif column.kind.is_int:
            columns[column.key] = [None if value == NULL_INT else value for value in table.ints(column.key).tolist()]
        else:
            columns[column.key] = [None if value != value else value for value in table.floats(column.key).tolist()]
    return [dict(zip(columns, values)) for values in zip(*columns.values())]


def show(view: str, *folders: Path, **params: str) -> Shown:
    """Build a view as the server does: from these spans and parameters."""
    found = next(entry for entry in VIEWS if entry.id == view)
    result = found.build(ViewInput([span(folder) for folder in folders], params))
    return Shown(result.data, {name: rows_of(table.table) for name, table in result.tables.items()}, result.base_ns)


def show_extra(view: str, table: str, folder: Path, **params: str) -> Rows:
    """A table that only its own route serves."""
    found = next(entry for entry in VIEWS if entry.id == view)
    return rows_of(found.extra_tables[table](ViewInput([span(folder)], params)).table)
