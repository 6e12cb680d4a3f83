"""A SQLite file that grows table by table."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Sequence[Any]
#: Rows of a statement that inserts many.
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
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
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

    def add_columns(self, table: str, *columns: Sequence[Any] | int) -> None:
        """Append rows that are given by columns, one of a value for all rows by that number. A statement for several rows
        takes little longer than for one."""
        filled = [column for column in columns if not isinstance(column, int)]
        count = len(filled[0])
        if not count:
            return
        self.make(table)
        whole = count // _TOGETHER * _TOGETHER
        row = ",".join(str(column) if isinstance(column, int) else "?" for column in columns)
        for first, last, together in ((0, whole, _TOGETHER), (whole, count, 1)):
            parts = (column[first + place : last : together] for place in range(together) for column in filled)
            marks = ",".join([f"({row})"] * together)
            self._connection.executemany(f"INSERT INTO {table} VALUES {marks}", zip(*parts))

    def add_figures(self, table: str, names: Sequence[int], columns: Sequence[Sequence[Any]]) -> None:
        """Append to a table (key, name, value) as many rows as there are names for each row of `columns` (keys, values of
        the first name ...)."""
        if columns[0]:
            self.make(table)
            marks = ",".join(f"(?1,{name},?{number})" for number, name in enumerate(names, 2))
            self._connection.executemany(f"INSERT INTO {table} VALUES {marks}", zip(*columns))

    def join(self, path: Path) -> None:
        """Take over the tables of another file, which is gone then. SQLite copies such tables record by record, without
        looking into them."""
        connection = self._connection
        connection.commit()
        connection.execute("ATTACH ? AS other", (str(path),))
        for (table,) in connection.execute("SELECT name FROM other.sqlite_master WHERE type = 'table'").fetchall():
            self.make(table)
            connection.execute(f"INSERT INTO main.{table} SELECT * FROM other.{table}")
        connection.commit()
        connection.execute("DETACH other")
        path.unlink()

    def enumeration(self, table: str, names: Mapping[str, int]) -> None:
        """A table that explains numbers."""
        self._connection.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, name TEXT)")
        rows = [(number, name) for name, number in names.items()]
        self._connection.executemany(f"INSERT INTO {table} VALUES (?,?)", rows)

    def index(self, table: str, definition: str) -> None:
        """An index, if its table is there."""
        if table in self._inserts:
            self._connection.execute(f"CREATE INDEX {definition}")

    def close(self) -> None:
        """Complete the file."""
        self._connection.commit()
        self._connection.close()
        self._part.replace(self._path)


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
