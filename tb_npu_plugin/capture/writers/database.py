"""A SQLite file that grows table by table."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.tables import NULL_INT

Ints = NDArray[np.int64]
Row = Sequence[Any]
#: KiB of pages that are kept: rows are appended, so that the last pages of each table are enough; and those that SQLite takes
#: by itself, which help to make an index.
_CACHE, _INDEX_CACHE = 512, 2000
#: Rows of a statement that inserts many: older versions of SQLite take 999 values.
_TOGETHER = 16


class Database:
    """Rows by table. A table is made with its first row. The file is complete when it is closed: what an interrupted
    run leaves is called `*.part`."""

    def __init__(self, path: Path, tables: Mapping[str, str]) -> None:
        self._path, self._part, self._tables = path, path.with_name(path.name + ".part"), tables
        self._part.unlink(missing_ok=True)
        self._connection = sqlite3.connect(self._part)
        # nothing reads the file before it is renamed, so it needs no journal
        self._connection.executescript(
            f"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-{_CACHE};"
        )
        self._inserts: dict[str, str] = {}

    def make(self, table: str) -> None:
        """Make a table, if it is not there."""
        if table not in self._inserts:
            columns = self._tables[table]
            self._connection.execute(f"CREATE TABLE {table} ({columns})")
            marks = ",".join("?" * (columns.count(",") + 1))
            self._inserts[table] = f"INSERT INTO {table} VALUES ({marks})"

    def add(self, table: str, rows: Sequence[Row]) -> None:
        """Append rows, if there are any."""
        if rows:
            self.make(table)
            self._connection.executemany(self._inserts[table], rows)

    def add_columns(self, table: str, *columns: Sequence[Any] | Ints | int | None, only: Sequence[str] = ()) -> None:
        """Append rows that are given by columns, one of a value for all rows by that number or None. In arrays NULL_INT is an
        empty cell. only: names of the columns that are given, the others are empty; all without. A statement of several rows
        takes little longer than one of a single row."""
        filled = [_list(column) for column in columns if column is not None and not isinstance(column, int)]
        if not filled[0]:
            return
        self.make(table)
        cells = ",".join(
            "NULL" if column is None else str(column) if isinstance(column, int) else "?" for column in columns
        )
        names = f" ({', '.join(only)})" if only else ""
        values, width = list(chain.from_iterable(zip(*filled))), len(filled)
        whole = len(values) // (_TOGETHER * width) * _TOGETHER * width
        for first, last, together in ((0, whole, _TOGETHER), (whole, len(values), 1)):
            statement = f"INSERT INTO {table}{names} VALUES {','.join([f'({cells})'] * together)}"
            step = together * width
            self._connection.executemany(statement, [values[at : at + step] for at in range(first, last, step)])

    def enumeration(self, table: str, names: Mapping[str, int]) -> None:
        """A table that explains numbers."""
        self._connection.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, name TEXT)")
        rows = [(number, name) for name, number in names.items()]
        self._connection.executemany(f"INSERT INTO {table} VALUES (?,?)", rows)

    def index(self, table: str, definition: str) -> None:
        """An index, if its table is there."""
        if table in self._inserts:
            self._connection.execute(f"PRAGMA cache_size=-{_INDEX_CACHE}")
            self._connection.execute(f"CREATE INDEX {definition}")

    def close(self) -> None:
        """Complete the file."""
        self._connection.commit()
        self._connection.close()
        self._part.replace(self._path)


def _list(column: Sequence[Any] | Ints) -> Sequence[Any]:
    if not isinstance(column, np.ndarray):
        return column
    values: list[Any] = column.tolist()
    for place in np.flatnonzero(column == NULL_INT).tolist():
        values[place] = None
    return values


class Strings(dict[str, int]):
    """Ids of texts, from `first` on; a text that is new gets one when it is asked for."""

    def __init__(self, database: Database, first: int) -> None:
        super().__init__()
        self._database, self._first = database, first
        self._new: list[Row] = []

    def __missing__(self, text: str) -> int:
        found = self[text] = self._first + len(self)
        self._new.append((found, text))
        return found

    def learn(self, text: str) -> None:
        """Give a text its id, if it has none."""
        self[text]

    def flush(self) -> None:
        """Write the texts that are new."""
        self._database.add("STRING_IDS", self._new)
        self._new = []
