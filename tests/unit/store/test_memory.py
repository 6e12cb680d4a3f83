"""Loaded tables are kept by their size."""

from __future__ import annotations

import numpy as np

from tb_npu_plugin.store.cache.memory import LruCache, table_bytes
from tb_npu_plugin.tables import Column, Kind, StringColumn, Table

COLUMN = Column("n", Kind.INT)


def table(rows: int) -> Table:
    return Table((COLUMN,), {"n": np.zeros(rows, dtype=np.int64)})


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


def test_what_is_not_there_is_asked_for_again() -> None:
    loads: list[int] = []
    kept: LruCache[tuple[str, str], object] = LruCache(10, lambda value: 1)
    for _ in range(2):
        assert kept.get(("a", "t"), lambda: loads.append(1)) is None
    assert loads == [1, 1]


def test_size_counts_texts() -> None:
    words = Table((Column("w", Kind.TEXT),), {"w": StringColumn(np.zeros(10, dtype=np.int32), ["x" * 1000])})
    assert 1000 < table_bytes(words) < 2000 and table_bytes(table(10)) == 80
