"""Stores many distinct strings in two arrays instead of Python objects, and orders strings naturally."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Union, overload

import numpy as np
from numpy.typing import NDArray

Blob = Union[bytes, bytearray, memoryview]

_DIGITS = re.compile("([0-9]+)")
#: Below every other character of a text, so that "a" sorts before "a1", and both before "ab".
_END, _NUMBER, _LENGTHS = "\x01", "\x02", 3
_LONGEST = 0xD000
#: Pieces of a blob that are joined, or decoded, in one go: a memoryview takes more memory than most strings.
_PIECES = 1 << 14
#: Copying a gap of this many bytes costs less than a slice.
_PASSED = 256


def natural_key(text: str) -> str:
    """Sort key that puts "step 9" before "step 10" and ignores case; equal only for equal strings."""
    parts = _DIGITS.split(text.casefold())
    parts[1::2] = map(_number_key, parts[1::2])
    return "".join((*parts, _END, text))


def natural_order(texts: Sequence[str]) -> NDArray[np.int32]:
    """Indices of the texts in natural order; equal texts keep their order."""
    keys = list(map(natural_key, texts))
    return np.fromiter(sorted(range(len(keys)), key=keys.__getitem__), np.int32, len(keys))


@lru_cache(maxsize=1 << 14)
def _number_key(digits: str) -> str:
    """Sort key of a number: fewer digits first."""
    digits = digits.lstrip("0")
    return f"{_NUMBER}{chr(_LENGTHS + min(len(digits), _LONGEST))}{digits}"


class TextList(Sequence[str]):
    """A list of strings, decoded on access. blob: their UTF-8, concatenated. ends: int64, one more than strings; string
    i is blob[ends[i] : ends[i + 1]]."""

    __slots__ = ("blob", "ends")

    def __init__(self, blob: Blob, ends: NDArray[np.int64]) -> None:
        self.blob = memoryview(blob)
        self.ends = ends

    @staticmethod
    def of(texts: Iterable[str]) -> TextList:
        """Pack strings, or return those that are packed; lone surrogates become "?"."""
        if isinstance(texts, TextList):
            return texts
        parts = [text.encode("utf-8", "replace") for text in texts]
        ends = np.zeros(len(parts) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, parts), dtype=np.int64, count=len(parts)), out=ends[1:])
        return TextList(b"".join(parts), ends)

    def __len__(self) -> int:
        return len(self.ends) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            return self._range(start, max(start, stop)) if step == 1 else [self[i] for i in range(start, stop, step)]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(index)
        return str(self.blob[int(self.ends[index]) : int(self.ends[index + 1])], "utf-8")

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _PIECES):
            yield from self._range(start, min(start + _PIECES, len(self)))

    def _range(self, start: int, stop: int) -> list[str]:
        """Adjacent strings."""
        ends = self.ends[start : stop + 1]
        first = int(ends[0])
        piece = bytes(self.blob[first : int(ends[-1])])
        bounds = (ends - first).tolist()
        if not piece.isascii():
            return [piece[begin:end].decode() for begin, end in zip(bounds, bounds[1:])]
        text = piece.decode()
        return [text[begin:end] for begin, end in zip(bounds, bounds[1:])]

    def __eq__(self, other: object) -> bool:
        """Equal to any sequence of the same strings."""
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other))

    __hash__ = None  # type: ignore[assignment]

    def pick(self, indices: NDArray[Any]) -> list[str]:
        """The strings at these indices, decoded."""
        bounds = zip(self.ends[indices].tolist(), self.ends[indices + 1].tolist())
        return [str(self.blob[start:stop], "utf-8") for start, stop in bounds]

    def take(self, indices: NDArray[Any]) -> TextList:
        """The strings at these indices, in the given order."""
        chosen = np.asarray(indices)
        starts, stops = self.ends[chosen], self.ends[chosen + 1]
        ends = np.zeros(len(starts) + 1, dtype=np.int64)
        np.cumsum(stops - starts, out=ends[1:])
        # Copy runs of adjacent strings as one piece.
        heads = np.flatnonzero(np.append(True, starts[1:] != stops[:-1])) if len(starts) else chosen
        lasts = np.append(heads[1:] - 1, len(starts) - 1) if len(starts) else chosen
        pieces = (
            (starts[heads[low : low + _PIECES]], stops[lasts[low : low + _PIECES]])
            for low in range(0, len(heads), _PIECES)
        )
        joined = [_join_pieces(self.blob, *piece) for piece in pieces]
        return TextList(b"".join(joined), ends)


def _join_pieces(blob: memoryview, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> bytes:
    """Concatenate the pieces blob[starts[i] : stops[i]] of a blob; at least one."""
    gaps, first, last = starts[1:] - stops[:-1], int(starts[0]), int(stops[-1])
    if 0 < last - first <= _PASSED * len(starts) and (gaps >= 0).all():
        lengths = np.empty(2 * len(starts) - 1, dtype=np.int64)
        lengths[::2], lengths[1::2] = stops - starts, gaps
        kept = np.repeat(np.arange(len(lengths)) % 2 == 0, lengths)
        return bytes(np.frombuffer(blob[first:last], dtype=np.uint8)[kept])
    return b"".join([blob[start:stop] for start, stop in zip(starts.tolist(), stops.tolist())])
