"""The recording window of a database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from tb_npu_plugin.analysis.recording import Window, window_of
from tb_npu_plugin.foreign_sqlite import ForeignDatabase
from tb_npu_plugin.readers.database.cells import ints_of
from tb_npu_plugin.tables import IntArray

#: Sampled rows per table.
_SAMPLES = 256
#: Rows that are Python objects at a time.
CHUNK_ROWS = 1 << 12
#: Quoted names of a table and its time column.
TimeColumn = tuple[str, str]


class RecordingWindow:
    """The recording window of one database. A sample of its times is enough until a time lies outside."""

    def __init__(self, connection: ForeignDatabase, time_columns: Callable[[], Sequence[TimeColumn]]) -> None:
        self._connection, self._time_columns = connection, time_columns
        self._window: Window | None = None
        self._is_exact = False

    def window(self, *times: IntArray) -> Window | None:
        """Return the window to check these times against; None if the database has no times."""
        if self._window is None and not self._is_exact:
            self._window = window_of([self._sample_times(column) for column in self._time_columns()])
        window = self._window
        if not self._is_exact and (window is None or any(window.strays(column).any() for column in times)):
            self._window = window_of([self._all_times(column) for column in self._time_columns()])
            self._is_exact = True
        return self._window

    def _sample_times(self, time_column: TimeColumn) -> IntArray:
        """Return the times of _SAMPLES evenly spaced rows."""
        table, column = time_column
        with suppress(sqlite3.DatabaseError):  # the reader of the table reports it
            ends = (
                f"SELECT (SELECT MIN(rowid) FROM {table}), (SELECT MAX(rowid) FROM {table})"  # both at once would scan
            )
            ((first, last),) = self._connection.execute(ends)
            if isinstance(first, int) and isinstance(last, int):
                rows = ",".join(map(str, np.unique(np.linspace(first, last, _SAMPLES).astype(np.int64)).tolist()))
                found = self._connection.execute(f"SELECT {column} FROM {table} WHERE rowid IN ({rows})").fetchall()
                return ints_of([cell for (cell,) in found])[0]
        return np.zeros(0, dtype=np.int64)

    def _all_times(self, time_column: TimeColumn) -> IntArray:
        """Return all readable times of a table."""
        table, column = time_column
        parts = [np.zeros(0, dtype=np.int64)]
        with suppress(sqlite3.DatabaseError):
            for rows in self._connection.rows(f"SELECT {column} FROM {table} NOT INDEXED", CHUNK_ROWS):
                parts.append(ints_of([cell for (cell,) in rows])[0])
        return np.concatenate(parts)
