"""A SQLite file that grows table by table."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Row = Sequence[Any]
#: An empty cell: SQLite stores NaN as NULL, and Python's sqlite3 binds it several times faster than None.
NULL = float("nan")
sqlite3.register_adapter(np.int64, int)  # it would be stored as a blob
#: KiB of pages in memory: for appending rows, the last pages of each table; for an index, SQLite's default.
_CACHE, _INDEX_CACHE = 512, 2000
#: Rows of a statement that inserts many: older versions of SQLite take 999 values.
_TOGETHER = 16


class Database:
    """Rows by table. The file is made with the first table, a table with its first row. The file is complete when it is
    closed: what an interrupted run leaves is called `*.part`."""

    def __init__(self, path: Path, tables: Mapping[str, str]) -> None:
        self._path, self._part, self._tables = path, path.with_name(path.name + ".part"), tables
        self.strings: list[Strings] = []
        self._made: set[str] = set()

    @cached_property
    def _connection(self) -> sqlite3.Connection:
        self._part.unlink(missing_ok=True)
        connection = sqlite3.connect(self._part)
        # nothing reads the file before it is renamed, so it needs no journal
        connection.executescript(
            f"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-{_CACHE};"
        )
        return connection

    def make(self, table: str) -> None:
        """Make a table, if it does not exist."""
        if table not in self._made:
            self._connection.execute(f"CREATE TABLE {table} ({self._tables[table]})")
            self._made.add(table)

    def add(self, table: str, rows: Sequence[Row]) -> None:
        """Append rows, if there are any. A statement of several rows takes little longer than one of a single row."""
        if not rows:
            return
        self.make(table)
        width, whole = len(rows[0]), len(rows) // _TOGETHER * _TOGETHER
        row = f"({','.join('?' * width)})"
        values = zip(*[chain.from_iterable(rows[:whole])] * (width * _TOGETHER))  # of as many rows at once
        self._connection.executemany(f"INSERT INTO {table} VALUES {','.join([row] * _TOGETHER)}", values)
        self._connection.executemany(f"INSERT INTO {table} VALUES {row}", rows[whole:])

    def add_figures(self, table: str, keys: Sequence[int], figures: Mapping[int, Floats]) -> None:
        """Append rows (key, name, figure): of each key one for each name. figures: of all keys, by name. One statement for a
        key takes a third of the time of one for a row."""
        self.make(table)
        rows = ",".join(f"(?1,{name},?{number})" for number, name in enumerate(figures, 2))
        values = np.column_stack([keys, *figures.values()])  # floats; the type of the column makes keys integers again
        self._connection.executemany(f"INSERT INTO {table} VALUES {rows}", values.tolist())

    def enumeration(self, table: str, names: Mapping[str, int]) -> None:
        """A table that explains numbers."""
        self._connection.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, name TEXT)")
        rows = [(number, name) for name, number in names.items()]
        self._connection.executemany(f"INSERT INTO {table} VALUES (?,?)", rows)

    def index(self, table: str, definition: str) -> None:
        """An index, if its table exists."""
        if table in self._made:
            self._connection.execute(f"PRAGMA cache_size=-{_INDEX_CACHE}")
            self._connection.execute(f"CREATE INDEX {definition}")

    def close(self) -> None:
        """Complete the file, if there is one."""
        if not self._made:
            return
        for strings in self.strings:
            self.add("STRING_IDS", [(id_, text) for text, id_ in strings.items()])
        self._connection.commit()
        self._connection.close()
        self._part.replace(self._path)


class Strings(dict[str, int]):
    """Ids of texts, from `first` on; a new text gets one at its first use. The database writes them when it is closed."""

    def __init__(self, database: Database, first: int) -> None:
        super().__init__()
        self._first = first
        database.strings.append(self)

    def __missing__(self, text: str) -> int:
        found = self[text] = self._first + len(self)
        return found
