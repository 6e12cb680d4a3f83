"""SQL of the table files (store/tables/database.py): names, and the conversion of unknown values to NULL and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Union

from tb_npu_plugin.tables import NULL_INT, Column, GroupByQuery, Kind

Settings = dict[str, Union[str, bool, int, float, list[str]]]

SETTINGS: Settings = {"memory_limit": "256MB", "threads": 2}
READ_SETTINGS: Settings = {**SETTINGS, "enable_external_access": "false"}
_UNKNOWN = f"'{NULL_INT}'::bigint"  # quoted: SQL reads a bare -n as the negative of n, which is out of range here


def quote(name: str) -> str:
    """A quoted identifier."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def dictionary_name(table_id: str, key: str) -> str:
    """Quoted name of the dictionary table of a text column."""
    return quote(f"{table_id}/{key}")


def stored_sql(column: Column) -> str:
    """Expression for a numpy column, with NULL for unknown values."""
    key = quote(column.key)
    if column.kind is Kind.TEXT:
        return f"nullif({key}, -1) as {key}"
    if column.kind.is_int:
        return f"nullif({key}, {_UNKNOWN}) as {key}"
    return f"case when isnan({key}) then null else {key} end as {key}"


def column_sql(column: Column) -> str:
    """Inverse of `stored_sql`, for a column of table t."""
    key = f"t.{quote(column.key)}"
    if column.kind is Kind.TEXT:
        return f"coalesce({key}, -1)::integer"
    return f"coalesce({key}, {_UNKNOWN if column.kind.is_int else _NAN})"


_NAN = "'nan'::double"


def group_by_sql(table: str, query: GroupByQuery, columns: Mapping[str, Column]) -> str:
    """Query with one row per group, ordered by the group's first row; see tables.GroupByResult."""
    keys = [key for key in query.keys if key in columns]
    selected = [f"{column_sql(columns[key])} as {quote(f'key {key}')}" for key in keys]
    selected += [f"-1 as {quote(f'key {key}')}" for key in query.keys if key not in columns]
    selected += ["min(t.rowid) as first", "count(*) as count", *_measures(query, columns)]
    groups = f"group by {', '.join(f't.{quote(key)}' for key in keys)}" if keys else ""
    return f"select {', '.join(selected)} from {table} t {groups} order by first"


def _measures(query: GroupByQuery, columns: Mapping[str, Column]) -> Iterator[str]:
    def of(key: str) -> str:
        return f"t.{quote(key)}" if key in columns else "null::bigint"

    for key in dict.fromkeys((*query.totals, *query.ranges)):
        yield f"coalesce(try_cast(sum({of(key)}) as bigint), {_UNKNOWN}) as {quote(f'total {key}')}"
    for key in query.ranges:
        yield f"count({of(key)}) as {quote(f'known {key}')}"
        yield f"coalesce(min({of(key)}), {_UNKNOWN}) as {quote(f'least {key}')}"
        yield f"coalesce(max({of(key)}), {_UNKNOWN}) as {quote(f'most {key}')}"
    for key in query.distinct:
        yield f"count(distinct {of(key)}) as {quote(f'distinct {key}')}"
    lacks = " or ".join(f"{of(key)} is null" for key in query.complete)
    yield f"{f'count(*) filter ({lacks})' if lacks else '0'} as incomplete"
