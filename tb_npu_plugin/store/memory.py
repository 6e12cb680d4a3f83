"""What was loaded or made, kept while there is room for it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Generic, TypeVar

from tb_npu_plugin.tables import Table, Text

if TYPE_CHECKING:
    from tb_npu_plugin.store.timeline import Timeline

#: Bytes of tables that one server keeps.
TABLE_BYTES = 1 << 30
#: Timelines that stay open. Each holds some fifty files open, and a process may often have no more than 1024.
TIMELINES = 8

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(Generic[K, V]):
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

    def drop(self, key: K) -> None:
        """Forget a value."""
        with self._lock:
            self._size -= self._values.pop(key, (None, 0))[1]


class Memory:
    """What one server keeps of the spans that it opened."""

    def __init__(self) -> None:
        self.tables: Kept[tuple[str, str], Table | None] = Kept(TABLE_BYTES, table_bytes)
        self.timelines: Kept[str, Timeline] = Kept(TIMELINES, lambda timeline: 1)


def table_bytes(table: Table | None) -> int:
    """About what a table takes in memory."""
    total = 0
    for data in table.data.values() if table is not None else ():
        if isinstance(data, Text):
            total += data.codes.nbytes + sum(len(value) + 60 for value in data.values)
        else:
            total += data.nbytes
    return total
