"""Progress of reading a database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

#: Share of the time for reading rows; the rest is for building tables or events.
_READING = 0.6


def size_of(path: Path) -> int:
    """Return the bytes of a file; 0 if stat fails."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


class DatabaseProgress:
    """Reports progress in bytes of the file, for the rows read and then for the parts built from them."""

    def __init__(self, size: int, report: Callable[[int], None]) -> None:
        self._size, self._report, self._reported = size, report, 0
        self.total_rows, self._read = 0, 0

    def count_rows(self, count: int) -> None:
        """Count more rows as read."""
        self._read += count
        self._advance(_READING * min(self._read / self.total_rows, 1) if self.total_rows else 0)

    def set_built(self, share: float) -> None:
        """Set the share of parts built, 0 to 1."""
        self._advance(_READING + (1 - _READING) * share)

    def _advance(self, share: float) -> None:
        reached = round(self._size * share)
        if reached > self._reported:
            self._report(reached - self._reported)
            self._reported = reached
