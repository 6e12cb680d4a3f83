"""Reads chosen keys of the args of many events into columns, in C where it is built."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Union

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.scan import native_or_python
from tb_npu_plugin.scan.args import WINDOW, ArgsFile, read_object
from tb_npu_plugin.tables import NULL_INT, IntArray

if TYPE_CHECKING:
    from tb_npu_plugin.scan import _args

    Reader = Union[_args.Reader, "PythonReader"]

Index = NDArray[np.int64]
#: Rows per step, as the columns of a trace are mapped files.
_PIECE = 1 << 16


@dataclass(frozen=True)
class Key:
    """One key of args to read. texts: file that gets its distinct texts, concatenated in UTF-8; None for an integer
    key."""

    name: str
    texts: IO[bytes] | None = None


@dataclass(frozen=True)
class ArgsColumns:
    """Values by index of the key.

    Attributes:
        values: Per key int64 for each row that requests it: the integer, or the index of the text in order of first
            use. NULL_INT for a missing value, another type or an empty text.
        ends: Per key int64 text offsets: text i is [ends[i], ends[i + 1]).
    """

    values: list[IntArray]
    ends: list[IntArray]


def read_columns(
    args: ArgsFile | None, offsets: Index, lengths: Index, wanted: NDArray[np.uint8], keys: Sequence[Key]
) -> ArgsColumns:
    """Read keys of the args at these offsets, which must be in file order. Args that are missing (offset -1, no file)
    or not a JSON object have no values.

    Args:
        wanted: Per row a bit mask of the requested keys; bit 0 is the first key. Rows with 0 are skipped.
        keys: At most 8 keys.
    """
    reader = _reader(keys)
    columns = [np.full(int(np.count_nonzero(wanted & bit)), NULL_INT) for bit in _key_bits(keys)]
    filled = [0] * len(keys)
    for begin in range(0, len(wanted) if args is not None else 0, _PIECE):
        rows = np.flatnonzero(wanted[begin : begin + _PIECE]) + begin
        bits, places, sizes = wanted[rows], offsets[rows], lengths[rows]
        values = np.full((len(rows), len(keys)), NULL_INT)
        present = np.flatnonzero(places >= 0)
        for first, last, data in _windows(args, places[present], sizes[present]):
            chosen = present[first:last]
            values[chosen] = _read_rows(reader, data, places[chosen], sizes[chosen], bits[chosen], keys)
            _write_texts(reader, keys)
        for key, bit in enumerate(_key_bits(keys)):
            part = values[np.flatnonzero(bits & bit), key]
            columns[key][filled[key] : filled[key] + len(part)] = part
            filled[key] += len(part)
    ends = [np.append(0, np.frombuffer(reader.ends(key), dtype=np.int64)) for key in range(len(keys))]
    return ArgsColumns(columns, ends)


def _key_bits(keys: Sequence[Key]) -> list[np.uint8]:
    return [np.uint8(1 << number) for number in range(len(keys))]


def _read_rows(
    reader: Reader, data: bytes, offsets: Index, lengths: Index, wanted: NDArray[np.uint8], keys: Sequence[Key]
) -> NDArray[np.int64]:
    """Values per row and key. data: bytes of the file from the first row's args on."""
    lengths = lengths.astype(np.int64, copy=False)
    values = np.empty((len(offsets), len(keys)), dtype=np.int64)
    base, row = int(offsets[0]), 0
    while row < len(offsets):
        done, found = reader.read(data, base, offsets[row:], lengths[row:], wanted[row:])
        values[row : row + done] = np.frombuffer(found, dtype=np.int64).reshape(-1, len(keys))[:done]
        row += done
        if row < len(offsets):
            start = int(offsets[row]) - base
            values[row] = _read_row(reader, data[start : start + int(lengths[row])], int(wanted[row]), keys)
            row += 1
    return values


def _windows(args: ArgsFile | None, offsets: Index, lengths: Index) -> Iterator[tuple[int, int, bytes]]:
    """(first row, end row, bytes of the file from the first row's args on) of consecutive pieces of the file."""
    stops = offsets + lengths
    first = 0
    while args is not None and first < len(offsets):
        start = int(offsets[first])
        last = max(first + 1, int(np.searchsorted(stops, start + WINDOW, side="right")))
        yield first, last, args.read(start, int(stops[last - 1]) - start)
        first = last


def _write_texts(reader: Reader, keys: Sequence[Key]) -> None:
    for number, key in enumerate(keys):
        if key.texts is not None:
            key.texts.write(reader.take(number))


def _read_row(reader: Reader, data: bytes, wanted: int, keys: Sequence[Key]) -> list[int]:
    """The values of one row, read with read_object."""
    found = (read_object(data) or {}) if wanted else {}
    out = [NULL_INT] * len(keys)
    for number, key in enumerate(keys):
        value = found.get(key.name) if wanted >> number & 1 else None
        if key.texts is not None:
            if isinstance(value, str) and value:
                out[number] = reader.index(number, value.encode("utf-8", "replace"))
        elif isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63:
            out[number] = value
    return out


class PythonReader:
    """As _args.Reader, but leaves every row to read_object."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self._known: list[dict[bytes, int]] = [{} for _ in keys]
        self._new: list[list[bytes]] = [[] for _ in keys]

    def read(self, data: bytes, base: int, offsets: Index, lengths: Index, wanted: Any) -> tuple[int, Any]:
        """(rows done, int64 per row and key). May stop at a row that read_object must read."""
        return 0, b""

    def index(self, key: int, text: bytes) -> int:
        """Index of a text, added if new."""
        known = self._known[key]
        found = known.get(text)
        if found is None:
            found = known[text] = len(known)
            self._new[key].append(text)
        return found

    def take(self, key: int) -> bytes:
        """Concatenated texts added since the last call."""
        out = b"".join(self._new[key])
        self._new[key].clear()
        return out

    def ends(self, key: int) -> Any:
        """int64: end offset of each text."""
        known = self._known[key]
        return np.cumsum(np.fromiter(map(len, known), dtype=np.int64, count=len(known)))


def _reader(keys: Sequence[Key]) -> Reader:
    def load_native() -> Reader:
        from tb_npu_plugin.scan import _args

        return _args.Reader(secrets.randbits(64), tuple((key.name.encode(), key.texts is not None) for key in keys))

    return native_or_python(load_native, lambda: PythonReader(keys))
