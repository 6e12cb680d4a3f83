"""Maps files without keeping a descriptor: a timeline has 50 files, and a process may often open only 256 or 1024.

Python's mmap keeps a duplicate of the descriptor as long as the map (up to 3.12 it cannot do without).
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Callable
from io import FileIO

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

#: Smaller files are read: that is faster, and a map takes whole pages.
MAP_FROM = 1 << 14


def read_or_map(file: FileIO) -> Bytes:
    """All bytes of an open file, read-only. They stay readable after it is closed and removed. Raises OSError."""
    size = os.fstat(file.fileno()).st_size
    if size < MAP_FROM:
        return np.frombuffer(os.pread(file.fileno(), size, 0), np.uint8)
    return _map(file.fileno(), size)


class _Map:
    """Mapped memory, which numpy keeps until no array uses it."""

    def __init__(self, address: int, size: int, unmap: Callable[[int, int], object]) -> None:
        self.__array_interface__ = {"data": (address, True), "shape": (size,), "typestr": "|u1", "version": 3}
        self._address, self._size, self._unmap = address, size, unmap

    def __del__(self) -> None:
        self._unmap(self._address, self._size)


def _mapper() -> Callable[[int, int], Bytes]:
    """Function of (descriptor, size): the system's mmap, or Python's where that cannot be called."""
    if os.name != "posix" or ctypes.sizeof(ctypes.c_long) != 8:  # `off_t` is long on 64-bit systems only
        return lambda file, size: np.frombuffer(mmap.mmap(file, size, access=mmap.ACCESS_READ), np.uint8)
    system = ctypes.CDLL(None, use_errno=True)
    system.mmap.restype = ctypes.c_void_p
    system.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    system.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

    def map_file(file: int, size: int) -> Bytes:
        address = system.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file, 0)
        if address == ctypes.c_void_p(-1).value:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return np.asarray(_Map(address, size, system.munmap))

    return map_file


_map = _mapper()
