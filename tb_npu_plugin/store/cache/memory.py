"""What was loaded or made, kept while there is room for it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from tb_npu_plugin.store.stages import TABLES_FILE
from tb_npu_plugin.tables import Data, PickedColumns, StoredColumns, StringColumn, StringDictionary, Table

if TYPE_CHECKING:
    import duckdb

    from tb_npu_plugin.store.timeline.open import Timeline

#: Bytes of tables that one server keeps.
TABLE_BYTES = 1 << 29
#: Bytes of columns of long tables that it keeps: 6 to 12 columns of 5 million rows.
COLUMN_BYTES = 1 << 28
#: Files with long tables that stay open.
CONNECTIONS = 4
#: Timelines that stay open. Each holds some fifty files open, and a process may often have no more than 1024.
TIMELINES = 8

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Values by key, the least recently used out first when their sizes exceed `limit`. Thread-safe."""

    def __init__(self, limit: int, size_of: Callable[[V], int]) -> None:
        self._limit = limit
        self._size_of = size_of
        self._lock = threading.Lock()
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._size = 0

    def get(self, key: K, load: Callable[[], V]) -> V:
        """The value of this key, loaded if it is not there; None is not kept. Two threads may load the same one;
        that does no harm."""
        with self._lock:
            found = self._values.get(key)
            if found is not None:
                self._values.move_to_end(key)
                return found[0]
        value = load()
        if value is not None:
            size = self._size_of(value)
            with self._lock:
                self._size += size - self._values.pop(key, (value, 0))[1]
                self._values[key] = (value, size)
                while self._size > self._limit and len(self._values) > 1:
                    self._size -= self._values.popitem(last=False)[1][1]
        return value

    @property
    def size(self) -> int:
        """Of all values."""
        return self._size

    def drop(self, key: K) -> None:
        """Forget a value."""
        with self._lock:
            self._size -= self._values.pop(key, (None, 0))[1]


class Memory:
    """What one server keeps of the spans that it opened."""

    def __init__(self) -> None:
        self.connections: LruCache[Path, duckdb.DuckDBPyConnection] = LruCache(CONNECTIONS, lambda connection: 1)
        self.columns: LruCache[tuple[Path, str, str], Data] = LruCache(COLUMN_BYTES, data_bytes)
        self.damaged: dict[Path, str] = {}  # table files that could not be read, and why
        self.tables: LruCache[tuple[str, str], Table | None] = LruCache(TABLE_BYTES, table_bytes)
        self.timelines: LruCache[str, Timeline] = LruCache(TIMELINES, lambda timeline: 1)

    def forget(self, folder: Path) -> None:
        """A cache entry is gone; another one may take its place."""
        self.timelines.drop(folder.name)
        self.connections.drop(folder / TABLES_FILE)
        self.damaged.pop(folder / TABLES_FILE, None)


def table_bytes(table: Table | None) -> int:
    """About what a table takes in memory; what of it lies in a file takes none."""
    if table is None:
        return 0
    if isinstance(table.data, PickedColumns):
        return table.data.row_numbers.nbytes
    if isinstance(table.data, StoredColumns):
        return 0
    return sum(map(data_bytes, table.data.values()))


def data_bytes(data: Data) -> int:
    """About what a column takes in memory."""
    if not isinstance(data, StringColumn):
        return data.nbytes
    words = 0 if isinstance(data.values, StringDictionary) else sum(len(value) + 60 for value in data.values)
    return data.codes.nbytes + words
