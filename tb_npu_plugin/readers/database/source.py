"""Reads tables of one database as columns, CHUNK_ROWS rows at a time."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.recording import Window, window_of
from tb_npu_plugin.foreign_sqlite import ForeignDatabase
from tb_npu_plugin.gc_pause import gc_paused
from tb_npu_plugin.messages import Message
from tb_npu_plugin.readers.database.cells import Mask, floats_of, ints_of, text_of
from tb_npu_plugin.readers.shared.damage import is_damaged, repair
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.spool import IN_MEMORY, GrowingColumn, Spool
from tb_npu_plugin.schema.torch_npu_db_reading import END, MOMENTS, SELECTS, START, Content, Field, Select
from tb_npu_plugin.tables import NULL_INT, FloatArray, IntArray

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


#: Longest valid duration, ns: 30 days.
_LONGEST = 30 * 24 * 3600 * 10**9


@dataclass(frozen=True)
class Rows:
    """Rows of one table in its order. data: key of the Select -> values; ids are not resolved; missing columns are
    left out."""

    count: int
    data: Mapping[str, Any]

    def __len__(self) -> int:
        return self.count

    def take(self, rows: IntArray) -> Rows:
        """Return rows by number."""
        data = {
            key: [values[row] for row in rows] if isinstance(values, list) else values[rows]
            for key, values in self.data.items()
        }
        return Rows(len(rows), data)

    def has(self, key: str) -> bool:
        """Whether the table has this column."""
        return key in self.data

    def ints(self, key: str) -> IntArray:
        """Return an integer column; all unknown if the table lacks it."""
        found: IntArray | None = self.data.get(key)
        return np.full(self.count, NULL_INT, dtype=np.int64) if found is None else found

    def floats(self, key: str) -> FloatArray:
        """Return a float column; all unknown if the table lacks it."""
        found: FloatArray | None = self.data.get(key)
        return np.full(self.count, np.nan) if found is None else found

    def floats_of(self, key: str) -> FloatArray:
        """Return an integer column as floats, NaN if unknown."""
        values = self.ints(key)
        return np.where(values == NULL_INT, np.nan, values.astype(np.float64))

    def texts(self, key: str) -> list[str | None]:
        """Return a text column (Content.TEXT); all unknown if the table lacks it."""
        found: list[str | None] | None = self.data.get(key)
        return [None] * self.count if found is None else found


class Source:
    """One open database. Each defect is reported once, even if its table is read again. `progress` is called with the
    number of rows read since its last call."""

    def __init__(
        self,
        connection: ForeignDatabase,
        report: FileReport,
        spool: Spool,
        progress: Callable[[int], None] = lambda count: None,
    ) -> None:
        self.report, self.spool, self._progress = report, spool, progress
        self._connection = connection
        self._columns: dict[str, dict[str, str]] = {}  # table -> lower case name -> name
        self._reported: set[str] = set()
        self._checked: set[tuple[str, str]] = set()  # (table, column) read before, with their defects reported
        self.tables = self._tables()
        self._recording = RecordingWindow(connection, self._time_columns)

    def _tables(self) -> frozenset[str]:
        try:
            found = self._connection.objects()
        except sqlite3.DatabaseError as error:
            self.report.no_database(error)
            return frozenset()
        for name, is_stored in found.items():
            if not is_stored:
                self.report.add("not_a_table", name, found=Message("found.view"))
        return frozenset(name for name, is_stored in found.items() if is_stored)

    def has(self, select: Select) -> bool:
        """Whether the table exists with its required columns; missing columns are reported."""
        if select.table not in self.tables:
            return False
        missing = [field.names[0] for field in select.fields if field.required and not self._name(select, field)]
        if missing and self._is_first(select.table):
            self.report.add("missing_table_column", select.table, expected=", ".join(missing))
        return not missing

    def report_lost(self, selects: Iterable[Select], proven: Iterable[tuple[str, frozenset[str]]]) -> None:
        """Report columns that are missing in existing tables, and missing tables that other tables prove. A column that
        not all releases write is missing where another table has it."""
        selects = list(selects)
        shown = {field for select in selects for field in select.fields if field.seldom and self._name(select, field)}
        for select in selects:
            for field in select.fields if select.table in self.tables else ():
                column = f"{select.table}.{field.names[0]}"
                if (not field.seldom or field in shown) and not field.required and self._name(select, field) is None:
                    expected = Message("expected.column", column=column)
                    self.report.add("lost_column", select.table, expected=expected, kind=column)
        for table, others in proven:
            if table not in self.tables and others <= self.tables:
                self.report.add("lost_table", table, kind=table)

    def rows(self, selects: Iterable[Select]) -> int:
        """Estimate the number of rows by the last row ids, which is faster than counting."""
        total = 0
        for select in selects:
            if select.table in self.tables:
                with suppress(sqlite3.DatabaseError):  # the reader of the table reports it
                    ((last,),) = self._connection.execute(f"SELECT MAX(rowid) FROM {_quote(select.table)}")
                    total += last if isinstance(last, int) else 0
        return total

    def _is_first(self, defect: str) -> bool:
        is_new = defect not in self._reported
        self._reported.add(defect)
        return is_new

    def _name(self, select: Select, field: Field) -> str | None:
        """Return the column's name in this database; None if missing."""
        known = self._columns.get(select.table)
        if known is None:
            try:
                rows = self._connection.execute(f"PRAGMA table_info({_quote(select.table)})").fetchall()
            except sqlite3.DatabaseError:
                rows = []
            known = {str(text_of(row[1])).lower(): str(text_of(row[1])) for row in rows}
            self._columns[select.table] = known
        return next((known[name.lower()] for name in field.names if name.lower() in known), None)

    def read(self, select: Select, *keys: str) -> Rows:
        """Return the rows of a table with the columns `keys` or all; no row if the table is missing. Rows without a
        valid value in a required column are dropped, other invalid values are unknown."""
        fields = self._fields(select, keys) if self.has(select) else []
        columns = [_ColumnReader(field, self.spool) for field, _ in fields]

        def take(chunk: dict[str, Any]) -> None:
            for (field, name), column in zip(fields, columns):
                if field.content is Content.TEXT:
                    self._repair(select, name, chunk[field.key])
                column.add(chunk)

        taken = self.chunks(select, keys, take)
        return Rows(taken, {column.field.key: column.result() for column in columns})

    def _repair(self, select: Select, name: str, texts: list[str | None]) -> None:
        """Repair invalid UTF-8 and report it."""
        for row, text in enumerate(texts):
            if text is not None and not text.isascii() and is_damaged(text):
                texts[row] = repair(text)
                self._add("bad_bytes", select, name, text)

    def _fields(self, select: Select, keys: tuple[str, ...]) -> list[tuple[Field, str]]:
        """Return the existing columns of `keys` (or all), with their names in the database."""
        requested = [field for field in select.fields if not keys or field.key in keys]
        named = [(field, self._name(select, field)) for field in requested]
        return [(field, name) for field, name in named if name is not None]

    def chunks(self, select: Select, keys: tuple[str, ...], take: Callable[[dict[str, Any]], None]) -> int:
        """Call `take` with each chunk of rows, a dict of columns. Returns the number of rows. See `read`."""
        if not self.has(select):
            return 0
        fields = self._fields(select, keys)
        shown = ", ".join(_expression(field, name) for field, name in fields)
        total = 0
        try:
            with gc_paused():
                for rows in self._fetch(select, shown):
                    chunk = self._chunk(select, fields, rows)
                    total += len(next(iter(chunk.values())))
                    take(chunk)
                    self._progress(len(rows))
        except sqlite3.DatabaseError as error:
            if self._is_first(f"{select.table} cut"):
                self.report.table_damaged(select.table, error)
        self._checked.update((select.table, name) for _, name in fields)
        return total

    def _fetch(self, select: Select, shown: str) -> Iterator[list[tuple[Any, ...]]]:
        # An index may say something else than its table.
        return self._connection.rows(f"SELECT {shown} FROM {_quote(select.table)} NOT INDEXED", CHUNK_ROWS)

    def _chunk(self, select: Select, fields: list[tuple[Field, str]], rows: list[tuple[Any, ...]]) -> dict[str, Any]:
        cells = list(zip(*rows))
        out: dict[str, Any] = {}
        dropped = np.zeros(len(rows), dtype=np.bool_)
        for (field, name), column in zip(fields, cells):
            values, bad = _convert(field, column)
            out[field.key] = values
            unknown = bad
            if field.required:
                unknown = bad | _unknown(values)
                dropped |= unknown
            if unknown.any():
                self._report(select, field, name, column, unknown)
        dropped |= self._drop_backwards(select, fields, cells, out, dropped)
        dropped |= self._drop_outside(select, fields, cells, out, dropped)
        if dropped.any():
            kept = np.flatnonzero(~dropped)
            out = {
                key: [values[row] for row in kept.tolist()] if isinstance(values, list) else values[kept]
                for key, values in out.items()
            }
        return out

    def _drop_backwards(
        self,
        select: Select,
        fields: list[tuple[Field, str]],
        cells: list[tuple[Any, ...]],
        out: Mapping[str, Any],
        dropped: Mask,
    ) -> Mask:
        """Mask of further rows that end before they start (unfinished rows end at 0) or exceed _LONGEST (rows without a
        start have 0)."""
        wrong = np.zeros(len(dropped), dtype=np.bool_)
        if START not in out or END not in out:
            return wrong
        start, end = out[START], out[END]
        for key, found in ((END, end < start), (START, (start < 0) | (end - start > _LONGEST))):
            found &= ~(dropped | wrong)
            if found.any():
                place = next(place for place, (field, _) in enumerate(fields) if field.key == key)
                self._report(select, *fields[place], cells[place], found)
            wrong |= found
        return wrong

    def _drop_outside(
        self,
        select: Select,
        fields: list[tuple[Field, str]],
        cells: list[tuple[Any, ...]],
        out: dict[str, Any],
        dropped: Mask,
    ) -> Mask:
        """Mask of further rows with a required time outside the recording. Other such times become unknown."""
        wrong = np.zeros(len(dropped), dtype=np.bool_)
        time_keys = [key for key in MOMENTS if key in out]
        window = self._recording.window(*(out[key][~dropped] for key in time_keys)) if time_keys else None
        for (field, name), column in zip(fields, cells):
            if window is None or field.key not in time_keys:
                continue
            found = window.strays(out[field.key]) & ~(dropped | wrong)
            if not found.any():
                continue
            if field.required:
                wrong |= found
                self._report(select, field, name, column, found, "outside_recording")
            else:
                out[field.key] = np.where(found, NULL_INT, out[field.key])
                self._report(select, field, name, column, found)
        return wrong

    def _time_columns(self) -> list[TimeColumn]:
        """Return the columns that date the rows: the start, or the only time."""
        return [
            (_quote(select.table), _quote(name))
            for select in SELECTS
            if select.table in self.tables
            for field in select.fields
            if field.required and field.key in MOMENTS and field.key != END
            if (name := self._name(select, field)) is not None
        ]

    def _report(
        self, select: Select, field: Field, name: str, cells: tuple[Any, ...], wrong: Mask, code: str = ""
    ) -> None:
        code = code or ("bad_required_cell" if field.required else "bad_cell")
        for row in np.flatnonzero(wrong).tolist():
            found = "NULL" if cells[row] is None else text_of(cells[row]) or ""
            self._add(code, select, name, found)

    def _add(self, code: str, select: Select, name: str, found: str) -> None:
        """Report a defect, unless the column was read before."""
        if (select.table, name) not in self._checked:
            self.report.add(code, f"{select.table}, {name}", found=found, kind=f"{select.table}.{name}")


class _ColumnReader:
    """Collects one column."""

    def __init__(self, field: Field, spool: Spool) -> None:
        self.field = field
        self._texts: list[str | None] = []
        dtype = np.float64 if field.content is Content.FLOAT else np.int64
        self._values: GrowingColumn | None = None if field.content is Content.TEXT else spool.column(dtype)

    def add(self, chunk: dict[str, Any]) -> None:
        if self._values is None:
            self._texts += chunk[self.field.key]
        else:
            self._values.append(chunk[self.field.key])

    def result(self) -> Any:
        return self._texts if self._values is None else self._values.values()


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _expression(field: Field, name: str) -> str:
    """Return the SQL expression of a column, with NULL_INT for NULL: numpy converts columns of one type fast. SQLite
    parses -2**63 as a float, hence the subtraction."""
    if field.content in (Content.INT, Content.STRING) and not field.required:
        return f"ifnull({_quote(name)}, (-9223372036854775807 - 1))"
    return _quote(name)


def _convert(field: Field, cells: tuple[Any, ...]) -> tuple[Any, Mask]:
    if field.content is Content.TEXT:
        return [text_of(cell) for cell in cells], np.zeros(len(cells), dtype=np.bool_)
    return floats_of(cells) if field.content is Content.FLOAT else ints_of(cells)


def _unknown(values: Any) -> Mask:
    if isinstance(values, list):
        return np.fromiter((value is None for value in values), np.bool_, len(values))
    return np.asarray(np.isnan(values) if values.dtype.kind == "f" else values == NULL_INT)


def spool_column(spool: Spool, values: NDArray[Any]) -> NDArray[Any]:
    """Move a finished column to a file if it is long."""
    column = spool.column(values.dtype)
    column.append(values)
    return column.values()


def unknown_floats(spool: Spool, count: int) -> FloatArray:
    """Return a writable column of NaN, in a file if it is long."""
    if spool.folder is None or count * 8 <= IN_MEMORY:
        return np.full(count, np.nan)
    descriptor, name = tempfile.mkstemp(dir=spool.folder)
    os.close(descriptor)
    column: FloatArray = np.memmap(name, np.float64, "w+", shape=(count,))
    for start in range(0, count, CHUNK_ROWS):
        column[start : start + CHUNK_ROWS] = np.nan
    return column
