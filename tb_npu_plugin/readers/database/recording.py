"""When a database was recorded, so that rows with times that cannot be right are told from the others."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from tb_npu_plugin.analysis.recording import Window, window_of
from tb_npu_plugin.readers.database.cells import ints_of
from tb_npu_plugin.tables import IntArray

#: Rows of a table that are looked at to begin with, and rows that are Python objects at a time.
_SAMPLES, _CHUNK_ROWS = 256, 1 << 12
#: Table and column of times, quoted.
Place = tuple[str, str]


class Recording:
    """The window of one database. All its times need not be read for it: as long as what is read lies around some
    samples, nothing is wrong."""

    def __init__(self, connection: sqlite3.Connection, places: Callable[[], Sequence[Place]]) -> None:
        self._connection, self._places = connection, places
        self._window: Window | None = None
        self._is_exact = False

    def window(self, *times: IntArray) -> Window | None:
        """The window, for these times to be held against it; None where the database tells no time at all."""
        if self._window is None and not self._is_exact:
            self._window = window_of([self._sampled(place) for place in self._places()])
        window = self._window
        if not self._is_exact and (window is None or any(window.strays(column).any() for column in times)):
            self._window = window_of([self._every(place) for place in self._places()])
            self._is_exact = True
        return self._window

    def _sampled(self, place: Place) -> IntArray:
        """Times of rows all over a table."""
        table, column = place
        with suppress(sqlite3.DatabaseError):  # whoever reads the table reports it
            ((first, last),) = self._connection.execute(f"SELECT MIN(rowid), MAX(rowid) FROM {table}")
            if isinstance(first, int) and isinstance(last, int):
                rows = ",".join(map(str, np.unique(np.linspace(first, last, _SAMPLES).astype(np.int64)).tolist()))
                found = self._connection.execute(f"SELECT {column} FROM {table} WHERE rowid IN ({rows})").fetchall()
                return ints_of([cell for (cell,) in found])[0]
        return np.zeros(0, dtype=np.int64)

    def _every(self, place: Place) -> IntArray:
        """All times of a table that can be read."""
        table, column = place
        parts = [np.zeros(0, dtype=np.int64)]
        with suppress(sqlite3.DatabaseError):
            cursor = self._connection.execute(f"SELECT {column} FROM {table}")
            while rows := cursor.fetchmany(_CHUNK_ROWS):
                parts.append(ints_of([cell for (cell,) in rows])[0])
        return np.concatenate(parts)
