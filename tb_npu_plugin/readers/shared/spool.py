"""Growing columns that move from memory to a file, so that memory does not grow with the number of rows."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, Optional

import numpy as np
from numpy.typing import DTypeLike, NDArray

#: Most bytes of a column in memory.
IN_MEMORY = 1 << 20


class Spool:
    """Creates columns with files in one folder, which the caller removes; without a folder all stay in memory."""

    def __init__(self, folder: Optional[Path] = None) -> None:
        self.folder = folder
        self._numbers = count()

    def column(self, dtype: DTypeLike) -> GrowingColumn:
        """Create an empty column."""
        path = self.folder / f"column-{next(self._numbers)}" if self.folder is not None else None
        return GrowingColumn(np.dtype(dtype), path)


class GrowingColumn:
    """A column to which arrays are appended."""

    def __init__(self, dtype: np.dtype[Any], path: Optional[Path]) -> None:
        self._dtype = dtype
        self._path = path
        self._file: Optional[BinaryIO] = None
        self._parts: list[NDArray[Any]] = []
        self._size = 0

    def append(self, values: NDArray[Any]) -> None:
        """Append values."""
        self._parts.append(values.astype(self._dtype, copy=False))
        self._size += self._parts[-1].nbytes
        if self._path is not None and self._size > IN_MEMORY:
            self._write()

    def values(self) -> NDArray[Any]:
        """Return all values, read-only and memory-mapped if in a file. Nothing can be appended afterwards."""
        if self._file is None:
            return np.concatenate([np.zeros(0, self._dtype), *self._parts])
        self._write()
        self._file.close()
        assert self._path is not None
        return np.asarray(np.memmap(self._path, self._dtype, "r"))

    def _write(self) -> None:
        if self._file is None:
            assert self._path is not None
            self._file = self._path.open("xb", buffering=0)
        for part in self._parts:
            left = np.ascontiguousarray(part).data.cast("B")
            while left:  # a disk that fills up writes a part and refuses the rest
                left = left[self._file.write(left) :]
        self._parts.clear()
        self._size = 0
