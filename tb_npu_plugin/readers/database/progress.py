"""How far the reading of a database is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

#: Share of the time that goes into reading rows.
_READING = 0.6


def size_of(path: Path) -> int:
    """Bytes of a file; 0 where it is gone."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


class Steps:
    """Tells progress in bytes of the file: as the rows are read, then as the events are made of them."""

    def __init__(self, size: int, tell: Callable[[int], None]) -> None:
        self._size, self._tell, self._told = size, tell, 0
        self.rows, self._read = 0, 0

    def read(self, count: int) -> None:
        """So many more rows were read."""
        self._read += count
        self._to(_READING * min(self._read / self.rows, 1) if self.rows else 0)

    def made(self, share: float) -> None:
        """So much of the events was made, 0 to 1."""
        self._to(_READING + (1 - _READING) * share)

    def _to(self, share: float) -> None:
        reached = round(self._size * share)
        if reached > self._told:
            self._tell(reached - self._told)
            self._told = reached
