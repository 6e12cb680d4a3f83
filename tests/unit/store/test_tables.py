"""Tables survive their file, unknowns included; damage is reported; what was loaded is kept by its size."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event

import duckdb
import numpy as np
import pytest

from tb_npu_plugin.messages import messages_of
from tb_npu_plugin.store.cache.memory import LruCache, MemoryCache, table_bytes
from tb_npu_plugin.store.tables.database import read_table, write_tables
from tb_npu_plugin.store.tables.short import read_short, write_short
from tb_npu_plugin.tables import NULL_INT, Column, Kind, StringColumn, Table, column_texts, empty, from_lists

COLUMNS = (
    Column("name", Kind.TEXT, *column_texts("kernels.name"), "identity", ("Name",)),
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


TABLES = {"kernels": from_lists(COLUMNS, LISTS), "nothing": empty(COLUMNS), "bare": Table(())}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tables"


@pytest.mark.parametrize("is_short", [True, False])
def test_empty_and_absent_tables_differ(path: Path, is_short: bool) -> None:
    def read(name: str) -> Table | None:
        return read_short(path, name) if is_short else read_table(path, name, MemoryCache())

    write_short(path, TABLES) if is_short else write_tables(path, {"nothing": TABLES["nothing"]})
    nothing, bare = read("nothing"), read("bare")
    assert nothing is not None and len(nothing) == 0 and [c.key for c in nothing.columns] == [c.key for c in COLUMNS]
    assert bare is None or (is_short and bare.columns == ())
    assert read("absent") is None


@pytest.mark.parametrize("is_short", [True, False])
def test_texts_of_columns_keep_their_codes(path: Path, is_short: bool) -> None:
    write_short(path, TABLES) if is_short else write_tables(path, TABLES)
    table = read_short(path, "kernels") if is_short else read_table(path, "kernels", MemoryCache())
    assert table is not None
    titles = [messages_of({"title": column.title, "doc": column.doc}) for column in table.columns]
    assert titles == [messages_of({"title": column.title, "doc": column.doc}) for column in COLUMNS]
    assert titles[0].keys() == {"title", "doc"}


@pytest.mark.parametrize(
    ("place", "kept"), [*((place, None) for place in (0, 3, 12, -1, -40)), *((0, kept) for kept in (0, 4, 20, -8))]
)
def test_a_damaged_or_cut_short_file_raises(path: Path, place: int, kept: int | None) -> None:
    write_short(path, TABLES)
    content = bytearray(path.read_bytes())
    if kept is None:
        content[place] ^= 0xFF
    path.write_bytes(content[:kept])
    with pytest.raises(ValueError):
        for name in TABLES:
            read_short(path, name)


def test_a_damaged_database_raises(path: Path) -> None:
    path.write_bytes(b"x" * 5000)
    memory = MemoryCache()
    with pytest.raises(duckdb.Error):
        read_table(path, "kernels", memory)
    assert list(memory.damaged) == [path]


def test_damage_found_later_is_noted_too(path: Path) -> None:
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


def test_texts_stand_in_natural_order(path: Path) -> None:
    words = ["step 10", "b", "step 9", "A", "a1", "a", "B", "é"]
    write_tables(path, {"k": from_lists(COLUMNS[:1], {"name": words})})
    table = read_table(path, "k", MemoryCache())
    assert table is not None
    assert list(table.text("name").values) == ["A", "a", "a1", "B", "b", "step 9", "step 10", "é"]
    assert table.text("name").tolist() == words


@pytest.mark.parametrize("small", [0, 9, None], ids=["large dictionary", "small dictionary", "in memory"])
def test_a_condition_is_asked_once_for_each_value_that_occurs(
    path: Path, small: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    table: Table | None = from_lists(COLUMNS[:1], {"name": ["c", "ab", None, "a", "ab", "d"]})
    if small is not None and table is not None:
        monkeypatch.setattr("tb_npu_plugin.store.tables.stored.SMALL_DICTIONARY", small)
        write_tables(path, {"k": table})
        table = read_table(path, "k", MemoryCache())
    assert table is not None
    names = table.text("name").take(np.arange(5))  # "d" does not occur
    asked: list[str] = []
    found = names.matching(lambda name: asked.append(name) or name.startswith("a"))  # type: ignore[func-returns-value]
    assert found.tolist() == [False, True, False, True, True]
    assert sorted(asked) == ["a", "ab", "c"]
    assert names.isin(["ab", "d", "x"]).tolist() == [False, True, False, False, True]


def test_many_short_tables_take_little_room(path: Path) -> None:
    write_tables(path, {f"t{number}": from_lists(COLUMNS, LISTS) for number in range(16)})
    assert path.stat().st_size < 2_000_000  # 12.6 MB with DuckDB's own block size


def test_every_value_comes_back(path: Path) -> None:
    write_tables(path, {"kernels": from_lists(COLUMNS, LISTS)})
    memory = MemoryCache()
    table = read_table(path, "kernels", memory)
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


def table(rows: int) -> Table:
    return Table((COLUMNS[3],), {"count": np.zeros(rows, dtype=np.int64)})


def test_the_least_recently_used_go_when_there_is_no_room() -> None:
    loads: list[str] = []
    kept: LruCache[tuple[str, str], Table] = LruCache(2500, table_bytes)

    def get(name: str, rows: int = 100) -> None:
        kept.get((name, "t"), lambda: loads.append(name) or table(rows))

    for name in ("a", "b", "c", "a", "d", "a", "b"):  # 800 bytes each: three fit
        get(name)
    assert loads == ["a", "b", "c", "d", "b"]
    get("huge", 10_000)
    get("huge", 10_000)
    assert loads[5:] == ["huge"], "one that is larger than the limit stays while it is used"
    get("a")
    assert loads[6:] == ["a"]
    for _ in range(2):
        assert kept.get(("none", "t"), lambda: loads.append("none")) is None
    assert loads[7:] == ["none", "none"], "what is not there is asked for again"


def test_threads_that_ask_meanwhile_wait_for_one_load() -> None:
    cache: LruCache[str, int] = LruCache(10, lambda value: 1)
    begun, asked, may_end, loads = Event(), Event(), Event(), []

    def load() -> int:
        loads.append(1)
        begun.set()
        assert may_end.wait(10)
        if len(loads) > 1:
            raise OSError("lost")
        return 7

    def get(key: str) -> int:
        asked.set()
        return cache.get(key, load)

    def ask(pool: ThreadPoolExecutor, key: str) -> list[Future[int]]:
        begun.clear(), asked.clear(), may_end.clear()
        first = pool.submit(cache.get, key, load)
        assert begun.wait(10)
        later = pool.submit(get, key)
        assert asked.wait(10) and not later.done() and cache.get("other", lambda: 1) == 1, "other keys do not wait"
        threading.Timer(0.1, may_end.set).start()
        return [first, later]

    with ThreadPoolExecutor(2) as pool:
        assert [one.result(10) for one in ask(pool, "a")] == [7, 7] and len(loads) == 1
        assert {str(one.exception(10)) for one in ask(pool, "b")} == {"lost"} and len(loads) == 2
    assert cache.get("b", lambda: 8) == 8, "a failure is not kept"


def test_size_counts_texts() -> None:
    words = Table((COLUMNS[0],), {"name": StringColumn(np.zeros(10, dtype=np.int32), ["x" * 1000])})
    assert 1000 < table_bytes(words) < 2000 and table_bytes(table(10)) == 80
