"""Rows of a CSV file through C, straight to columns.

C takes as many rows as a Chunk has, or all that are left, if it fully understands every one of them: plain or quoted
cells in the right number, plain figures, valid UTF-8. Else it takes none, and those of that Chunk are read in Python. So
chunks begin and end where they do in Python, and nothing that is a problem comes through here.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.readers.shared import csv_rows, source
from tb_npu_plugin.readers.shared.byte_lines import ByteLines
from tb_npu_plugin.readers.shared.cells import Cells, NumberCells, TextCells
from tb_npu_plugin.scan import native_or_python
from tb_npu_plugin.tables import Kind

if TYPE_CHECKING:
    from tb_npu_plugin.readers import _csv

#: As in native/rows.h.
_SKIP, _TEXT, _WHOLE, _INT, _FLOAT = range(5)
_FULL, _SHORT = range(2)
#: Longest stretch of a file that is taken as one chunk.
_MAX_CHUNK = 1 << 26
#: Largest factor of an integer column.
_MAX_FACTOR = 1 << 30


def is_wanted() -> bool:
    """Whether TB_NPU_SCANNER leaves rows to C, where it was built; ImportError when it asks for C and that was not."""

    def native() -> bool:
        from tb_npu_plugin.readers import _csv  # noqa: F401

        return True

    return native_or_python(native, lambda: False)


class NativeRows:
    """Takes rows from `lines` into columns, for as long as C understands them."""

    def __init__(self, lines: ByteLines, header: Sequence[str], columns: Sequence[Cells]) -> None:
        from tb_npu_plugin.readers import _csv

        self._lines = lines
        self._columns = columns
        self._limited = [column for column in columns if isinstance(column, NumberCells) and column.has_limits]
        kinds = {column.field.index: _kind(column) for column in columns}
        cells = tuple((*kinds.get(index, (_SKIP, 1.0, 0)), _encoded(cell)) for index, cell in enumerate(header))
        most = max(1, min(csv_rows.MAX_CELL, source.MAX_LINE - 1))
        self._rows: _csv.Rows = _csv.Rows(secrets.randbits(64), csv_rows.CHUNK_ROWS, most, cells)

    def take(self, reader: csv_rows.RowReader) -> int:
        """Take chunks up to the first one that Python must read; the number of their rows."""
        total = 0
        if ahead := reader.release():
            self._lines.give_back(ahead)
        while True:
            rows, lines = self._chunk()
            if not rows:
                return total
            for column in self._columns:
                self._add(column)
            reader.pass_lines(lines)
            total += rows

    def _chunk(self) -> tuple[int, int]:
        """Read a chunk: its rows (0: it is not for C) and its lines."""
        for column in self._columns:
            if isinstance(column, TextCells) and (column.is_full or column.has_many_indices):
                self._forget(column)
        lines = self._lines
        while True:
            status, end, rows, count = self._rows.read(lines.data, lines.at)
            if status == _SHORT and len(lines.data) - lines.at < _MAX_CHUNK and lines.more():
                continue
            if (status == _FULL or (status == _SHORT and end == len(lines.data))) and self._is_sound():
                lines.at = end
                return rows, count
            for column in self._columns:
                self._forget(column)
            return 0, 0

    def _add(self, column: Cells) -> None:
        """Put the values of the chunk into a column."""
        index = column.field.index
        if isinstance(column, TextCells):
            indices = np.frombuffer(self._rows.values(index), np.int32)
            column.add_indices(indices, self._rows.texts(index, column.indexed))
        else:
            column.add_values(self._values(column))

    def _values(self, column: NumberCells) -> NDArray[Any]:
        return np.frombuffer(self._rows.values(column.field.index), column.dtype)

    def _is_sound(self) -> bool:
        """No value of the chunk is one that must be reported."""
        return all(column.takes(self._values(column)) for column in self._limited)

    def _forget(self, column: Cells) -> None:
        """Texts seen from now on are new ones."""
        if isinstance(column, TextCells):
            column.forget_indices()
            self._rows.clear(column.field.index)


def can_take(columns: Sequence[Cells]) -> bool:
    """Whether C knows what such columns want."""
    return all(
        column.field.column.kind is not Kind.TIME
        if isinstance(column, TextCells)
        else column.dtype != np.int64 or 1 <= column.field.factor <= _MAX_FACTOR
        for column in columns
    )


def _kind(column: Cells) -> tuple[int, float, int]:
    field = column.field
    if isinstance(column, TextCells):
        return _TEXT, 1.0, field.column.required
    if column.dtype == np.float64:
        return _FLOAT, field.factor, field.column.required
    return _WHOLE if field.column.kind is Kind.INT else _INT, int(field.factor), field.column.required


def _encoded(cell: str) -> bytes | None:
    """None for a cell that C never meets: one that holds bytes that are no text."""
    try:
        return cell.encode("utf-8")
    except UnicodeEncodeError:
        return None
