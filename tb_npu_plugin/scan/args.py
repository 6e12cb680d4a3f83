"""Reads the args of trace events at their offsets in the file."""

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

#: Bytes per read when many args are read in file order.
WINDOW = 1 << 20
#: Args with larger gaps are read one by one.
_MAX_GAP = 4096
#: Larger integers and numbers with more digits are returned as texts, as JavaScript would round them.
_MAX_SAFE_INT = 2**53


class ArgsFile:
    """Random access to the args in one file; a context manager."""

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
        """These bytes; fewer at the end of the file."""
        return os.pread(self._file.fileno(), length, offset)

    def each(self, offsets: NDArray[np.int64], lengths: NDArray[np.int64]) -> Iterator[bytes]:
        """The bytes at each offset; empty for negative offsets. Fast in file order."""
        starts, sizes = offsets.tolist(), lengths.tolist()
        gaps = [*(after - start for start, after in zip(starts, starts[1:])), _MAX_GAP]
        for offset, length, gap in zip(starts, sizes, gaps):
            if offset < 0:
                yield b""
                continue
            local = offset - self._start
            if local < 0 or local + length > len(self._data):
                # Reading across a large gap would cost more than a separate read.
                self._start, local = offset, 0
                self._data = self.read(offset, length if gap >= _MAX_GAP else max(length, WINDOW))
            yield self._data[local : local + length]


def read_object(data: bytes) -> dict[str, Any] | None:
    """Args with plain numbers: as `decode`, but faster and not exact."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return decode(data)
    return found if isinstance(found, dict) else None


def decode(data: bytes) -> dict[str, Any] | None:
    """Args as an object; None if the bytes are not one. Accepts NaN, N/A and control characters. Numbers that float64
    or JavaScript cannot hold exactly are returned as texts."""
    found = _decode(data)
    return _decode(tokens.repair_object(data)) if found is None else found


def _decode(data: bytes) -> dict[str, Any] | None:
    try:
        found = _DECODER.decode(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _exact_int(text: str) -> int | str:
    if len(text) > 17:
        return text
    value = int(text)
    return value if abs(value) < _MAX_SAFE_INT else text


def _exact_float(text: str) -> float | str:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        return text
    digits = text.partition("e")[0].partition("E")[0].replace(".", "").strip("-0")
    kept = repr(value).partition("e")[0].replace(".", "").strip("-0")
    return value if digits == kept else text


_DECODER = json.JSONDecoder(strict=False, parse_int=_exact_int, parse_float=_exact_float, parse_constant=str)
