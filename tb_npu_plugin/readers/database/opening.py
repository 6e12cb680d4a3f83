"""Opens a SQLite file without ever writing next to it.
Source: docs/facts/databases.md, ascend_pytorch_profiler.db."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from tb_npu_plugin.foreign_sqlite import UNCHANGED, ForeignDatabase, connect
from tb_npu_plugin.messages import Message
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.schema.core import LOG_SUFFIXES

_MAGIC = b"SQLite format 3\0"
#: Bytes of the SQLite header.
_HEADER = 100
#: A header that states more than this many times the file size is damaged.
_MOST = 1000


@contextmanager
def open_database(path: Path, report: FileReport) -> Iterator[ForeignDatabase | None]:
    """Open a database as foreign_sqlite.connect does; None after a problem.

    SQLite creates files next to a database in WAL mode even for reading, unless it is opened as immutable. An immutable
    connection ignores logs, which hold the newest rows or pages that an unfinished change overwrote, so a database with
    logs is copied to a temporary folder first. A truncated database is copied, too, and padded with zeros, as SQLite
    would reject all of it.
    """
    state = _state_of(path, report)
    if state is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="tb-npu-db-") if state.needs_copy else nullcontext("") as folder:
        connection = _connect(path, state, folder, report)
        try:
            yield connection
        finally:
            if connection is not None:
                connection.close()


@dataclass(frozen=True)
class _State:
    """logs: suffixes of the logs that are not empty; pages: bytes that the header states, if truncated; size: bytes of
    the file."""

    logs: tuple[str, ...]
    pages: int
    size: int

    @property
    def needs_copy(self) -> bool:
        return bool(self.logs) or self.pages > self.size


def _state_of(path: Path, report: FileReport) -> _State | None:
    """Inspect the file and its logs; None after a problem."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            report.add("not_a_file")
            return None
        with path.open("rb") as file:
            header = file.read(_HEADER)
        logs = tuple(end for end in LOG_SUFFIXES if (log := _log_of(path, end)).is_file() and log.stat().st_size > 0)
    except OSError as error:
        report.os_error(error)
        return None
    if not header.startswith(_MAGIC) or len(header) < _HEADER:
        report.add("no_database" if header else "empty_file", found=header[: len(_MAGIC)].decode("ascii", "replace"))
        return None
    page, count = int.from_bytes(header[16:18], "big"), int.from_bytes(header[28:32], "big")
    pages = (1 << 16 if page == 1 else page) * count
    if status.st_size < pages <= _MOST * status.st_size:
        report.add(
            "file_cut", expected=Message("found.bytes", bytes=pages), found=Message("found.bytes", bytes=status.st_size)
        )
        return _State(logs, pages, status.st_size)
    return _State(logs, 0, status.st_size)


def _log_of(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


def _connect(path: Path, state: _State, folder: str, report: FileReport) -> ForeignDatabase | None:
    """Connect to the file itself, or to a copy of it and its logs in `folder`."""
    mode, size = UNCHANGED, state.size
    try:
        if state.needs_copy:
            copy = Path(folder) / "copy.db"
            shutil.copyfile(path, copy)
            if state.pages > state.size:
                os.truncate(copy, state.pages)
            for end in state.logs:
                shutil.copyfile(_log_of(path, end), _log_of(copy, end))
                size += _log_of(copy, end).stat().st_size
                mode = "mode=rw"
            path = copy
        return connect(path, size, mode=mode)
    except OSError as error:
        report.os_error(error)
        return None
    except sqlite3.Error as error:
        report.no_database(error)
        return None
