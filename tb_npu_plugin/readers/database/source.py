"""Reads tables of one database as columns, CHUNK_ROWS rows at a time, and counts their rows and columns."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.foreign_sqlite import ForeignDatabase
from tb_npu_plugin.gc_pause import gc_paused
from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import list_places
from tb_npu_plugin.readers.database.cells import text_of
from tb_npu_plugin.readers.database.checks import ColumnReader, Fields, RowChecks, expression, quote
from tb_npu_plugin.readers.database.recording import CHUNK_ROWS, RecordingWindow, TimeColumn
from tb_npu_plugin.readers.shared.damage import is_damaged, repair
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.spool import Spool
from tb_npu_plugin.schema.torch_npu_db import END, MOMENTS, SELECTS, STRING_IDS, TEXTS_OF, Content, Field, Select
from tb_npu_plugin.tables import NULL_INT, FloatArray, IntArray

#: Prefix of the tables of SQLite itself.
_OF_SQLITE = "sqlite_"


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

    def with_rows(self, others: Rows) -> Rows:
        """Add rows of another table behind its own; columns that one of the two lacks are unknown there. Integers only."""
        if not len(others):
            return self
        keys = {**self.data, **others.data}
        data = {key: np.concatenate([self.ints(key), others.ints(key)]) for key in keys}
        return Rows(self.count + others.count, data)

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
    """One open database. Each defect is reported and each row counted once, even if its table is read again.

    progress  called with the number of rows read since its last call
    counted   whether rows and columns are counted; see SeenFiles. Events count the rows that a timeline shows.
    """

    def __init__(
        self,
        connection: ForeignDatabase,
        report: FileReport,
        spool: Spool,
        progress: Callable[[int], None] = lambda count: None,
        counted: bool = False,
    ) -> None:
        self.report, self.spool, self._progress = report, spool, progress
        self._connection, self._counted = connection, counted
        self._kept: dict[str, int] = {}  # table that was read -> its rows that were not dropped
        self._hidden: list[str] = []
        self._columns: dict[str, dict[str, str]] = {}  # table -> lower case name -> name
        self._reported: set[str] = set()
        self.tables = self._tables()
        self._checks = RowChecks(report, RecordingWindow(connection, self._time_columns))

    def _tables(self) -> frozenset[str]:
        try:
            found = self._connection.objects()
        except sqlite3.DatabaseError as error:
            self.report.no_database(error)
            return frozenset()
        for name, is_stored in found.items():
            if not is_stored:
                self.report.add("not_a_table", name, found=Message("found.view"))
        return frozenset(
            name for name, is_stored in found.items() if is_stored and not name.lower().startswith(_OF_SQLITE)
        )

    def has(self, select: Select) -> bool:
        """Whether the table exists with its required columns; missing columns are reported."""
        if select.table not in self.tables:
            return False
        missing = [field.names[0] for field in select.fields if field.required and not self._name(select, field)]
        if missing and self._is_first(select.table):
            self.report.add("missing_table_column", select.table, expected=", ".join(missing))
        return not missing

    def report_lost(self, selects: Iterable[Select], proven: Iterable[tuple[str, frozenset[str]]]) -> None:
        """Report columns that are missing in existing tables, and missing tables that other tables or their texts prove. A
        column that not all releases write is missing where another table has it."""
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
        for table, texts in TEXTS_OF.items():
            if table not in self.tables and STRING_IDS.table in self.tables and self._has_text(texts):
                self.report.add("lost_table", table, kind=table)

    def _has_text(self, texts: Iterable[str]) -> bool:
        """Whether STRING_IDS has one of the texts."""
        listed = ", ".join(f"'{text}'" for text in texts)
        return self._number(f"max(value IN ({listed}))", STRING_IDS.table) == 1

    def rows(self, selects: Iterable[Select]) -> int:
        """Estimate the number of rows by the last row ids, which is faster than counting."""
        return sum(self._number("MAX(rowid)", select.table) for select in selects if select.table in self.tables)

    def _number(self, formula: str, table: str) -> int:
        """Return a number of a table; 0 if it is damaged, which its reader reports."""
        with suppress(sqlite3.DatabaseError):
            ((number,),) = self._connection.execute(f"SELECT {formula} FROM {quote(table)} NOT INDEXED")
            return number if isinstance(number, int) else 0
        return 0

    def hide(self, select: Select, name: str, rows: int) -> None:
        """Count rows of this name as told by count_unread."""
        self.count(select, told=rows)
        self._hidden.append(f"{select.table}.{name}")

    def count_others(self, own: Collection[str]) -> None:
        """Count the rows of the tables that were read, but `own`, as shown: they complete rows of other tables, as texts of
        ids do, or the timeline shows them."""
        for table, rows in self._kept.items():
            if table not in own:
                self.report.count("rows", table, shown=rows)

    def count_unread(self, selects: Iterable[Select]) -> None:
        """Count the columns of all tables, and the rows of tables that no Select reads. What none reads is told in one
        problem, as information: other tables repeat it, or only newer versions know it."""
        read = {select.table: [name for _, name in self._fields(select, ())] for select in selects}
        unread = sorted(self.tables - read.keys())
        for table in unread:
            rows = self._number("sum(1)", table)  # unlike count(*), it stops where the time is up
            self.report.count("rows", table, seen=rows, told=rows)
        for table in sorted(self.tables):
            shown = read.get(table, [])
            left = sorted(set(self._names(table).values()).difference(shown))
            self.report.count("columns", table, seen=len(self._names(table)), shown=len(shown), told=len(left))
            unread += [f"{table}.{name}" for name in left if table in read]
        unread += self._hidden
        if unread:
            self.report.add("not_shown", list_places(unread))

    def count(self, select: Select, *, seen: int = 0, shown: int = 0, told: int = 0) -> None:
        """Count rows of a table, see SeenFiles."""
        if self._counted and (seen or shown or told):
            self.report.count("rows", select.table, seen=seen, shown=shown, told=told)

    def leave_out(self, select: Select, code: str, rows: int) -> None:
        """Report and count rows that no logical table shows."""
        if rows:
            self.count(select, told=rows)
            self.report.add(code, select.table, found=str(rows))

    def _is_first(self, defect: str) -> bool:
        is_new = defect not in self._reported
        self._reported.add(defect)
        return is_new

    def _names(self, table: str) -> dict[str, str]:
        """Return the columns of a table: lower case name -> name."""
        if table not in self._columns:
            try:
                rows = self._connection.execute(f"PRAGMA table_info({quote(table)})").fetchall()
            except sqlite3.DatabaseError:
                rows = []
            self._columns[table] = {str(text_of(row[1])).lower(): str(text_of(row[1])) for row in rows}
        return self._columns[table]

    def _name(self, select: Select, field: Field) -> str | None:
        """Return the column's name in this database; None if missing."""
        known = self._names(select.table)
        return next((known[name.lower()] for name in field.names if name.lower() in known), None)

    def read(self, select: Select, *keys: str) -> Rows:
        """Return the rows of a table with the columns `keys` or all; no row if the table is missing. Rows without a
        valid value in a required column are dropped, other invalid values are unknown."""
        fields = self._fields(select, keys) if self.has(select) else []
        columns = [ColumnReader(field, self.spool) for field, _ in fields]

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
                self._checks.add("bad_bytes", select, name, text)

    def _fields(self, select: Select, keys: tuple[str, ...]) -> Fields:
        """Return the existing columns of `keys` (or all), with their names in the database."""
        requested = [field for field in select.fields if not keys or field.key in keys]
        named = [(field, self._name(select, field)) for field in requested]
        return [(field, name) for field, name in named if name is not None]

    def chunks(self, select: Select, keys: tuple[str, ...], take: Callable[[dict[str, Any]], None]) -> int:
        """Call `take` with each chunk of rows, a dict of columns. Returns the number of rows. See `read`."""
        fields = self._fields(select, keys) if self.has(select) else []
        if not fields:
            return 0
        columns = ", ".join(expression(field, name) for field, name in fields)
        total = seen = 0
        try:
            with gc_paused():
                for rows in self._fetch(select, columns):
                    seen += len(rows)
                    chunk, dropped = self._checks.chunk(select, fields, rows)
                    total += len(rows) - dropped
                    if dropped and select.table not in self._kept:
                        self.count(select, told=dropped)
                    take(chunk)
                    self._progress(len(rows))
        except sqlite3.DatabaseError as error:
            if self._is_first(f"{select.table} cut"):
                self.report.table_damaged(select.table, error)
        self._checks.end(select, fields)
        if select.table not in self._kept:
            self._kept[select.table] = total
            self.count(select, seen=seen)
        return total

    def _fetch(self, select: Select, columns: str) -> Iterator[list[tuple[Any, ...]]]:
        # An index may say something else than its table.
        return self._connection.rows(f"SELECT {columns} FROM {quote(select.table)} NOT INDEXED", CHUNK_ROWS)

    def _time_columns(self) -> list[TimeColumn]:
        """Return the columns that date the rows: the start, or the only time."""
        return [
            (quote(select.table), quote(name))
            for select in SELECTS.values()
            if select.table in self.tables
            for field in select.fields
            if field.required and field.key in MOMENTS and field.key != END
            if (name := self._name(select, field)) is not None
        ]


def spool_column(spool: Spool, values: NDArray[Any]) -> NDArray[Any]:
    """Move a finished column to a file if it is long."""
    column = spool.column(values.dtype)
    column.append(values)
    return column.values()
