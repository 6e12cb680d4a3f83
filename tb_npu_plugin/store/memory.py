"""Tables that were loaded, kept while there is room for them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from tb_npu_plugin.tables import Table, Text

#: Bytes of tables that one server keeps.
LIMIT = 1 << 30


class Kept:
    """Tables by name, the least recently used out first when they exceed `limit` bytes. Thread-safe."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._tables: OrderedDict[tuple[str, str], tuple[Table, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: tuple[str, str], load: Callable[[], Table | None]) -> Table | None:
        """The table of this key, loaded if it is not there. Two threads may load the same one; that does no harm."""
        with self._lock:
            found = self._tables.get(key)
            if found is not None:
                self._tables.move_to_end(key)
                return found[0]
        table = load()
        if table is not None:
            with self._lock:
                size = table_bytes(table)
                self._bytes += size - self._tables.pop(key, (table, 0))[1]
                self._tables[key] = (table, size)
                while self._bytes > self._limit and len(self._tables) > 1:
                    self._bytes -= self._tables.popitem(last=False)[1][1]
        return table


def table_bytes(table: Table) -> int:
    """About what a table takes in memory."""
    total = 0
    for data in table.data.values():
        if isinstance(data, Text):
            total += data.codes.nbytes + sum(len(value) + 60 for value in data.values)
        else:
            total += data.nbytes
    return total
