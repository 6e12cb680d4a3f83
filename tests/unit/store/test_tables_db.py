"""Tables survive the database, unknowns included, and people can read it with SQL."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from tb_npu_plugin.store.cache.memory import MemoryCache
from tb_npu_plugin.store.tables.database import read_table, write_tables
from tb_npu_plugin.tables import NULL_INT, Column, Kind, Table, empty, from_lists

COLUMNS = (
    Column("name", Kind.TEXT, "Name", "The name.", "identity", ("Name",)),
    Column("start_ns", Kind.TIME, "Start", "", "time"),
    Column('odd "key"', Kind.FLOAT, "Odd"),
    Column("count", Kind.INT, "Count"),
)
LISTS = {
    "name": ["a", None, "b", "", "a", "<script>,\"'\n", "名"],
    "start_ns": [1736408883704643212, None, 0, -5, 2**63 - 1, NULL_INT + 1, 1],
    'odd "key"': [0.1, None, -0.0, 1e300, 5e-324, 2.0, 3.0],
    "count": [1, 2, 3, 4, None, 6, 7],
}


def test_empty_and_absent_tables_differ(tmp_path: Path) -> None:
    write_tables(tmp_path / "t.duckdb", {"nothing": empty(COLUMNS)})
    back = read_table(tmp_path / "t.duckdb", "nothing", MemoryCache())
    assert back is not None and len(back) == 0 and [c.key for c in back.columns] == [c.key for c in COLUMNS]
    assert read_table(tmp_path / "t.duckdb", "absent", MemoryCache()) is None


def test_a_damaged_file_raises(tmp_path: Path) -> None:
    (tmp_path / "t.duckdb").write_bytes(b"x" * 5000)
    memory = MemoryCache()
    with pytest.raises(duckdb.Error):
        read_table(tmp_path / "t.duckdb", "kernels", memory)
    assert list(memory.damaged) == [tmp_path / "t.duckdb"]


def test_damage_found_later_is_noted_too(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    numbers = np.random.default_rng(0).integers(0, 1 << 60, 300_000)
    write_tables(path, {"many": Table((COLUMNS[3],), {"count": numbers})})
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2)
        file.write(b"x" * (size // 4))
    memory = MemoryCache()
    with pytest.raises(duckdb.Error):
        table = read_table(path, "many", memory)
        assert table is not None
        table.ints("count")
    assert list(memory.damaged) == [path]


def test_texts_stand_in_natural_order(tmp_path: Path) -> None:
    words = ["step 10", "b", "step 9", "A", "a1", "a", "B", "é"]
    write_tables(tmp_path / "t.duckdb", {"k": from_lists(COLUMNS[:1], {"name": words})})
    table = read_table(tmp_path / "t.duckdb", "k", MemoryCache())
    assert table is not None
    assert list(table.text("name").values) == ["A", "a", "a1", "B", "b", "step 9", "step 10", "é"]
    assert table.text("name").tolist() == words


def test_many_short_tables_take_little_room(tmp_path: Path) -> None:
    write_tables(tmp_path / "t.duckdb", {f"t{number}": from_lists(COLUMNS, LISTS) for number in range(16)})
    assert (tmp_path / "t.duckdb").stat().st_size < 2_000_000  # 12.6 MB with DuckDB's own block size


def test_every_value_comes_back(tmp_path: Path) -> None:
    write_tables(tmp_path / "t.duckdb", {"kernels": from_lists(COLUMNS, LISTS)})
    memory = MemoryCache()
    table = read_table(tmp_path / "t.duckdb", "kernels", memory)
    assert table is not None
    assert not memory.columns.size, "nothing is loaded before it is asked for"
    assert [(c.key, c.kind, c.title, c.doc, c.group) for c in table.columns] == [
        (c.key, c.kind, c.title, c.doc, c.group) for c in COLUMNS
    ]
    assert table.text("name").tolist() == LISTS["name"]
    for key in ("start_ns", "count"):
        assert [None if v == NULL_INT else v for v in table.ints(key).tolist()] == LISTS[key]
        assert table.ints(key).dtype == np.int64
    floats = table.floats('odd "key"').tolist()
    assert [None if v != v else v for v in floats] == LISTS['odd "key"']
