"""The file of a database: a log or a journal beside it, one that cannot be written, any name. Nothing is written there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.readers.databases import change, read, same


def listing(folder: Path) -> list[tuple[str, int, int]]:
    return sorted((path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in folder.iterdir())


_KILLED = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
{}
os.kill(os.getpid(), 9)
"""
_LOG = """
connection.execute("PRAGMA journal_mode=WAL")
connection.execute("UPDATE OP_MEMORY SET size=123 WHERE rowid=1")
connection.commit()
"""
_JOURNAL = """
connection.execute("PRAGMA cache_size=1")  # so that pages go to the file before the end
connection.execute("BEGIN")
connection.execute("UPDATE STRING_IDS SET value=value||' of an unfinished change'")
connection.execute("DELETE FROM COMPUTE_TASK_INFO WHERE rowid%2=0")
"""


@pytest.mark.parametrize(("beside", "script"), [("wal", _LOG), ("journal", _JOURNAL)])
def test_what_a_killed_writer_left_is_read_from_a_copy(database: Path, beside: str, script: str) -> None:
    """Without the log rows are missing, without the journal the file is a mixture of old and new pages."""
    whole, _ = read(database)
    subprocess.run([sys.executable, "-c", _KILLED.format(script), str(database)])
    database.with_name("profiler.db-shm").unlink(missing_ok=True)
    before = listing(database.parent)
    assert [name for name, *_ in before] == ["profiler.db", f"profiler.db-{beside}"]
    tables, problems = read(database)
    assert problems == []
    assert [name for name, table in whole.items() if not same(tables[name], table)] == ["op_memory"] * (beside == "wal")
    assert (123 in tables["op_memory"].ints("size_bytes")) is (beside == "wal")
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
