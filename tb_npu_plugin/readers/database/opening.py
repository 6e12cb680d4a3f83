"""Opens a SQLite file so that nothing is ever written beside it. Source: specs/ascend_pt.md 6.1."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from urllib.parse import quote

from tb_npu_plugin.readers.report import FileReport

_MAGIC = b"SQLite format 3\0"
_WAL = "-wal"


@contextmanager
def opened_database(path: Path, report: FileReport) -> Iterator[sqlite3.Connection | None]:
    """A connection that only reads; None after a problem. Texts come as bytes.

    SQLite makes files beside a database in WAL mode even when it only reads, unless it is told that the file never
    changes. What a log beside it holds is not seen then, so such a database is copied to a temporary folder first.
    """
    magic, logged = _looked_at(path, report)
    if magic is None:
        yield None
        return
    if magic != _MAGIC:
        report.add("no_database" if magic else "empty_file", found=magic.decode("ascii", "replace"))
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="tb-npu-db-") if logged else nullcontext("") as folder:
        connection = _connected(path, _log_of(path) if logged else None, folder, report)
        try:
            yield connection
        finally:
            if connection is not None:
                connection.close()


def _looked_at(path: Path, report: FileReport) -> tuple[bytes | None, bool]:
    """First bytes of a file, None after a problem; and whether there is a log with something in it."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            report.add("not_a_file")
            return None, False
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
        log = _log_of(path)
        return magic, log.is_file() and log.stat().st_size > 0
    except FileNotFoundError:
        report.add("missing_file")
    except PermissionError:
        report.add("permission_denied")
    except OSError as error:
        report.add("unreadable", found=error.strerror or type(error).__name__)
    return None, False


def _log_of(path: Path) -> Path:
    return path.with_name(path.name + _WAL)


def _connected(path: Path, log: Path | None, folder: str, report: FileReport) -> sqlite3.Connection | None:
    """A connection to the file itself, or to copies of it and its log in a folder."""
    mode = "mode=ro&immutable=1"
    try:
        if log is not None:
            copy = Path(folder) / "copy.db"
            shutil.copyfile(path, copy)
            shutil.copyfile(log, _log_of(copy))
            path, mode = copy, "mode=rw"
        connection = sqlite3.connect(f"file:{quote(str(path.resolve()))}?{mode}", uri=True)
    except OSError as error:
        report.add("unreadable", found=error.strerror or type(error).__name__)
        return None
    except sqlite3.Error as error:
        report.add("no_database", found=str(error))
        return None
    connection.text_factory = bytes
    return connection
