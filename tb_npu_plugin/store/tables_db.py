"""Tables in a DuckDB file and back.

Schema `raw` holds the columns as they are in memory, text as codes with a dictionary beside it; schema `main` has a
view of each table with the text filled in, for people with SQL. Unknown is NULL in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from tb_npu_plugin.tables import NULL_INT, Column, Data, Kind, Table, Text

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {"memory_limit": "1GB", "threads": 2}
_READ_SETTINGS: dict[str, str | bool | int | float | list[str]] = {**_SETTINGS, "enable_external_access": "false"}
#: Every table takes a block at least. Small ones make the file of a usual rank 13 times smaller (1.4 against 17 MB);
#: large ones pack long tables better.
_SMALL_BLOCK, _LARGE_BLOCK = 1 << 14, 1 << 18
_SMALL_ROWS = 100_000
_UNKNOWN = f"'{NULL_INT}'::bigint"  # quoted: SQL reads a bare -n as the negative of n, which is out of range here
_COLUMNS = """create table raw."columns"
    (table_id varchar, position integer, key varchar, kind varchar, title varchar, doc varchar, group_name varchar)"""


def write_tables(path: Path, tables: Mapping[str, Table]) -> None:
    """Write all tables into a new file. Raises duckdb.Error, OSError."""
    rows = sum(len(table) for table in tables.values())
    config = {**_SETTINGS, "default_block_size": _SMALL_BLOCK if rows < _SMALL_ROWS else _LARGE_BLOCK}
    with duckdb.connect(str(path), config=config) as connection:
        connection.execute("begin")  # one for all: each waits for the disk
        connection.execute("create schema raw")
        connection.execute(_COLUMNS)
        for table_id, table in tables.items():
            _write(connection, table_id, table)
        connection.execute("commit")


def read_table(path: Path, table_id: str) -> Table | None:
    """One table; None when the file does not have it. Raises duckdb.Error for a damaged file."""
    with duckdb.connect(str(path), read_only=True, config=_READ_SETTINGS) as connection:
        declared = connection.execute(
            'select key, kind, title, doc, group_name from raw."columns" where table_id = ? order by position',
            [table_id],
        ).fetchall()
        if not declared:
            return None
        columns = tuple(Column(key, Kind(kind), title, doc, group) for key, kind, title, doc, group in declared)
        selected = ", ".join(_selected(column) for column in columns)
        arrays = connection.execute(f"select {selected} from raw.{_quoted(table_id)}").fetchnumpy()
        return Table(columns, {column.key: _data(connection, table_id, column, arrays) for column in columns})


def _write(connection: duckdb.DuckDBPyConnection, table_id: str, table: Table) -> None:
    if not table.columns:
        return
    source: dict[str, Any] = {}
    shown, joins = [], []
    for position, column in enumerate(table.columns):
        data = table.data[column.key]
        connection.execute(
            'insert into raw."columns" values (?, ?, ?, ?, ?, ?, ?)',
            [table_id, position, column.key, column.kind.value, column.title, column.doc, column.group],
        )
        key = _quoted(column.key)
        if isinstance(data, Text):
            dictionary = _dictionary(table_id, column.key)
            _write_dictionary(connection, dictionary, data.values)
            source[column.key] = data.codes
            joins.append(f"left join raw.{dictionary} d{position} on d{position}.code = t.{key}")
            shown.append(f"d{position}.value as {key}")
        else:
            source[column.key] = data
            shown.append(f"t.{key}")
    _fill(connection, f"raw.{_quoted(table_id)}", source, [_stored(column) for column in table.columns])
    connection.execute(
        f"create view {_quoted(table_id)} as select {', '.join(shown)} from raw.{_quoted(table_id)} t {' '.join(joins)}"
    )


def _fill(connection: duckdb.DuckDBPyConnection, name: str, source: dict[str, Any], selected: list[str]) -> None:
    """Create a table from numpy arrays."""
    connection.register("source", {key: np.ascontiguousarray(values) for key, values in source.items()})
    connection.execute(f"create table {name} as select {', '.join(selected)} from source")
    connection.unregister("source")


def _write_dictionary(connection: duckdb.DuckDBPyConnection, name: str, values: list[str]) -> None:
    words = np.empty(len(values), dtype=object)
    words[:] = [value.encode("utf-8", "replace").decode() for value in values]  # half surrogates are no text
    codes = np.arange(len(values), dtype=np.int32)
    _fill(connection, f"raw.{name}", {"code": codes, "value": words}, ["code", "value::varchar as value"])


def _stored(column: Column) -> str:
    """Expression that turns "unknown" of the arrays into NULL."""
    key = _quoted(column.key)
    if column.kind is Kind.TEXT:
        return f"nullif({key}, -1) as {key}"
    if column.kind.is_int:
        return f"nullif({key}, {_UNKNOWN}) as {key}"
    return f"case when isnan({key}) then null else {key} end as {key}"


def _selected(column: Column) -> str:
    """Inverse of `_stored`."""
    key = _quoted(column.key)
    if column.kind is Kind.TEXT:
        return f"coalesce({key}, -1)::integer as {key}"
    unknown = _UNKNOWN if column.kind.is_int else "'nan'::double"
    return f"coalesce({key}, {unknown}) as {key}"


def _data(connection: duckdb.DuckDBPyConnection, table_id: str, column: Column, arrays: Mapping[str, Any]) -> Data:
    values = np.asarray(arrays[column.key])
    if column.kind is Kind.TEXT:
        words = connection.execute(
            f"select value from raw.{_dictionary(table_id, column.key)} order by code"
        ).fetchall()
        return Text(values.astype(np.int32, copy=False), [word for (word,) in words])
    return values.astype(np.int64, copy=False) if column.kind.is_int else values.astype(np.float64, copy=False)


def _dictionary(table_id: str, key: str) -> str:
    return _quoted(f"{table_id}/{key}")


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
