"""What a request asks of a table: order, filter, conditions, page. And the rows that answer it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.tables import Kind, Table, Text, known

OPERATORS = ("eq", "ne", "lt", "le", "gt", "ge", "has")
DEFAULT_LIMIT = 200
MAX_LIMIT = 100_000

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]

_DIGITS = re.compile(r"([0-9]+)")


@dataclass(frozen=True)
class Where:
    """A condition on one column. An empty value means "unknown": eq finds those rows, ne all others."""

    column: str
    op: str
    value: str


@dataclass(frozen=True)
class TableQuery:
    """See docs/http_api.md, /api/table. `sort` None: the table's own order; `columns` empty: all."""

    sort: str | None = None
    desc: bool = False
    filter: str = ""
    where: tuple[Where, ...] = ()
    offset: int = 0
    limit: int = DEFAULT_LIMIT
    columns: tuple[str, ...] = ()


def parse_query(params: Mapping[str, Sequence[str]]) -> TableQuery:
    """Request parameters (each a list, as they may repeat) to a query. Raises BadRequest."""

    def one(name: str) -> str:
        return params[name][-1] if params.get(name) else ""

    return TableQuery(
        sort=one("sort") or None,
        desc=one("desc") in ("1", "true"),
        filter=one("filter"),
        where=tuple(_where(item) for item in params.get("where", ())),
        offset=_natural(one("offset"), "offset", 0),
        limit=min(_natural(one("limit"), "limit", DEFAULT_LIMIT), MAX_LIMIT),
        columns=tuple(name for name in one("columns").split(",") if name),
    )


def _where(text: str) -> Where:
    parts = text.split(":", 2)
    if len(parts) != 3 or parts[1] not in OPERATORS:
        raise BadRequest(f"where={text[:80]!r} is no condition", f"Write column:op:value, op one of {OPERATORS}.")
    return Where(*parts)


def _natural(text: str, name: str, default: int) -> int:
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise BadRequest(f"{name}={text[:40]!r} is no whole number", "Give a number of rows.")
    return int(text)


def matching_rows(table: Table, base_ns: int, query: TableQuery) -> Rows:
    """Row numbers that pass filter and conditions, in the table's order."""
    mask = np.ones(len(table), dtype=np.bool_)
    if query.filter:
        mask &= _contains_anywhere(table, query.filter)
    for condition in query.where:
        mask &= _holds(table, base_ns, condition)
    return np.flatnonzero(mask).astype(np.int64)


def ordered_rows(table: Table, rows: Rows, sort: str, desc: bool) -> Rows:
    """The given rows by one column: stable, unknown last in both directions."""
    check_column(table, sort)
    values, is_known = _sort_values(table, sort)
    certain = rows[is_known[rows]]
    keys = values[certain]
    order = np.argsort(-keys if desc else keys, kind="stable")
    return np.concatenate([certain[order], rows[~is_known[rows]]])


def natural_key(text: str) -> tuple[Any, ...]:
    """Orders "step 9" before "step 10", letters without regard to case; equal only for equal texts."""
    parts: list[Any] = []
    for number, part in enumerate(_DIGITS.split(text.casefold())):
        digits = part.lstrip("0")
        parts.append((len(digits), digits) if number % 2 else part)
    return (*parts, text)


def check_column(table: Table, name: str) -> None:
    """Raises BadRequest when the table has no such column."""
    if not table.has(name):
        keys = ", ".join(column.key for column in table.columns)
        raise BadRequest(f"no column {name[:80]!r} in this table", f"Its columns: {keys}.")


def _sort_values(table: Table, key: str) -> tuple[NDArray[Any], Mask]:
    """Numbers in the order of the column's values, and which of them are known."""
    data = table.data[key]
    if isinstance(data, Text):
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


def _contains(text: Text, needle: str) -> Mask:
    wanted = needle.casefold()
    hits = np.asarray([wanted in value.casefold() for value in text.values] + [False], dtype=np.bool_)
    return np.asarray(hits[text.codes], dtype=np.bool_)  # code -1, unknown, is the last


def _holds(table: Table, base_ns: int, condition: Where) -> Mask:
    check_column(table, condition.column)
    data = table.data[condition.column]
    kind = table.column(condition.column).kind
    if isinstance(data, Text):
        return _text_holds(data, condition)
    is_known = known(table.ints(condition.column)) if kind.is_int else ~np.isnan(data)
    if condition.op == "has":
        raise BadRequest(f"the column {condition.column} holds numbers", "Use eq, ne, lt, le, gt or ge.")
    if not condition.value:
        if condition.op not in ("eq", "ne"):
            raise BadRequest("a comparison needs a value", "Only eq and ne take none: unknown.")
        return ~is_known if condition.op == "eq" else is_known
    wanted = _number(condition.value)
    if kind is Kind.TIME:
        wanted += base_ns
    compare = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal}
    compare.update({"gt": np.greater, "ge": np.greater_equal})
    return np.asarray(is_known & compare[condition.op](data, wanted), dtype=np.bool_)


def _text_holds(data: Text, condition: Where) -> Mask:
    is_known = np.asarray(data.codes >= 0, dtype=np.bool_)
    if condition.op == "has":
        return _contains(data, condition.value)
    if condition.op not in ("eq", "ne"):
        raise BadRequest(f"the column {condition.column} holds text", "Use eq, ne or has.")
    if not condition.value:
        return ~is_known if condition.op == "eq" else is_known
    equal = data.equals(condition.value)
    return equal if condition.op == "eq" else is_known & ~equal


def _number(text: str) -> Union[int, float]:
    try:
        value = int(text) if len(text) < 19 else float(text)
    except ValueError:
        try:
            value = float(text)
        except ValueError:
            raise BadRequest(f"{text[:40]!r} is no number", "Give a decimal number.") from None
    if not abs(value) < 2**62:  # also refuses NaN
        raise BadRequest(f"{text[:40]!r} is out of range", "Give a smaller number.")
    return value
