"""Args of trace events, read from where they stand in the file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.scan import tokens

#: Bytes read at once when many args are read in file order.
WINDOW = 1 << 20
#: Args further apart than this are read one by one.
_FAR = 4096
#: Integers beyond this and numbers with more digits are texts in JSON: JavaScript would round them.
_SAFE = 2**53


class ArgsFile:
    """Random access to the args in one file. Use as a context manager."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        self._data = b""
        self._start = 0

    def __enter__(self) -> ArgsFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def stamp(self) -> tuple[int, int]:
        """(size, mtime_ns) of the open file."""
        status = os.fstat(self._file.fileno())
        return status.st_size, status.st_mtime_ns

    def read(self, offset: int, length: int) -> bytes:
        """Exactly these bytes, or fewer at the end of the file."""
        return os.pread(self._file.fileno(), length, offset)

    def each(self, offsets: NDArray[np.int64], lengths: NDArray[np.int64]) -> Iterator[bytes]:
        """The bytes at each of these places; fast when they are in file order. Empty where an offset is negative."""
        starts, sizes = offsets.tolist(), lengths.tolist()
        gaps = [*(after - start for start, after in zip(starts, starts[1:])), _FAR]
        for offset, length, gap in zip(starts, sizes, gaps):
            if offset < 0:
                yield b""
                continue
            local = offset - self._start
            if local < 0 or local + length > len(self._data):
                # What lies far apart is read alone: to read all that is between would cost more.
                self._start, local = offset, 0
                self._data = self.read(offset, length if gap >= _FAR else max(length, WINDOW))
            yield self._data[local : local + length]


def read_object(data: bytes) -> dict[str, Any] | None:
    """Args for computing with: as `decode` but fast, and numbers are numbers."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return decode(data)
    return found if isinstance(found, dict) else None


def decode(data: bytes) -> dict[str, Any] | None:
    """Args as an object; None where the bytes are none. NaN, N/A and control characters are forgiven; numbers stay
    exact: one that a float64 or JavaScript cannot hold becomes its text."""
    found = _decoded(data)
    return _decoded(tokens.repaired(data)) if found is None else found


def _decoded(data: bytes) -> dict[str, Any] | None:
    try:
        found = _DECODER.decode(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _exact_int(text: str) -> int | str:
    if len(text) > 17:
        return text
    value = int(text)
    return value if abs(value) < _SAFE else text


def _exact_float(text: str) -> float | str:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        return text
    digits = text.partition("e")[0].partition("E")[0].replace(".", "").strip("-0")
    kept = repr(value).partition("e")[0].replace(".", "").strip("-0")
    return value if digits == kept else text


_DECODER = json.JSONDecoder(strict=False, parse_int=_exact_int, parse_float=_exact_float, parse_constant=str)
