"""Files of a timeline folder: arrays as .npy, texts as one blob with offsets."""

from __future__ import annotations

import ctypes
import mmap
import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.texts import TextList

# Maps files without keeping a descriptor: a timeline has 50 files, and a process may often open only 256 or 1024.
#
# Python's mmap keeps a duplicate of the descriptor as long as the map (up to 3.12 it cannot do without).

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


#: Texts that are searched at once.
_PIECE = 1 << 15
#: Header of a .npy file with one dimension.
_HEADER = re.compile(rb"\x93NUMPY\x01\x00v\x00\{'descr': '([^']+)', 'fortran_order': False, 'shape': \((\d+),\)")
HEADER_BYTES = 128


def save(folder: Path, name: str, array: NDArray[Any]) -> None:
    """Write one array."""
    np.save(folder / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)


def load(folder: Path, name: str) -> NDArray[Any]:
    """One array, read-only. Raises OSError or ValueError if it is missing or damaged."""
    with (folder / f"{name}.npy").open("rb", buffering=0) as file:
        data = read_or_map(file)
    header = _HEADER.match(data[:HEADER_BYTES].tobytes())  # numpy's parser takes longer than all the rest
    if header is None:
        raise ValueError(f"{name}.npy has another header")
    dtype, count = np.dtype(header[1].decode()), int(header[2])
    values = data[HEADER_BYTES : HEADER_BYTES + count * dtype.itemsize]
    if len(values) < count * dtype.itemsize:
        raise ValueError(f"{name}.npy is cut")
    return values.view(dtype)


def save_texts(folder: Path, name: str, texts: Sequence[str]) -> None:
    """Write a list of texts."""
    packed = TextList.of(texts)
    save(folder, f"{name}_ends", packed.ends)
    texts_path(folder, name).write_bytes(packed.blob)


def texts_path(folder: Path, name: str) -> Path:
    """File with the concatenated texts of a list; `<name>_ends.npy` holds their end offsets."""
    return folder / f"{name}.txt"


def compact(codes: NDArray[Any], count: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """(distinct codes, ascending; index of each code among them). codes: 0 to count - 1."""
    occurs = np.zeros(count, dtype=bool)
    occurs[codes] = True
    place = np.cumsum(occurs, dtype=np.int32) - 1
    return np.flatnonzero(occurs), place[codes]


class Texts:
    """A list of texts in a file, decoded on access."""

    def __init__(self, folder: Path, name: str) -> None:
        self._ends = load(folder, f"{name}_ends")
        self._path = texts_path(folder, name)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, index: int) -> str:
        if not 0 <= index < len(self):
            raise IndexError(index)
        start, end = int(self._ends[index]), int(self._ends[index + 1])
        return str(self._blob[start:end], "utf-8")

    def take(self, indices: NDArray[Any]) -> list[str]:
        """The texts at these indices, which must be valid."""
        blob = self._blob
        spans = zip(self._ends[indices].tolist(), self._ends[indices + 1].tolist())
        return [str(blob[start:end], "utf-8") for start, end in spans]

    def size_of(self, indices: NDArray[Any]) -> int:
        """Bytes of the texts at these indices."""
        return int((self._ends[indices + 1] - self._ends[indices]).sum())

    def load(self) -> None:
        """Map the texts now, so that their file may be removed."""
        _ = self._blob

    @cached_property
    def _blob(self) -> memoryview:
        with self._path.open("rb", buffering=0) as file:
            return read_or_map(file).data

    def with_match(self, patterns: Sequence[re.Pattern[bytes]]) -> NDArray[np.int64]:
        """Indices of the texts in which a match of one of the patterns begins. Decodes none of them."""
        found = [match.start() for pattern in patterns for match in pattern.finditer(self._blob)]
        starts = np.array(found, dtype=np.int64)
        return np.unique(np.searchsorted(self._ends, starts, side="right") - 1)

    def containing(self, part: str) -> NDArray[np.bool_]:
        """Mask of the texts that contain `part`, ignoring case. Keeps no decoded text."""
        wanted, mask = part.casefold(), np.zeros(len(self), dtype=np.bool_)
        for first in range(0, len(self), _PIECE):
            ends = self._ends[first : first + _PIECE + 1]
            mask[first : first + _PIECE] = _containing(bytes(self._blob[ends[0] : ends[-1]]), ends - ends[0], wanted)
        return mask

    def equal(self, text: str) -> NDArray[np.bool_]:
        """Mask of the texts that equal `text`."""
        encoded = text.encode("utf-8", "replace")
        mask = np.diff(self._ends) == len(encoded)
        for index in np.flatnonzero(mask).tolist():
            start = int(self._ends[index])
            mask[index] = self._blob[start : start + len(encoded)] == encoded
        return np.asarray(mask, dtype=np.bool_)


def _containing(data: bytes, ends: NDArray[Any], wanted: str) -> NDArray[np.bool_]:
    """Mask of texts, concatenated in `data`, that contain `wanted`, ignoring case."""
    if not wanted or not data.isascii():
        texts = (data[start:end].decode("utf-8").casefold() for start, end in zip(ends.tolist(), ends[1:].tolist()))
        return np.array([wanted in text for text in texts], dtype=np.bool_)
    mask = np.zeros(len(ends) - 1, dtype=np.bool_)
    if wanted.isascii():
        hits = np.array(list(_positions(data.lower(), wanted.encode())), dtype=np.int64)
        text = np.searchsorted(ends, hits, side="right") - 1
        mask[text[hits + len(wanted) <= ends[text + 1]]] = True  # others lie in two texts
    return mask


def _positions(data: bytes, part: bytes) -> Iterator[int]:
    """Where `part` occurs."""
    found = data.find(part)
    while found >= 0:
        yield found
        found = data.find(part, found + 1)
