"""The file of a database: a log or a journal beside it, one that cannot be written, any name. Nothing is written there."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

from tests.unit.readers.databases import change, read, same


def listing(folder: Path) -> list[tuple[str, int, int]]:
    return sorted((path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in folder.iterdir())


def _with_log(path: Path) -> None:
    """Bring a database into the state of one whose writer was killed: a log that holds the last rows."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA wal_autocheckpoint=0")
    connection.execute("UPDATE OP_MEMORY SET size=123 WHERE rowid=1")
    connection.commit()
    for name in (path.name, path.name + "-wal"):
        shutil.copyfile(path.with_name(name), path.with_name("kept-" + name))
    connection.close()
    path.with_name(path.name + "-wal").unlink(missing_ok=True)
    for name in (path.name, path.name + "-wal"):
        path.with_name("kept-" + name).rename(path.with_name(name))


def test_log_is_read_from_a_copy(database: Path) -> None:
    _with_log(database)
    before = listing(database.parent)
    assert [name for name, *_ in before] == ["profiler.db", "profiler.db-wal"]
    tables, problems = read(database)
    assert problems == [] and 123 in tables["op_memory"].ints("size_bytes").tolist()
    assert listing(database.parent) == before


_KILLED = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("PRAGMA cache_size=1")  # so that pages go to the file before the end
connection.execute("BEGIN")
connection.execute("UPDATE STRING_IDS SET value=value||' of an unfinished change'")
connection.execute("DELETE FROM COMPUTE_TASK_INFO WHERE rowid%2=0")
os.kill(os.getpid(), 9)
"""


def test_an_unfinished_change_is_undone_in_a_copy(database: Path) -> None:
    """The journal holds what the change has overwritten; without it the file is a mixture of old and new pages."""
    whole, _ = read(database)
    subprocess.run([sys.executable, "-c", _KILLED, str(database)])
    before = listing(database.parent)
    assert [name for name, *_ in before] == ["profiler.db", "profiler.db-journal"]
    tables, problems = read(database)
    assert problems == [] and all(same(tables[name], table) for name, table in whole.items())
    assert listing(database.parent) == before


def test_nothing_is_written_beside_a_database_in_wal_mode(database: Path) -> None:
    change(database, "PRAGMA journal_mode=WAL")
    before = listing(database.parent)
    database.parent.chmod(0o555)
    try:
        assert read(database)[0]["kernels"]
        assert listing(database.parent) == before
    finally:
        database.parent.chmod(0o755)
