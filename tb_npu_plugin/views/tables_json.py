"""Converts tables to JSON columns and CSV, sorted, filtered and paged."""

from __future__ import annotations

import csv
import dataclasses
import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from tb_npu_plugin.messages import messages_of
from tb_npu_plugin.tables import Column, Kind, StringColumn, Table, known
from tb_npu_plugin.views.base import INLINE_ROWS, ColumnJson, TableJson, ViewResult, ViewTable, fields_of
from tb_npu_plugin.views.table_query import DEFAULT_LIMIT, TableQuery, check_column, page_of

#: Rows per chunk of a CSV file.
CSV_ROWS = 20_000
#: Rows loaded from a stored table in one go: in another order than its own, each load scans the table.
CSV_LOADED = 100_000
_FORMULA_STARTS = (*"=+-@", *"＝＋－＠", "\t", "\r")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


def table_json(table_id: str, source: ViewTable, base_ns: int, query: TableQuery) -> TableJson:
    """One page of a table. Times are ns after `base_ns`. Raises BadRequest."""
    table = _chosen(source.table, query)
    sort, desc = _order(source, query)
    page, total = page_of(source.table, base_ns, query, sort, desc)
    rows = table.loaded(page)
    return {
        "id": table_id,
        "columns": [column_json(column) for column in table.columns],
        "data": {column.key: _json_values(rows, column, base_ns) for column in table.columns},
        "offset": query.offset,
        "rows": len(page),
        "total": total,
        "sort": sort,
        "desc": desc,
    }


def inline_tables(view_id: str, result: ViewResult) -> dict[str, TableJson]:
    """The tables sent with a view: complete up to INLINE_ROWS, else the first page."""
    out = {}
    for name, source in result.tables.items():
        limit = INLINE_ROWS if len(source.table) <= INLINE_ROWS else DEFAULT_LIMIT
        out[name] = table_json(f"{view_id}.{name}", source, result.base_ns, TableQuery(limit=limit))
    return out


def to_csv(source: ViewTable, base_ns: int, query: TableQuery) -> Iterator[bytes]:
    """All matching rows (not the page) as CSV chunks, since millions of rows would not fit into memory. Headers are
    column keys, which name the unit (dur_ns). Times are ns since the epoch; unknown is an empty cell. `base_ns`: origin
    of times in `where`. Text that a spreadsheet would run as a formula is prefixed with an apostrophe, as in the
    frontend's base/csv.ts. Raises BadRequest before the first chunk."""
    table = _chosen(source.table, query)
    whole = dataclasses.replace(query, offset=0, limit=len(source.table))
    rows, _ = page_of(source.table, base_ns, whole, *_order(source, query))
    head = _csv_lines([[_escape_formula(_csv_header(column)) for column in table.columns]])
    pieces = (rows[first : first + CSV_LOADED] for first in range(0, len(rows), CSV_LOADED))
    return chain([head], (lines for piece in pieces for lines in _csv_pieces(table.loaded(piece))))


#: Suffix of a key that names its unit.
_UNITS = {Kind.DURATION: "_ns", Kind.TIME: "_ns", Kind.BYTES: "_bytes", Kind.TRAFFIC: "_bytes"}


def _csv_header(column: Column) -> str:
    unit = _UNITS.get(column.kind, "")
    return column.key if column.key.endswith(unit) else column.key + unit


def _csv_pieces(table: Table) -> Iterator[bytes]:
    for first in range(0, len(table), CSV_ROWS):
        some = table.take(np.arange(first, min(first + CSV_ROWS, len(table))))
        columns = (map(_escape_formula, _json_values(some, column, 0)) for column in some.columns)
        yield _csv_lines(zip(*columns))


def _escape_formula(value: Any) -> Any:
    """The value, with an apostrophe before text that a spreadsheet would run as a formula."""
    is_formula = isinstance(value, str) and value.startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(value)
    return f"'{value}" if is_formula else value


def _csv_lines(rows: Iterable[Sequence[Any]]) -> bytes:
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue().encode()


def column_json(column: Column) -> ColumnJson:
    """Declaration of a column for the frontend."""
    texts = messages_of({"title": column.title, "doc": column.doc})
    return fields_of(ColumnJson, column, kind=column.kind.value, texts=texts)


def _chosen(table: Table, query: TableQuery) -> Table:
    """The table with the requested columns in the requested order."""
    if not query.columns:
        return table
    for key in query.columns:
        check_column(table, key)
    return Table(tuple(table.column(key) for key in query.columns), table.data)


def _order(source: ViewTable, query: TableQuery) -> tuple[str, bool]:
    """The sort column, and whether the order is descending. Without the column of the default order, rows stay
    unsorted."""
    if query.sort is not None:
        return query.sort, query.desc
    return (source.sort, source.desc) if not source.sort or source.table.has(source.sort) else ("", False)


def _json_values(table: Table, column: Column, base_ns: int) -> list[Any]:
    values = table.data[column.key]
    if isinstance(values, StringColumn):
        return values.tolist()
    if not column.kind.is_int:
        return [value if math.isfinite(value) else None for value in values.tolist()]
    is_known = known(values.astype(np.int64, copy=False))
    if column.kind is Kind.TIME:
        values = np.where(is_known, values - base_ns, values)
    if is_known.all():
        return list(values.tolist())
    return [value if certain else None for value, certain in zip(values.tolist(), is_known.tolist())]
