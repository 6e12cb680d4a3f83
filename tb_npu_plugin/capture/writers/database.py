"""A SQLite file that grows table by table."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.tables import NULL_INT

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Row = Sequence[Any]
#: KiB of pages that are kept: rows are appended, so that the last pages of each table are enough; and those that SQLite takes
#: by itself, which help to make an index.
_CACHE, _INDEX_CACHE = 512, 2000
#: Rows of a statement that inserts many.
_TOGETHER = 16
#: Keys of a statement that inserts figures of each, of which there are dozens.
_KEYS = 4
#: Statements that are kept: those of rows that come again (repeated_rows.py, planes_db.py) are as many as they fill in a step.
_STATEMENTS = 1024


class Database:
    """Rows by table. A table is made with its first row. The file is complete when it is closed: what an interrupted
    run leaves is called `*.part`."""

    def __init__(self, path: Path, tables: Mapping[str, str]) -> None:
        self._path, self._part, self._tables = path, path.with_name(path.name + ".part"), tables
        self._part.unlink(missing_ok=True)
        self._connection = sqlite3.connect(self._part, cached_statements=_STATEMENTS)
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

    def add_columns(self, table: str, *columns: Sequence[Any] | Ints | int | None) -> None:
        """Append rows that are given by columns, one of a value for all rows by that number or None. Fastest where all columns
        are arrays; in those NULL_INT is an empty cell. A statement for several rows takes little longer than for one."""
        filled = [column for column in columns if column is not None and not isinstance(column, int)]
        count = len(filled[0])
        if not count:
            return
        self.make(table)
        whole = count // _TOGETHER * _TOGETHER
        row = ",".join(
            "NULL" if column is None else str(column) if isinstance(column, int) else "?" for column in columns
        )
        for first, last, together in ((0, whole, _TOGETHER), (whole, count, 1)):
            marks = ",".join([f"({row})"] * together)
            rows = _records([column[first:last] for column in filled], together)
            self._connection.executemany(f"INSERT INTO {table} VALUES {marks}", rows)

    def add_figures(self, table: str, names: Sequence[int], keys: Ints, figures: Floats) -> None:
        """Append to a table (key, name, value) a row for each figure. figures: a row for each name, a column for each key.
        Keys are passed as floats, so that one array holds all; the column type makes them integers again."""
        self.make(table)
        records, width = np.vstack([figures, keys]).T, len(names) + 1
        whole = len(keys) // _KEYS * _KEYS
        for part, together in ((records[:whole], _KEYS), (records[whole:], 1)):
            marks = ",".join(
                f"(?{first + width},{name},?{first + number})"
                for first in range(0, together * width, width)
                for number, name in enumerate(names, 1)
            )
            rows = part.reshape(-1, together * width).tolist()
            self._connection.executemany(f"INSERT INTO {table} VALUES {marks}", rows)

    def statement(self, table: str, rows: Sequence[Row], columns: str = "") -> str:
        """What appends these rows, for `run`. Cells are numbers, or texts where values come in: "?", "?1" ...; columns: theirs,
        as "(name, other)", the others are empty; all without."""
        self.make(table)
        return sys.intern(f"INSERT INTO {table}{columns} VALUES {','.join([f'({_cells(row)})' for row in rows])}")

    def run(self, statement: str, values: Row) -> None:
        """Append the rows of `statement` with these values."""
        self._connection.execute(statement, values)

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


def values_of(columns: Sequence[Ints], together: int) -> list[list[Any]]:
    """The values of `together` records behind each other, None for NULL_INT. columns: of equal length, a multiple of that."""
    matrix = np.stack(columns, axis=1).reshape(-1, together * len(columns))
    rows: list[list[Any]] = matrix.tolist()
    for row, place in np.argwhere(matrix == NULL_INT).tolist():
        rows[row][place] = None
    return rows


def _records(columns: Sequence[Sequence[Any] | Ints], together: int) -> Iterable[Row]:
    """The same, of columns of any kind."""
    arrays = [column for column in columns if isinstance(column, np.ndarray)]
    if len(arrays) == len(columns):
        return values_of(arrays, together)
    lists = [
        [value for (value,) in values_of([column], 1)] if isinstance(column, np.ndarray) else column
        for column in columns
    ]
    return zip(*(column[place::together] for place in range(together) for column in lists))


def _cells(row: Row) -> str:
    return ",".join(map(str, row))


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
