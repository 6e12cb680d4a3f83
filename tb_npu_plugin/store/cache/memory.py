"""In-memory caches of loaded tables, columns, connections and timelines."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from numpy.typing import NDArray

from tb_npu_plugin.store.stages import TABLES_FILE
from tb_npu_plugin.tables import Data, PickedColumns, StoredColumns, StringColumn, StringDictionary, Table

if TYPE_CHECKING:
    import duckdb

    from tb_npu_plugin.store.timeline.open import Timeline

#: Limit of the table cache in bytes.
TABLE_BYTES = 1 << 29
#: Limit of the cache of long tables' columns in bytes: 6 to 12 columns of 5 million rows.
COLUMN_BYTES = 1 << 28
#: Number of DuckDB files that stay open.
CONNECTIONS = 4
#: Number of timelines that stay open. They hold no descriptors (store/timeline/files.py).
OPEN_TIMELINES = 64

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Evicts the least recently used values when the sum of sizes exceeds `limit`. Thread-safe."""

    def __init__(self, limit: int, size_of: Callable[[V], int]) -> None:
        self._limit = limit
        self._size_of = size_of
        self._lock = threading.Lock()
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._loading: dict[K, Future[V]] = {}
        self._size = 0

    def get(self, key: K, load: Callable[[], V]) -> V:
        """The value of this key, loaded if it is missing. One thread loads it; others that ask meanwhile wait and get its
        value or its error. None is not cached. `load` must not ask for the same key."""
        with self._lock:
            found = self._values.get(key)
            if found is not None:
                self._values.move_to_end(key)
                return found[0]
            running = self._loading.get(key)
            if running is None:
                future = self._loading[key] = Future()
        if running is not None:
            return running.result()
        try:
            value = load()
            self._store(key, value)
            future.set_result(value)
            return value
        except BaseException as error:
            future.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._loading[key]

    def _store(self, key: K, value: V) -> None:
        if value is None:
            return
        size = self._size_of(value)
        with self._lock:
            self._values[key] = (value, size)
            self._size += size
            while self._size > self._limit and len(self._values) > 1:
                self._size -= self._values.popitem(last=False)[1][1]

    @property
    def size(self) -> int:
        """Sum of the sizes of all values."""
        return self._size

    def drop(self, key: K) -> None:
        """Remove a value."""
        with self._lock:
            self._size -= self._values.pop(key, (None, 0))[1]


class MemoryCache:
    """In-memory caches of the spans that one server opened."""

    def __init__(self) -> None:
        self.connections: LruCache[Path, duckdb.DuckDBPyConnection] = LruCache(CONNECTIONS, lambda connection: 1)
        self.columns: LruCache[tuple[Path, str, str], NDArray[Any]] = LruCache(
            COLUMN_BYTES, lambda column: column.nbytes
        )
        self.damaged: dict[Path, str] = {}  # table files that could not be read, and why
        self.tables: LruCache[tuple[str, str], Table | None] = LruCache(TABLE_BYTES, table_bytes)
        self.timelines: LruCache[str, Timeline] = LruCache(OPEN_TIMELINES, lambda timeline: 1)

    def forget(self, folder: Path) -> None:
        """Remove what was loaded from a dropped cache entry; a new entry may get the same name."""
        self.timelines.drop(folder.name)
        self.connections.drop(folder / TABLES_FILE)
        self.damaged.pop(folder / TABLES_FILE, None)


def table_bytes(table: Table | None) -> int:
    """Approximate memory of a table in bytes; columns that stay in a file count 0."""
    if table is None:
        return 0
    if isinstance(table.data, PickedColumns):
        return table.data.row_numbers.nbytes
    if isinstance(table.data, StoredColumns):
        return 0
    return sum(map(data_bytes, table.data.values()))


def data_bytes(data: Data) -> int:
    """Approximate memory of a column in bytes."""
    if not isinstance(data, StringColumn):
        return data.nbytes
    words = 0 if isinstance(data.values, StringDictionary) else sum(len(value) + 60 for value in data.values)
    return data.codes.nbytes + words
