"""Opens SQLite files of others as SQLite's authors advise for untrusted ones (sqlite.org, "Defense Against The Dark Arts").

A crafted file of a few kB can hold endless rows, as pages of a tree may refer to one page many times, or rows that share one
long text. What is read is therefore bounded by what the bytes of the file can hold without sharing.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tb_npu_plugin.messages import Message

#: Opens a file as it is, without the logs beside it, and writes nothing.
UNCHANGED = "mode=ro&immutable=1"
#: Least bytes of a row: a cell of 4 bytes and the pointer to it.
_BYTES_PER_ROW = 6
#: Bytes of text per byte of the file: SQLite returns UTF-8, which takes up to 1.5 times the bytes of UTF-16.
_TEXT_PER_BYTE = 2
#: CPU seconds that a thread may spend from the connection on: honest files take less than 0.1 s per MB.
_CPU, _CPU_PER_BYTE = 2.5, 1e-6
#: Instructions of SQLite between two looks at the clock, some 50 rows.
_INSTRUCTIONS = 1000
#: Rows fetched before their bytes are counted: each may be as long as the file.
_AT_ONCE = 32
#: Rows of the schema that are read.
_MOST_OBJECTS = 10_000
_SETTINGS = ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0", "query_only=ON")
#: Limits of SQLite, from Python 3.11 on. A text is limited by the file's size in any case.
_LIMITS = {
    "SQL_LENGTH": 100_000,
    "VDBE_OP": 25_000,
    "EXPR_DEPTH": 100,
    "COMPOUND_SELECT": 3,
    "FUNCTION_ARG": 8,
    "ATTACHED": 0,
    "LIKE_PATTERN_LENGTH": 50,
    "VARIABLE_NUMBER": 10,
    "TRIGGER_DEPTH": 1,
    "WORKER_THREADS": 0,
}
_FUNCTIONS = frozenset(("ifnull", "min", "max", "sum"))
#: Word of a definition whose table computes its rows or columns: CREATE VIRTUAL TABLE, x INT AS (...).
_COMPUTED = re.compile(rb"\b(?:virtual|as)\b", re.IGNORECASE)


class UnboundedTable(sqlite3.DatabaseError):
    """A table yields more than its file can hold, or takes too long. Its first argument is a Message."""


class ForeignDatabase(sqlite3.Connection):
    """A read-only connection that returns text as bytes and reads stored tables only. See `connect`."""

    _most_rows = _most_text = 0
    _deadline = 0.0

    def bound(self, size: int, seconds: float | None) -> None:
        """Set the limits for a file of `size` bytes."""
        self._most_rows, self._most_text = size // _BYTES_PER_ROW, _TEXT_PER_BYTE * size
        self._deadline = time.thread_time() + (_CPU + _CPU_PER_BYTE * size if seconds is None else seconds)
        self.set_progress_handler(self._is_late, _INSTRUCTIONS)

    def _is_late(self) -> bool:
        return time.thread_time() > self._deadline

    def execute(self, *args: Any) -> sqlite3.Cursor:
        """As that of Connection. Damaged names are DatabaseErrors: SQLite quotes them, and sqlite3 fails to decode them."""
        try:
            return super().execute(*args)
        except UnicodeDecodeError as error:
            raise sqlite3.DatabaseError("a damaged name") from error
        except sqlite3.OperationalError as error:
            raise self._explained(error) from error

    def rows(self, question: str, count: int = 1 << 12) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of a SELECT, at least `count` at a time. Raises UnboundedTable after what the file can hold."""
        cursor = self.execute(question)
        rows_left, text_left = self._most_rows, self._most_text
        rows: list[tuple[Any, ...]] = []
        try:
            while more := self._fetch(cursor):
                rows_left -= len(more)
                if bytes in set(map(type, chain.from_iterable(more))):
                    text_left -= sum(len(cell) for cell in chain.from_iterable(more) if type(cell) is bytes)
                if rows_left < 0 or text_left < 0:
                    raise UnboundedTable(Message("found.endless_table"))
                rows += more
                if len(rows) >= count:
                    yield rows
                    rows = []
        except sqlite3.DatabaseError:  # what was read so far is good
            if rows:
                yield rows
            raise
        if rows:
            yield rows

    def _fetch(self, cursor: sqlite3.Cursor) -> list[tuple[Any, ...]]:
        try:
            return cursor.fetchmany(_AT_ONCE)
        except sqlite3.OperationalError as error:
            raise self._explained(error) from error

    def _explained(self, error: sqlite3.OperationalError) -> sqlite3.DatabaseError:
        return UnboundedTable(Message("found.slow_table")) if self._is_late() else error

    def objects(self) -> dict[str, bool]:
        """Names in the schema -> whether it is a stored table, which alone may be read. Indexes are left out."""
        found = {}
        for kind, name, definition in next(self.rows("SELECT type, name, sql FROM sqlite_master", _MOST_OBJECTS), ()):
            if kind in (b"table", b"view") and isinstance(name, bytes):
                is_stored = kind == b"table" and not _COMPUTED.search(
                    definition if isinstance(definition, bytes) else b""
                )
                found[name.decode("utf-8", "replace")] = is_stored
        return found


def connect(path: Path, size: int, *, mode: str = UNCHANGED, seconds: float | None = None) -> ForeignDatabase:
    """Open a SQLite file of others. Raises sqlite3.Error.

    Args:
        size: bytes of the file and its logs, which bound what is read.
        mode: parameters of the URI.
        seconds: limit of this thread's CPU time from now on; a multiple of the size by default.
    """
    # isolation_level None: no statement but ours.
    uri = f"file:{quote(str(path.resolve()))}?{mode}"
    database = sqlite3.connect(uri, uri=True, isolation_level=None, factory=ForeignDatabase)
    try:
        for setting in _SETTINGS:
            database.execute(f"PRAGMA {setting}")
        if hasattr(database, "enable_load_extension"):  # a build of Python may lack it
            database.enable_load_extension(False)
        if hasattr(database, "setlimit"):
            for name, most in _LIMITS.items():
                database.setlimit(getattr(sqlite3, f"SQLITE_LIMIT_{name}"), most)
        database.text_factory = bytes
        database.set_authorizer(_authorize)
        database.bound(size, seconds)
    except BaseException:
        database.close()
        raise
    return database


def _authorize(action: int, first: str | None, second: str | None, schema: str | None, inside: str | None) -> int:
    """Allow SELECT from tables, the functions that readers use, and the names of columns. inside: the view or trigger that
    the access comes from."""
    is_allowed = inside is None and (
        action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)
        or (action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FUNCTIONS)
        or (action == sqlite3.SQLITE_PRAGMA and first == "table_info")
    )
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY
