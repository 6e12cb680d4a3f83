"""Turns columns of text cells into numpy columns, piece by piece.

A piece (`Cells`) belongs to one field and collects the chunks of one file; memory grows with the typed columns only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.readers.csv_header import Field
from tb_npu_plugin.readers.damage import is_damaged, repaired
from tb_npu_plugin.schema.metrics import Guess
from tb_npu_plugin.tables import NULL_INT, Column, Data, Kind, Text
from tb_npu_plugin.units import number, number_column, scaled_column

#: Cells that say "there is no value".
MISSING = frozenset(("", "N/A"))
#: float64 holds every whole number up to here.
_FLOAT_WHOLE = 2.0**53

Mask = NDArray[np.bool_]


class _Codes(dict[str, int]):
    """Cell text -> code of its value, assigned when a text is first seen."""

    def __init__(self, unquote: bool) -> None:
        super().__init__()
        self.values_seen: dict[str, int] = {}
        self.damaged: set[str] = set()  # raw cells that hold bytes that are no text
        self._unquote = unquote

    def __missing__(self, cell: str) -> int:
        code = self[cell] = self._code(cell)
        return code

    def _code(self, cell: str) -> int:
        value = cell.strip()
        if value in MISSING:
            return -1
        if is_damaged(value):
            self.damaged.add(cell)
            value = repaired(value)
        if self._unquote and len(value) > 1 and value[0] == value[-1] == '"':
            value = value[1:-1]
        return self.values_seen.setdefault(value, len(self.values_seen))


class TextCells:
    """A text column. Cells of shape columns lose one pair of quotation marks, which the producer puts around them."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self._codes = _Codes(unquote=field.column.group == "shape")
        self._chunks: list[NDArray[np.int32]] = []

    def add(self, cells: Sequence[str]) -> tuple[Mask, Mask]:
        """Take a chunk; masks of the unknown cells and of those that hold bytes that are no text."""
        codes = np.fromiter(map(self._codes.__getitem__, cells), np.int32, len(cells))
        self._chunks.append(codes)
        damaged = np.zeros(len(cells), dtype=np.bool_)
        if self._codes.damaged:
            damaged[:] = [cell in self._codes.damaged for cell in cells]
        return codes < 0, damaged

    def drop(self, rows: Mask) -> None:
        """Leave rows of the last chunk out."""
        self._chunks[-1] = self._chunks[-1][~rows]

    def result(self) -> tuple[Column, Data]:
        """The whole column; a guessed one becomes figures if all its values are."""
        codes = np.concatenate([np.zeros(0, np.int32), *self._chunks])
        values = list(self._codes.values_seen)
        column = self.field.column
        if self.field.guess is Guess.FIGURES:
            numbers, bad = number_column(values)
            if not bad.any():
                return column, np.append(numbers, np.nan)[codes]  # code -1 is the last
        return replace(column, kind=Kind.TEXT), Text(codes, values)


class NumberCells:
    """A column of figures: int64 for times, sizes and counts, float64 otherwise."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self._is_int = field.column.kind.is_int and field.guess is Guess.NOTHING
        self._dtype = np.int64 if self._is_int else np.float64
        self._null = NULL_INT if self._is_int else np.nan
        self._chunks: list[NDArray[Any]] = []

    def add(self, cells: Sequence[str]) -> tuple[Mask, Mask]:
        """Take a chunk; masks of the unknown cells (bad ones are unknown too) and of the bad ones."""
        stripped = list(map(str.strip, cells))
        unknown = np.fromiter(map(MISSING.__contains__, stripped), np.bool_, len(stripped))
        bad = np.zeros(len(stripped), dtype=np.bool_)
        values: NDArray[Any] = np.full(len(stripped), self._null, dtype=self._dtype)
        if not unknown.any():
            values, bad = self._parse(stripped)
        elif not unknown.all():
            there = np.flatnonzero(~unknown)
            values[there], bad[there] = self._parse([stripped[row] for row in there.tolist()])
        values[bad] = self._null
        self._chunks.append(values)
        return unknown | bad, bad

    def _parse(self, texts: list[str]) -> tuple[NDArray[Any], Mask]:
        if self._is_int and self.field.column.kind is Kind.INT:
            values, bad = scaled_column(texts, 1)
            return values, bad | np.fromiter((not is_whole(text) for text in texts), np.bool_, len(texts))
        if self._is_int:
            return scaled_column(texts, int(self.field.factor))
        floats, bad = number_column(texts)
        return floats * self.field.factor, bad

    def drop(self, rows: Mask) -> None:
        """Leave rows of the last chunk out."""
        self._chunks[-1] = self._chunks[-1][~rows]

    def result(self) -> tuple[Column, Data]:
        """The whole column; guessed counts with fractions become plain figures."""
        values = np.concatenate([np.zeros(0, self._dtype), *self._chunks])
        if self.field.guess is not Guess.FRACTIONS:
            return self.field.column, values
        known = values[~np.isnan(values)]
        if (known != np.rint(known)).any() or np.abs(known).max(initial=0.0) > _FLOAT_WHOLE:
            return replace(self.field.column, kind=Kind.FLOAT), values
        whole = np.full(len(values), NULL_INT, dtype=np.int64)
        whole[~np.isnan(values)] = known.astype(np.int64)
        return self.field.column, whole


Cells = Union[TextCells, NumberCells]


def cells_for(field: Field) -> Cells:
    """An empty column."""
    if field.column.kind is Kind.TEXT or field.guess is Guess.FIGURES:
        return TextCells(field)
    return NumberCells(field)


def is_whole(text: str) -> bool:
    """A number without a fraction: "3", "3.0", "1e3"; a text that is no number counts as whole."""
    if text.isdigit():
        return True
    value = number(text)
    return value is None or value == int(value)
