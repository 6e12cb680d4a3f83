"""Converts columns of text cells into numpy columns, chunk by chunk.

A `Cells` object belongs to one field and collects its chunks in a Spool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.readers.shared.csv_header import Field
from tb_npu_plugin.readers.shared.damage import is_damaged, repair
from tb_npu_plugin.readers.shared.distinct_texts import DistinctTexts, PackedTexts, distinct_texts
from tb_npu_plugin.readers.shared.figures import TOO_LONG
from tb_npu_plugin.readers.shared.spool import GrowingColumn, Spool
from tb_npu_plugin.schema.metrics import Guess
from tb_npu_plugin.tables import NULL_INT, Column, Data, Kind, StringColumn
from tb_npu_plugin.units import is_whole, number_column, scaled_column

#: Cells without a value.
MISSING = frozenset(("", "N/A"))
#: float64 holds every whole number up to here.
_FLOAT_WHOLE = 2.0**53
#: Distinct values of a text column that are searched for equal ones; those before them are packed.
MAX_CODES = 1 << 17
#: If the first _SAMPLE cells of a chunk repeat this often on average, only its distinct cells are converted.
_REPEATED = 4
_SAMPLE = 128
#: Values of a finished column per conversion step.
_PIECE = 1 << 18

Mask = NDArray[np.bool_]


class _Codes(dict[str, int]):
    """Cell text -> code of its value."""

    def __init__(self, texts: DistinctTexts, unquote: bool) -> None:
        super().__init__()
        self.damaged: set[str] = set()  # raw cells with invalid UTF-8 or NUL
        self._texts = texts
        self._unquote = unquote

    def __missing__(self, cell: str) -> int:
        code = self[cell] = self._code(cell)
        return code

    def _code(self, cell: str) -> int:
        value = cell.strip()
        if value in MISSING:
            return -1
        if not value.isascii() and is_damaged(value):
            self.damaged.add(cell)
            value = repair(value)
        return self._texts.code(_unquoted(value) if self._unquote else value)


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value


class TextCells:
    """A text column. In shape columns, the producer's pair of quotation marks is removed.

    texts      texts since the last time that there were more than MAX_CODES
    is_quoted  whether each text stands in quotation marks of the producer
    """

    def __init__(self, field: Field, spool: Spool) -> None:
        self.field = field
        self.is_quoted = field.column.group == "shape"
        self.texts = distinct_texts()
        self._codes = _Codes(self.texts, self.is_quoted)
        self._packed = PackedTexts(spool, field.guess is Guess.FIGURES)
        self._spool = spool
        self._column = spool.column(np.int32)
        self._last = np.zeros(0, dtype=np.int32)  # codes of the last chunk

    def add(self, cells: Sequence[str]) -> tuple[Mask, Mask]:
        """Add a chunk. Returns masks of the empty cells and of the cells with invalid UTF-8 or NUL."""
        self.make_room()
        codes = np.fromiter(map(self._codes.__getitem__, cells), np.int32, len(cells))
        self.add_codes(codes)
        damaged = np.zeros(len(cells), dtype=np.bool_)
        if self._codes.damaged:
            damaged[:] = [cell in self._codes.damaged for cell in cells]
        return codes < 0, damaged

    def add_codes(self, codes: NDArray[np.int32]) -> None:
        """Add a chunk of codes of `texts`; -1 is unknown."""
        self._column.append(self._last)
        self._last = codes

    def make_room(self) -> None:
        """Pack the texts if there are more than MAX_CODES. To be called before each chunk."""
        if len(self.texts) > MAX_CODES:
            self._pack()
        if len(self._codes) > 2 * MAX_CODES:
            self._codes.clear()  # only a cache: the values keep their codes

    def drop(self, rows: Mask) -> None:
        """Leave rows of the last chunk out."""
        self._last = self._last[~rows]

    def result(self) -> tuple[Column, Data]:
        """Return the finished column; a guessed one becomes numeric if all its values are numbers."""
        self._column.append(self._last)
        self._pack()
        column, codes, figures = self.field.column, self._column.values(), self._packed.figures()
        if figures is not None:
            by_code = np.append(figures, np.nan)  # code -1 is the last entry
            return column, _convert(codes, self._spool.column(np.float64), lambda part: by_code[part])
        same = self._packed.same()
        if same is not None:
            first = np.append(same, np.int32(-1))
            codes = _convert(codes, self._spool.column(np.int32), lambda part: first[part])
        return replace(column, kind=Kind.TEXT), StringColumn(codes, self._packed.texts())

    def _pack(self) -> None:
        self._packed.append(*self.texts.take())
        self._codes.clear()


class NumberCells:
    """A numeric column: int64 for times, sizes and counts, float64 otherwise."""

    def __init__(self, field: Field, spool: Spool) -> None:
        self.field = field
        self._is_int = field.column.kind.is_int and field.guess is Guess.NOTHING
        self.dtype = np.int64 if self._is_int else np.float64
        self._null = NULL_INT if self._is_int else np.nan
        self._spool = spool
        self._column = spool.column(self.dtype)
        self._last: NDArray[Any] = np.zeros(0, self.dtype)  # values of the last chunk

    def add(self, cells: Sequence[str]) -> tuple[Mask, Mask]:
        """Add a chunk. Returns masks of the cells without a value (invalid ones included) and of the invalid cells."""
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
        """Add a chunk of converted values."""
        self._column.append(self._last)
        self._last = values

    def _values(self, cells: Sequence[str]) -> tuple[NDArray[Any], Mask, Mask]:
        """Return the values and masks of the empty and of the invalid cells."""
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
            return values, bad if self.accepts(values) else bad | self._impossible_times(values)
        floats, bad = number_column(texts)
        return floats * self.field.factor, bad

    @property
    def has_limits(self) -> bool:
        """Whether the column accepts only a range of values."""
        column = self.field.column
        return self._is_int and (column.kind is Kind.TIME or (column.kind is Kind.DURATION and column.required))

    def accepts(self, values: NDArray[Any]) -> bool:
        """Whether all values, unknown ones included, are in the column's range."""
        return not (self.has_limits and self._impossible_times(values).any())

    def _impossible_times(self, values: NDArray[np.int64]) -> Mask:
        """Mask of times at or before 1970 (broken rows hold 0), or of negative and TOO_LONG durations."""
        if self.field.column.kind is Kind.TIME:
            return np.asarray((values <= 0) & (values != NULL_INT))
        return np.asarray((values < 0) | (values >= TOO_LONG))

    def drop(self, rows: Mask) -> None:
        """Leave rows of the last chunk out."""
        self._last = self._last[~rows]

    def result(self) -> tuple[Column, Data]:
        """Return the finished column; guessed counts become float if one has a fraction."""
        self._column.append(self._last)
        values = self._column.values()
        if self.field.guess is not Guess.FRACTIONS:
            return self.field.column, values
        if not all(map(_are_whole, _split(values))):
            return replace(self.field.column, kind=Kind.FLOAT), values
        return self.field.column, _convert(values, self._spool.column(np.int64), _to_ints)


Cells = Union[TextCells, NumberCells]


def create_cells(field: Field, spool: Spool) -> Cells:
    """Return an empty column for the field."""
    if field.column.kind is Kind.TEXT or field.guess is Guess.FIGURES:
        return TextCells(field, spool)
    return NumberCells(field, spool)


def _split(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    return (values[start : start + _PIECE] for start in range(0, len(values), _PIECE))


def _convert(values: NDArray[Any], out: GrowingColumn, convert: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[Any]:
    """Convert a column piece by piece into `out`, and return its values."""
    for piece in _split(values):
        out.append(convert(piece))
    return out.values()


def _are_whole(values: NDArray[np.float64]) -> bool:
    """Whether all known values are integers that float64 represents exactly."""
    known = values[~np.isnan(values)]
    return not ((known != np.rint(known)).any() or np.abs(known).max(initial=0.0) > _FLOAT_WHOLE)


def _to_ints(values: NDArray[np.float64]) -> NDArray[np.int64]:
    unknown = np.isnan(values)
    return np.where(unknown, NULL_INT, np.where(unknown, 0.0, values).astype(np.int64))


def _has_space(text: str) -> bool:
    return text.split(None, 1) != [text]
