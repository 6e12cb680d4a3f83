"""A table that stays in its DuckDB file. Columns are loaded on access; the database answers queries for pages of rows,
for the first rows by a column and for group sums.

Row n has rowid n. Texts are codes of a dictionary in natural order, see store/tables/database.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, overload

import duckdb
import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.refusal import raise_if_refused
from tb_npu_plugin.store.cache.memory import MemoryCache
from tb_npu_plugin.store.tables.sql import READ_SETTINGS, column_sql, dictionary_name, group_by_sql, quote
from tb_npu_plugin.tables import (
    Column,
    Data,
    GroupByQuery,
    GroupByResult,
    IntArray,
    Kind,
    StoredColumns,
    StringColumn,
    StringDictionary,
)

#: Dictionaries of at most this many texts are loaded in one query and kept.
SMALL_DICTIONARY = 1 << 16
#: Texts per query when a larger dictionary is iterated.
_WORDS_AT_ONCE = 1 << 15
T = TypeVar("T")


def run_query(memory: MemoryCache, path: Path, query: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
    """Run `query` on a file. Raises Refused; duckdb.Error for a damaged file and records it in `memory`. Thread-safe."""
    try:
        connection = memory.connections.get(path, lambda: _open(path))
        with connection.cursor() as cursor:
            return query(cursor)
    except duckdb.Error as error:
        raise_if_refused(error)
        memory.damaged[path] = str(error)
        raise


def _open(path: Path) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(str(path), read_only=True, config=READ_SETTINGS)


class StoredDictionary(StringDictionary):
    """A dictionary in a file. A small one is loaded on first use and kept; of a large one only the requested texts."""

    def __init__(self, memory: MemoryCache, path: Path, name: str, size: int) -> None:
        self._memory, self._path, self._size = memory, path, size
        self._table = f"raw.{name}"

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return self.pick(np.arange(*index.indices(self._size), dtype=np.int32))
        if index < 0:
            index += self._size
        if not 0 <= index < self._size:
            raise IndexError(index)
        return self.pick(np.asarray([index], dtype=np.int32))[0]

    def __iter__(self) -> Iterator[str]:
        for start in range(0, self._size, _WORDS_AT_ONCE):
            yield from self[start : start + _WORDS_AT_ONCE]

    def pick(self, codes: NDArray[np.int32]) -> list[str]:
        """See StringDictionary."""
        if self._size <= SMALL_DICTIONARY:
            words = self._all
            return [words[code] for code in codes.tolist()]
        if not len(codes):
            return []

        def read_words(cursor: duckdb.DuckDBPyConnection) -> list[tuple[int, str]]:
            where, source = _rows_sql(cursor, codes.astype(np.int64))
            return cursor.execute(f"select t.rowid, value from {self._table} t {source} {where}").fetchall()

        found = dict(run_query(self._memory, self._path, read_words))
        return [found[code] for code in codes.tolist()]

    def codes_of(self, wanted: Iterable[str]) -> list[int]:
        """See StringDictionary."""
        if self._size <= SMALL_DICTIONARY:
            chosen = set(wanted)
            return [code for code, word in enumerate(self._all) if word in chosen]
        texts = [text for text in wanted if text.encode("utf-8", "replace").decode() == text]

        def read_codes(cursor: duckdb.DuckDBPyConnection) -> list[tuple[int]]:
            sql = f"select code from {self._table} where value in (select unnest(?::varchar[])) order by code"
            return cursor.execute(sql, [texts]).fetchall()

        return [code for (code,) in run_query(self._memory, self._path, read_codes)] if texts else []

    def containing(self, part: str) -> NDArray[np.bool_]:
        """See StringDictionary."""
        wanted = part.casefold()
        hits = np.zeros(self._size + 1, dtype=np.bool_)
        if self._size <= SMALL_DICTIONARY:
            hits[:-1] = [wanted in word.casefold() for word in self._all]
            return hits

        def search(cursor: duckdb.DuckDBPyConnection) -> tuple[NDArray[Any], list[tuple[int, str]]]:
            plain = f"select code from {self._table} where is_plain and contains(lower(value), ?)"
            codes = cursor.execute(plain, [wanted]).fetchnumpy()["code"] if wanted.isascii() else np.zeros(0, np.int32)
            return codes, cursor.execute(f"select code, value from {self._table} where not is_plain").fetchall()

        codes, others = run_query(self._memory, self._path, search)
        hits[codes] = True
        hits[[code for code, word in others if wanted in word.casefold()]] = True
        return hits

    @cached_property
    def _all(self) -> list[str]:
        found = run_query(
            self._memory,
            self._path,
            lambda cursor: cursor.execute(f"select value from {self._table} order by code").fetchall(),
        )
        return [word for (word,) in found]


class FileColumns(StoredColumns):
    """Columns of one table of a file.

    Args:
        memory: Cache of loaded columns.
        sizes: Number of distinct texts of each text column.
    """

    def __init__(
        self, memory: MemoryCache, path: Path, table: str, columns: Sequence[Column], sizes: dict[str, int], rows: int
    ) -> None:
        self.rows = rows
        self._memory, self._path, self._id = memory, path, table
        self._columns = {column.key: column for column in columns}
        self._words = {
            key: StoredDictionary(memory, path, dictionary_name(table, key), size) for key, size in sizes.items()
        }
        self._table = f"raw.{quote(table)}"

    def __getitem__(self, key: str) -> Data:
        if key not in self._columns:
            raise KeyError(key)
        return self._data(key, self._memory.columns.get((self._path, self._id, key), lambda: self._load(key)))

    def __contains__(self, key: object) -> bool:
        return key in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def pick(self, keys: Sequence[str], rows: IntArray) -> dict[str, Data]:
        """See StoredColumns."""
        if not len(rows):
            return {key: self._data(key, np.zeros(0)) for key in keys}
        names = [f"c{place}" for place in range(len(keys))]
        selected = ["t.rowid as row", *(f"{column_sql(self._columns[key])} as {n}" for key, n in zip(keys, names))]

        def read_rows(cursor: duckdb.DuckDBPyConnection) -> dict[str, Any]:
            where, source = _rows_sql(cursor, rows)
            return cursor.execute(f"select {', '.join(selected)} from {self._table} t {source} {where}").fetchnumpy()

        found = run_query(self._memory, self._path, read_rows)
        order = np.argsort(found["row"])
        places = order[np.searchsorted(found["row"], rows, sorter=order)]
        return {key: self._data(key, np.asarray(found[name])[places]) for key, name in zip(keys, names)}

    def first(self, key: str, desc: bool, count: int) -> IntArray | None:
        """See StoredColumns."""
        way = "desc" if desc else "asc"
        sql = f"select rowid as row from {self._table} order by {quote(key)} {way} nulls last, rowid limit {count}"
        found = run_query(self._memory, self._path, lambda cursor: cursor.execute(sql).fetchnumpy())
        return np.asarray(found["row"], dtype=np.int64)

    def sums(self, query: GroupByQuery) -> GroupByResult | None:
        """See StoredColumns."""
        sql = group_by_sql(self._table, query, self._columns)
        found = run_query(self._memory, self._path, lambda cursor: cursor.execute(sql).fetchnumpy())

        def ints(name: str) -> IntArray:
            return np.asarray(found[name], dtype=np.int64)

        def each(kind: str, keys: Sequence[str]) -> dict[str, IntArray]:
            return {key: ints(f"{kind} {key}") for key in keys}

        measured = dict.fromkeys((*query.totals, *query.ranges))
        return GroupByResult(
            first=ints("first"),
            keys={key: self._key(key, found[f"key {key}"]) for key in query.keys},
            count=ints("count"),
            known=each("known", query.ranges),
            total=each("total", list(measured)),
            least=each("least", query.ranges),
            most=each("most", query.ranges),
            distinct=each("distinct", query.distinct),
            incomplete=ints("incomplete"),
        )

    def _key(self, key: str, values: Any) -> Data:
        if key in self._columns:
            return self._data(key, values)
        return StringColumn(np.full(len(values), -1, dtype=np.int32), [])

    def _load(self, key: str) -> NDArray[Any]:
        sql = f"select {column_sql(self._columns[key])} as c from {self._table} t"
        return np.asarray(run_query(self._memory, self._path, lambda cursor: cursor.execute(sql).fetchnumpy())["c"])

    def _data(self, key: str, values: Any) -> Data:
        kind = self._columns[key].kind
        if kind is Kind.TEXT:
            return StringColumn(np.asarray(values).astype(np.int32, copy=False), self._words[key])
        numbers = np.asarray(values)
        return numbers.astype(np.int64, copy=False) if kind.is_int else numbers.astype(np.float64, copy=False)


def _rows_sql(cursor: duckdb.DuckDBPyConnection, rows: IntArray) -> tuple[str, str]:
    """(WHERE, JOIN) clauses that select these rows, in any order. Close rows are read as one range, without a scan."""
    least, most = int(rows.min()), int(rows.max())
    if most - least < 4 * len(rows):
        return f"where t.rowid between {least} and {most}", ""
    cursor.register("wanted", {"row": np.unique(rows)})
    return "", "semi join wanted on t.rowid = wanted.row"
