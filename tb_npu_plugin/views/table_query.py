"""Table queries: order, filter, conditions, page; and the rows that match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.messages import Message
from tb_npu_plugin.tables import Kind, StoredColumns, StringColumn, StringDictionary, Table, known
from tb_npu_plugin.texts import natural_key

OPERATORS = ("eq", "ne", "lt", "le", "gt", "ge", "has")
DEFAULT_LIMIT = 200
MAX_LIMIT = 100_000
#: Limit of filter words and conditions: each one scans whole columns.
MAX_WORDS = 32
MAX_CONDITIONS = 32
#: Maximum number of first rows requested from a stored table; later pages sort the loaded column.
FIRST_ROWS = 10_000

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Where:
    """A condition on one column. An empty value means "unknown": eq finds those rows, ne all others."""

    column: str
    op: str
    value: str


@dataclass(frozen=True)
class TableQuery:
    """See docs/http_api.md, /api/table. `sort` None: the table's default order; empty `columns`: all."""

    sort: str | None = None
    desc: bool = False
    filter: str = ""
    where: tuple[Where, ...] = ()
    offset: int = 0
    limit: int = DEFAULT_LIMIT
    columns: tuple[str, ...] = ()


def parse_query(params: Mapping[str, Sequence[str]]) -> TableQuery:
    """Parse request parameters (lists, as they may repeat). Raises BadRequest."""

    def one(name: str) -> str:
        return params[name][0] if params.get(name) else ""  # the first value, as for the parameters of views

    filter, where = one("filter"), params.get("where", ())
    if len(filter.split()) > MAX_WORDS:
        raise BadRequest(Message("error.words", count=MAX_WORDS), Message("hint.fewer_words"))
    if len(where) > MAX_CONDITIONS:
        raise BadRequest(Message("error.conditions", count=MAX_CONDITIONS), Message("hint.fewer_conditions"))
    return TableQuery(
        sort=one("sort") or None,
        desc=one("desc") in ("1", "true"),
        filter=filter,
        where=tuple(map(_parse_condition, where)),
        offset=_parse_count(one("offset"), "offset", 0),
        limit=min(_parse_count(one("limit"), "limit", DEFAULT_LIMIT), MAX_LIMIT),
        columns=tuple(name for name in one("columns").split(",") if name),
    )


def _parse_condition(text: str) -> Where:
    parts = text.split(":", 2)
    if len(parts) != 3 or parts[1] not in OPERATORS:
        raise BadRequest(
            Message("error.condition", value=repr(text[:80])), Message("hint.condition", operators=", ".join(OPERATORS))
        )
    return Where(*parts)


def _parse_count(text: str, name: str, default: int) -> int:
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise BadRequest(Message("error.no_integer", name=name, value=repr(text[:40])), Message("hint.row_count"))
    return int(text)


def page_of(table: Table, base_ns: int, query: TableQuery, sort: str, desc: bool) -> tuple[Rows, int]:
    """Row numbers of the requested page, and the number of matching rows. Raises BadRequest."""
    rows = matching_rows(table, base_ns, query)
    total = len(table) if rows is None else len(rows)
    start, stop = min(query.offset, total), min(query.offset + query.limit, total)
    if not sort:
        return (np.arange(start, stop) if rows is None else rows[start:stop]), total
    check_column(table, sort)
    if rows is None and stop <= FIRST_ROWS and isinstance(table.data, StoredColumns):
        first = table.data.first(sort, desc, stop)
        if first is not None:
            return first[start:], total
    return ordered_rows(table, rows, sort, desc, start, stop), total


def matching_rows(table: Table, base_ns: int, query: TableQuery) -> Rows | None:
    """Row numbers that pass filter and conditions, in the table's order; None: all. Raises BadRequest."""
    if not query.filter and not query.where:
        return None
    mask = np.ones(len(table), dtype=np.bool_)
    for word in query.filter.split():
        mask &= _contains_anywhere(table, word)
    for condition in query.where:
        mask &= _matches(table, base_ns, condition)
    return np.flatnonzero(mask)


def ordered_rows(table: Table, rows: Rows | None, sort: str, desc: bool, start: int, stop: int) -> Rows:
    """Positions start to stop of the given rows (None: all) sorted by one column: a stable sort, unknown values last in
    both directions."""
    values, is_known = _sort_values(table, sort)
    if rows is not None:
        values, is_known = values[rows], is_known[rows]
    certain = None if is_known.all() else np.flatnonzero(is_known)
    keys = values if certain is None else values[certain]
    order = _sorted_range(-keys if desc else keys, start, min(stop, len(keys)))
    if certain is not None:
        unknown = np.flatnonzero(~is_known)[max(start - len(keys), 0) : max(stop - len(keys), 0)]
        order = np.concatenate([certain[order], unknown])
    return order if rows is None else rows[order]


def _sorted_range(keys: NDArray[Any], start: int, stop: int) -> Rows:
    """Positions start to stop of a stable sort; sorts only this range."""
    if start >= stop:
        return np.zeros(0, dtype=np.int64)
    if stop - start > len(keys) // 4:
        return np.argsort(keys, kind="stable")[start:stop]
    bounds = np.partition(keys, (start, stop - 1))
    least, most = bounds[start], bounds[stop - 1]
    before = int((keys < least).sum())
    between = np.flatnonzero((keys >= least) & (keys <= most))
    order = np.argsort(keys[between], kind="stable")
    return between[order[start - before : stop - before]]


def check_column(table: Table, name: str) -> None:
    """Raise BadRequest if the table lacks the column."""
    if not table.has(name):
        keys = ", ".join(column.key for column in table.columns)
        raise BadRequest(Message("error.column", column=repr(name[:80])), Message("hint.columns", columns=keys))


def _sort_values(table: Table, key: str) -> tuple[NDArray[Any], Mask]:
    """Numeric sort keys of the column's values, and the mask of known values."""
    data = table.data[key]
    if isinstance(data, StringColumn):
        if isinstance(data.values, StringDictionary):
            return data.codes, data.codes >= 0
        ranks = {text: rank for rank, text in enumerate(sorted(set(data.values), key=natural_key))}
        by_code = np.asarray([ranks[text] for text in data.values] + [0], dtype=np.int64)
        return by_code[data.codes], np.asarray(data.codes >= 0, dtype=np.bool_)
    if table.column(key).kind.is_int:
        return data, known(table.ints(key))
    return data, ~np.isnan(data)


def _contains_anywhere(table: Table, needle: str) -> Mask:
    found = np.zeros(len(table), dtype=np.bool_)
    for column in table.columns:
        if column.kind is Kind.TEXT:
            found |= _contains(table.text(column.key), needle)
    return found


def _contains(text: StringColumn, needle: str) -> Mask:
    if isinstance(text.values, StringDictionary):
        return np.asarray(text.values.containing(needle)[text.codes], dtype=np.bool_)
    wanted = needle.casefold()
    hits = np.asarray([wanted in value.casefold() for value in text.values] + [False], dtype=np.bool_)
    return np.asarray(hits[text.codes], dtype=np.bool_)  # code -1 (unknown) indexes the last entry


def _matches(table: Table, base_ns: int, condition: Where) -> Mask:
    check_column(table, condition.column)
    data = table.data[condition.column]
    kind = table.column(condition.column).kind
    if isinstance(data, StringColumn):
        return _text_holds(data, condition)
    is_known = known(table.ints(condition.column)) if kind.is_int else ~np.isnan(data)
    if condition.op == "has":
        raise BadRequest(Message("error.numeric_column", column=condition.column), Message("hint.numeric_operators"))
    if not condition.value:
        if condition.op not in ("eq", "ne"):
            raise BadRequest(Message("error.no_value"), Message("hint.no_value"))
        return ~is_known if condition.op == "eq" else is_known
    wanted = _parse_number(condition.value)
    if kind is Kind.TIME:
        data = data - base_ns  # adding base_ns to a fraction would round it to some 100 ns
    compare = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal}
    compare.update({"gt": np.greater, "ge": np.greater_equal})
    return np.asarray(is_known & compare[condition.op](data, wanted), dtype=np.bool_)


def _text_holds(data: StringColumn, condition: Where) -> Mask:
    is_known = np.asarray(data.codes >= 0, dtype=np.bool_)
    if condition.op == "has":
        return _contains(data, condition.value)
    if condition.op not in ("eq", "ne"):
        raise BadRequest(Message("error.text_column", column=condition.column), Message("hint.text_operators"))
    if not condition.value:
        return ~is_known if condition.op == "eq" else is_known
    equal = data.equals(condition.value)
    return equal if condition.op == "eq" else is_known & ~equal


def _parse_number(text: str) -> Union[int, float]:
    try:
        value = int(text) if len(text) < 19 else float(text)
    except ValueError:
        try:
            value = float(text)
        except ValueError:
            raise BadRequest(Message("error.no_number", value=repr(text[:40])), Message("hint.decimal")) from None
    if not abs(value) < 2**62:  # also refuses NaN
        raise BadRequest(Message("error.large_number", value=repr(text[:40])), Message("hint.smaller_number"))
    return value
