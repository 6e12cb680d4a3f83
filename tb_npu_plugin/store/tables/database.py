"""Long tables in a DuckDB file.

Schema `raw` holds the columns as they are in memory. Text columns are codes of a dictionary table in natural order, so
sorting by code sorts by text. Schema `main` has a view of each table with texts instead of codes, for use with SQL.
Unknown values are NULL in both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.messages import from_json, to_json
from tb_npu_plugin.store.cache.memory import MemoryCache
from tb_npu_plugin.store.tables.sql import SETTINGS, Settings, dictionary_name, quote, stored_sql
from tb_npu_plugin.store.tables.stored import FileColumns, run_query
from tb_npu_plugin.tables import Column, Kind, StringColumn, Table
from tb_npu_plugin.texts import TextList, natural_order

#: Block sizes. Every table takes at least one block: small blocks make the file of a usual rank 13 times smaller (1.4
#: instead of 17 MB), while large blocks compress long tables better.
_SMALL_BLOCK, _LARGE_BLOCK = 1 << 14, 1 << 18
_SMALL_ROWS = 100_000
#: Rows, and texts, per insert.
_ROWS_AT_ONCE = 1 << 20
_WORDS_AT_ONCE = 1 << 15
_COLUMNS = """create table raw."columns" (table_id varchar, position integer, key varchar, kind varchar, title json,
    doc json, group_name varchar, texts bigint)"""


def write_tables(path: Path, tables: Mapping[str, Table]) -> None:
    """Write all tables into a new file. Spills to `<path>.tmp` what exceeds the memory limit. Raises duckdb.Error,
    OSError."""
    rows = sum(len(table) for table in tables.values())
    config: Settings = {
        **SETTINGS,
        "threads": 1,  # two take 1.4 times as long, and their file is larger: their row groups are not full
        "default_block_size": _SMALL_BLOCK if rows < _SMALL_ROWS else _LARGE_BLOCK,
        "temp_directory": f"{path}.tmp",
    }
    with duckdb.connect(str(path), config=config) as connection:
        connection.execute("begin")  # one transaction, as each commit waits for the disk
        connection.execute("create schema raw")
        connection.execute(_COLUMNS)
        for table_id, table in tables.items():
            if table.columns:
                _write(connection, table_id, table)
        connection.execute("commit")


def read_table(path: Path, table_id: str, memory: MemoryCache) -> Table | None:
    """A table whose columns are loaded on access; None when the file lacks it. Raises duckdb.Error for a damaged
    file."""

    def read_columns(cursor: duckdb.DuckDBPyConnection) -> tuple[list[Any], int]:
        sql = """select key, kind, title, doc, group_name, texts from raw."columns" where table_id = ?
            order by position"""
        declared = cursor.execute(sql, [table_id]).fetchall()
        if not declared:
            return [], 0
        ((rows,),) = cursor.execute(f"select count(*) from raw.{quote(table_id)}").fetchall()
        return declared, rows

    declared, rows = run_query(memory, path, read_columns)
    if not declared:
        return None
    columns = tuple(
        Column(key, Kind(kind), from_json(json.loads(title)), from_json(json.loads(doc)), group)
        for key, kind, title, doc, group, _ in declared
    )
    sizes = {key: texts for key, kind, _, _, _, texts in declared if kind == Kind.TEXT.value}
    return Table(columns, FileColumns(memory, path, table_id, columns, sizes, rows))


def _write(connection: duckdb.DuckDBPyConnection, table_id: str, table: Table) -> None:
    shown, joins = [], []
    codes: dict[str, NDArray[np.int32]] = {}  # by text column: new code of each old code
    for position, column in enumerate(table.columns):
        data = table.data[column.key]
        key = quote(column.key)
        if isinstance(data, StringColumn):
            dictionary = f"raw.{dictionary_name(table_id, column.key)}"
            codes[column.key] = _write_dictionary(connection, dictionary, data.values)
            joins.append(f"left join {dictionary} d{position} on d{position}.code = t.{key}")
            shown.append(f"d{position}.value as {key}")
        else:
            shown.append(f"t.{key}")
        connection.execute(
            'insert into raw."columns" values (?, ?, ?, ?, ?, ?, ?, ?)',
            [
                table_id,
                position,
                column.key,
                column.kind.value,
                json.dumps(to_json(column.title)),
                json.dumps(to_json(column.doc)),
                column.group,
                len(data.values) if isinstance(data, StringColumn) else None,
            ],
        )
    name = quote(table_id)
    for start in range(0, max(len(table), 1), _ROWS_AT_ONCE):
        how = f"insert into raw.{name}" if start else f"create table raw.{name} as"
        part = {column.key: _part(table, column.key, start, codes) for column in table.columns}
        _fill(connection, how, part, [stored_sql(column) for column in table.columns])
    connection.execute(f"create view {name} as select {', '.join(shown)} from raw.{name} t {' '.join(joins)}")


def _part(table: Table, key: str, start: int, codes: Mapping[str, NDArray[np.int32]]) -> NDArray[Any]:
    data = table.data[key]
    if not isinstance(data, StringColumn):
        return np.ascontiguousarray(data[start : start + _ROWS_AT_ONCE])
    return codes[key][data.codes[start : start + _ROWS_AT_ONCE]]


def _fill(connection: duckdb.DuckDBPyConnection, how: str, source: dict[str, Any], selected: Sequence[str]) -> None:
    """Insert numpy arrays into a table. how: the SQL before the select."""
    connection.register("source", source)
    connection.execute(f"{how} select {', '.join(selected)} from source")
    connection.unregister("source")
    if len(next(iter(source.values()))) >= _WORDS_AT_ONCE:
        # DuckDB keeps registered arrays until the transaction ends: millions of names took gigabytes.
        connection.execute("commit")
        connection.execute("begin")


def _write_dictionary(connection: duckdb.DuckDBPyConnection, name: str, values: Sequence[str]) -> NDArray[np.int32]:
    """Write texts in natural order. Returns the new code of each old code; index -1 (unknown) gives -1."""
    texts = TextList.of(values)
    order = natural_order(texts)
    connection.execute(f"create table {name} (code integer, value varchar, is_plain boolean)")
    for start in range(0, len(order), _WORDS_AT_ONCE):
        words = texts.pick(order[start : start + _WORDS_AT_ONCE])
        part = {"code": np.arange(start, start + len(words), dtype=np.int32), "value": _objects(words)}
        is_plain = "bit_length(value::varchar) = 8 * length(value::varchar)"
        _fill(connection, f"insert into {name}", part, ["code", "value::varchar", is_plain])
    codes = np.full(len(texts) + 1, -1, dtype=np.int32)
    codes[order] = np.arange(len(texts), dtype=np.int32)
    return codes


def _objects(words: Sequence[str]) -> NDArray[np.object_]:
    out = np.empty(len(words), dtype=object)
    out[:] = words
    return out
