"""Turns columns of text cells into numpy columns, piece by piece.

A piece (`Cells`) belongs to one field and collects the chunks of one file, in a Spool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count as count_from
from itertools import islice
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.readers.shared.csv_header import Field
from tb_npu_plugin.readers.shared.damage import is_damaged, repaired
from tb_npu_plugin.readers.shared.figures import TOO_LONG
from tb_npu_plugin.readers.shared.packed_texts import PackedTexts
from tb_npu_plugin.readers.shared.spool import Growing, Spool
from tb_npu_plugin.schema.metrics import Guess
from tb_npu_plugin.tables import NULL_INT, Column, Data, Kind, StringColumn
from tb_npu_plugin.units import number, number_column, scaled_column

#: Cells that say "there is no value".
MISSING = frozenset(("", "N/A"))
#: float64 holds every whole number up to here.
_FLOAT_WHOLE = 2.0**53
#: Different values of a text column that are looked up among, as Python objects; so many ways to write them, twice.
MAX_CODES = 1 << 17
#: A chunk whose first cells occur so many times each is converted by its different cells.
_REPEATED = 4
_SAMPLE = 128
#: Values of a finished column that are converted at once.
_PIECE = 1 << 18

Mask = NDArray[np.bool_]


class _Codes(dict[str, int]):
    """Cell text -> code of its value, assigned when a text is first seen, from `first` on."""

    def __init__(self, unquote: bool, first: int = 0) -> None:
        super().__init__()
        self.values_seen: dict[str, int] = {}
        self.damaged: set[str] = set()  # raw cells that hold bytes that are no text
        self._unquote = unquote
        self._first = first

    def __missing__(self, cell: str) -> int:
        code = self[cell] = self._code(cell)
        return code

    def add_sound(self, cells: Sequence[str]) -> NDArray[np.int32]:
        """Codes of cells that differ from each other and hold no damage, as if they were looked up one by one."""
        values = list(map(str.strip, cells))
        if MISSING.isdisjoint(values):
            if self._unquote:
                values = [_unquoted(value) for value in values]
            seen = self.values_seen
            count = len(seen)
            if values and values[0] not in seen:  # so none may be: looking each up before costs as much again
                codes = range(self._first + count, self._first + count + len(values))
                seen.update(zip(values, codes))
                if len(seen) == count + len(values):
                    return np.arange(codes.start, codes.stop, dtype=np.int32)
                before = list(islice(seen, count))
                seen.clear()
                seen.update(zip(before, count_from(self._first)))
        return np.fromiter(map(self.__getitem__, cells), np.int32, len(cells))

    def _code(self, cell: str) -> int:
        value = cell.strip()
        if value in MISSING:
            return -1
        if not value.isascii() and is_damaged(value):
            self.damaged.add(cell)
            value = repaired(value)
        if self._unquote:
            value = _unquoted(value)
        return self.values_seen.setdefault(value, self._first + len(self.values_seen))


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value


class TextCells:
    """A text column. Cells of shape columns lose one pair of quotation marks, which the producer puts around them."""

    def __init__(self, field: Field, spool: Spool) -> None:
        self.field = field
        self._unquote = field.column.group == "shape"
        self._codes = _Codes(self._unquote)
        self._spool = spool
        self._column = spool.column(np.int32)
        self._last = np.zeros(0, dtype=np.int32)  # codes of the last chunk
        self._packed: PackedTexts | None = None  # texts that were too many to look up
        self._by_index = np.zeros(1 << 10, dtype=np.int32)  # code of the text of each index; see add_indices
        self.indexed = 0

    def add(self, cells: Sequence[str]) -> tuple[Mask, Mask]:
        """Take a chunk; masks of the unknown cells and of those that hold bytes that are no text."""
        self._begin()
        codes = np.fromiter(map(self._codes.__getitem__, cells), np.int32, len(cells))
        self._last = codes
        damaged = np.zeros(len(cells), dtype=np.bool_)
        if self._codes.damaged:
            damaged[:] = [cell in self._codes.damaged for cell in cells]
        return codes < 0, damaged

    @property
    def is_full(self) -> bool:
        """The next chunk begins with texts put away, and indices of them are good no more."""
        return len(self._codes.values_seen) > MAX_CODES

    @property
    def has_many_indices(self) -> bool:
        """There are many more than values: they should be forgotten."""
        return self.indexed > 2 * MAX_CODES

    def add_indices(self, indices: NDArray[np.int32], new: Sequence[str]) -> None:
        """Take a chunk of sound cells: indices of texts, those seen before in the order in which they came, then
        `new`. `indexed` counts them all."""
        self._begin()
        count = self.indexed + len(new)
        if count > len(self._by_index):
            self._by_index = np.resize(self._by_index, 2 * count)
        self._by_index[self.indexed : count] = self._codes.add_sound(new)
        self.indexed = count
        self._last = self._by_index[indices]

    def forget_indices(self) -> None:
        """The next index is 0 again."""
        self.indexed = 0

    def drop(self, rows: Mask) -> None:
        """Leave rows of the last chunk out."""
        self._last = self._last[~rows]

    def _begin(self) -> None:
        """Before a chunk."""
        self._column.append(self._last)
        if self.is_full:
            self._pack()
        if len(self._codes) > 2 * MAX_CODES:
            self._codes.clear()  # costs time alone: the values keep their codes

    def result(self) -> tuple[Column, Data]:
        """The whole column; a guessed one becomes figures if all its values are."""
        self._column.append(self._last)
        column = self.field.column
        as_figures = self.field.guess is Guess.FIGURES
        if self._packed is None:
            values: Sequence[str] = list(self._codes.values_seen)
            numbers, bad = number_column(values) if as_figures else (np.zeros(0), np.ones(1, dtype=np.bool_))
            figures = None if bad.any() else numbers
        else:
            self._pack()
            values, figures = self._packed.texts(), self._packed.figures()
        codes = self._column.values()
        if as_figures and figures is not None:
            by_code = np.append(figures, np.nan)  # code -1 is the last
            return column, _converted(codes, self._spool.column(np.float64), lambda part: by_code[part])
        if self._packed is not None:
            same = self._packed.same()
            if same is not None:
                by_code = np.append(same, np.int32(-1))
                codes = _converted(codes, self._spool.column(np.int32), lambda part: by_code[part])
        return replace(column, kind=Kind.TEXT), StringColumn(codes, values)

    def _pack(self) -> None:
        """Put the texts seen so far away, and look up among those to come only."""
        if self._packed is None:
            self._packed = PackedTexts(self._spool, self.field.guess is Guess.FIGURES)
        self._packed.append(list(self._codes.values_seen))
        self._codes = _Codes(self._unquote, len(self._packed))


class NumberCells:
    """A column of figures: int64 for times, sizes and counts, float64 otherwise."""

    def __init__(self, field: Field, spool: Spool) -> None:
        self.field = field
        self._is_int = field.column.kind.is_int and field.guess is Guess.NOTHING
        self.dtype = np.int64 if self._is_int else np.float64
        self._null = NULL_INT if self._is_int else np.nan
        self._spool = spool
        self._column = spool.column(self.dtype)
        self._last: NDArray[Any] = np.zeros(0, self.dtype)  # values of the last chunk

    def add(self, cells: Sequence[str]) -> tuple[Mask, Mask]:
        """Take a chunk; masks of the unknown cells (bad ones are unknown too) and of the bad ones."""
        if len(set(cells[:_SAMPLE])) * _REPEATED > min(len(cells), _SAMPLE):
            values, unknown, bad = self._values(cells)
        else:
            distinct = set(cells)
            place = dict(zip(distinct, range(len(distinct))))
            rows = np.fromiter(map(place.__getitem__, cells), np.intp, len(cells))
            values, unknown, bad = (part[rows] for part in self._values(list(distinct)))
        self._column.append(self._last)
        self._last = values
        return unknown | bad, bad

    def add_values(self, values: NDArray[Any]) -> None:
        """Take a chunk of sound cells, converted."""
        self._column.append(self._last)
        self._last = values

    def _values(self, cells: Sequence[str]) -> tuple[NDArray[Any], Mask, Mask]:
        """The values; masks of the cells that say that there is none, and of the bad ones."""
        unknown = np.zeros(len(cells), dtype=np.bool_)
        joined = "".join(cells)
        if "N/A" not in joined and "" not in cells and not _has_space(joined):
            values, bad = self._parse(cells)
            values[bad] = self._null
            return values, unknown, bad
        stripped = list(map(str.strip, cells))
        unknown[:] = list(map(MISSING.__contains__, stripped))
        bad = np.zeros(len(cells), dtype=np.bool_)
        values = np.full(len(cells), self._null, dtype=self.dtype)
        there = np.flatnonzero(~unknown)
        if len(there) == len(cells):
            values, bad = self._parse(stripped)
        elif len(there):
            values[there], bad[there] = self._parse([stripped[row] for row in there.tolist()])
        values[bad] = self._null
        return values, unknown, bad

    def _parse(self, texts: Sequence[str]) -> tuple[NDArray[Any], Mask]:
        if self._is_int and self.field.column.kind is Kind.INT:
            values, bad = scaled_column(texts, 1)
            if not "".join(texts).isdigit():
                bad = bad | np.fromiter((not is_whole(text) for text in texts), np.bool_, len(texts))
            return values, bad
        if self._is_int:
            values, bad = scaled_column(texts, int(self.field.factor))
            return values, bad if self.takes(values) else bad | self._impossible(values)
        floats, bad = number_column(texts)
        return floats * self.field.factor, bad

    @property
    def has_limits(self) -> bool:
        """Some figures are none that it may hold."""
        column = self.field.column
        return self._is_int and (column.kind is Kind.TIME or (column.kind is Kind.DURATION and column.required))

    def takes(self, values: NDArray[Any]) -> bool:
        """All of these, known or not, are what it may hold."""
        return not (self.has_limits and self._impossible(values).any())

    def _impossible(self, values: NDArray[np.int64]) -> Mask:
        """A moment at or before 1970: broken rows hold 0. How long something took, where a row needs that: less than
        nothing, or ages."""
        if self.field.column.kind is Kind.TIME:
            return np.asarray((values <= 0) & (values != NULL_INT))
        return np.asarray((values < 0) | (values >= TOO_LONG))

    def drop(self, rows: Mask) -> None:
        """Leave rows of the last chunk out."""
        self._last = self._last[~rows]

    def result(self) -> tuple[Column, Data]:
        """The whole column; guessed counts with fractions become plain figures."""
        self._column.append(self._last)
        values = self._column.values()
        if self.field.guess is not Guess.FRACTIONS:
            return self.field.column, values
        if not all(map(_are_whole, _pieces(values))):
            return replace(self.field.column, kind=Kind.FLOAT), values
        return self.field.column, _converted(values, self._spool.column(np.int64), _whole)


Cells = Union[TextCells, NumberCells]


def cells_for(field: Field, spool: Spool) -> Cells:
    """An empty column."""
    if field.column.kind is Kind.TEXT or field.guess is Guess.FIGURES:
        return TextCells(field, spool)
    return NumberCells(field, spool)


def _pieces(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    return (values[start : start + _PIECE] for start in range(0, len(values), _PIECE))


def _converted(values: NDArray[Any], out: Growing, convert: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[Any]:
    """A column made of another one, piece by piece."""
    for piece in _pieces(values):
        out.append(convert(piece))
    return out.values()


def _are_whole(values: NDArray[np.float64]) -> bool:
    """All known values are whole numbers that float64 holds exactly."""
    known = values[~np.isnan(values)]
    return not ((known != np.rint(known)).any() or np.abs(known).max(initial=0.0) > _FLOAT_WHOLE)


def _whole(values: NDArray[np.float64]) -> NDArray[np.int64]:
    unknown = np.isnan(values)
    return np.where(unknown, NULL_INT, np.where(unknown, 0.0, values).astype(np.int64))


def _has_space(text: str) -> bool:
    """Any white space."""
    return text.split(None, 1) != [text]


def is_whole(text: str) -> bool:
    """A number without a fraction: "3", "3.0", "1e3"; a text that is no number counts as whole."""
    if text.isdigit():
        return True
    value = number(text)
    return value is None or value == int(value)
