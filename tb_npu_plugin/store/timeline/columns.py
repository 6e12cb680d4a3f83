"""Columns that are written in pieces as .npy files, so that no column must fit the memory."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

_MAGIC = b"\x93NUMPY\x01\x00"
#: Bytes before the data; the format requires a multiple of 64.
_HEADER = 128


class ColumnFile:
    """A one-dimensional .npy file that grows. `close` writes the final length into its header."""

    def __init__(self, folder: Path, name: str, dtype: DTypeLike) -> None:
        self.dtype = np.dtype(dtype)
        self.count = 0
        self._file: BinaryIO = (folder / f"{name}.npy").open("wb")
        self._file.write(bytes(_HEADER))

    def append(self, values: NDArray[np.generic]) -> None:
        """Append values, converted to this column's type."""
        self._file.write(np.ascontiguousarray(values, dtype=self.dtype).data)
        self.count += len(values)

    def close(self) -> None:
        """Finish the file."""
        with self._file:
            text = str({"descr": self.dtype.str, "fortran_order": False, "shape": (self.count,)})
            self._file.seek(0)
            length = _HEADER - len(_MAGIC) - 2
            self._file.write(_MAGIC + struct.pack("<H", length) + text.ljust(length - 1).encode() + b"\n")
