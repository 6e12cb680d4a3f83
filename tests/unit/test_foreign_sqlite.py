"""Databases of others: stored tables only, and no more than the file has bytes for."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tb_npu_plugin.foreign_sqlite import UnboundedTable, connect
from tests.support.hostile import database, endless_tree, shared_text

FIVE = tuple(f"INSERT INTO t VALUES ({number}, 'text {number}')" for number in range(5))


def made(folder: Path, *statements: str) -> Path:
    path = folder / "a?b#%20.db"
    database(path, "CREATE TABLE t (id INT, value TEXT)", *statements)
    return path


def test_rows_come_in_pieces_and_text_as_bytes(tmp_path: Path) -> None:
    path = made(tmp_path, *FIVE)
    with closing(connect(path, path.stat().st_size)) as opened:
        assert opened.objects() == {"t": True}
        assert list(opened.rows("SELECT id, value FROM t", 2)) == [
            [(number, f"text {number}".encode()) for number in range(5)]
        ]
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def _shared_rows(path: Path) -> None:
    """40 rows of 1,000 bytes that are the same bytes of the file."""
    shared_text(path, "t", 12)


@pytest.mark.parametrize(
    "damage", [lambda path: endless_tree(path, "t"), _shared_rows], ids=["endless rows", "shared blob"]
)
def test_a_table_that_exceeds_its_file_is_cut(damage: Callable[[Path], None], tmp_path: Path) -> None:
    path = made(tmp_path, *FIVE)
    damage(path)
    size, rows, length = path.stat().st_size, 0, 0
    with closing(connect(path, size)) as opened, pytest.raises(UnboundedTable):
        for piece in opened.rows("SELECT id, value FROM t"):
            rows += len(piece)
            length += sum(len(cell) for row in piece for cell in row if isinstance(cell, bytes))
    assert rows <= size // 6 and length <= 2 * size


def test_rows_before_a_damaged_page_are_read(tmp_path: Path) -> None:
    path = made(tmp_path, *(f"INSERT INTO t VALUES ({number}, '{'x' * 900}')" for number in range(100)))
    content = bytearray(path.read_bytes())
    damaged = len(content) * 3 // 4 // 4096 * 4096
    content[damaged : damaged + 64] = b"\xff" * 64
    path.write_bytes(content)
    numbers = []
    with closing(connect(path, len(content))) as opened, pytest.raises(sqlite3.DatabaseError):
        for piece in opened.rows("SELECT id FROM t", 1000):
            numbers += [number for (number,) in piece]
    assert numbers == list(range(len(numbers))) and 50 < len(numbers) < 100


@pytest.mark.parametrize(
    "question",
    [
        "SELECT x FROM v",
        "SELECT hex(zeroblob(10)) FROM t",
        "ATTACH ':memory:' AS other",
        "PRAGMA writable_schema=ON",
        "INSERT INTO t VALUES (1, 2)",
        "SELECT load_extension('x')",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n",
    ],
)
def test_what_no_reader_needs_is_refused(question: str, tmp_path: Path) -> None:
    path = made(tmp_path, "CREATE VIEW v AS SELECT id AS x FROM t", *FIVE)
    with closing(connect(path, path.stat().st_size)) as opened, pytest.raises(sqlite3.DatabaseError):
        opened.execute(question)


def test_tables_that_compute_are_no_stored_tables(tmp_path: Path) -> None:
    path = made(
        tmp_path,
        "CREATE VIEW a AS SELECT 1",
        "CREATE VIRTUAL TABLE b USING fts4(x)",
        "CREATE TABLE c (x INT, y INT AS (x + 1))",
        "CREATE TABLE basis (assigned INT, virtual_memory INT)",
    )
    with closing(connect(path, path.stat().st_size)) as opened:
        found = opened.objects()
    assert [found[name] for name in ("t", "basis", "a", "b", "c")] == [True, True, False, False, False]


def test_a_long_query_is_interrupted(tmp_path: Path) -> None:
    path = made(tmp_path, *FIVE)
    endless_tree(path, "t")
    with closing(connect(path, path.stat().st_size, seconds=0.1)) as opened, pytest.raises(UnboundedTable):
        opened.execute("SELECT max(value) FROM t").fetchall()
