"""Parses CSV rows in C, straight into columns.

C parses a chunk only if every row is well-formed: the right number of plain or quoted cells, plain figures, valid UTF-8.
Otherwise Python reads that chunk. Chunks have the same bounds in both, and rows with problems never pass through here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.readers.shared import csv_rows, source
from tb_npu_plugin.readers.shared.byte_lines import ByteLines
from tb_npu_plugin.readers.shared.cells import Cells, NumberCells, TextCells
from tb_npu_plugin.readers.shared.distinct_texts import NativeTexts
from tb_npu_plugin.scan import native_or_python
from tb_npu_plugin.tables import Kind

if TYPE_CHECKING:
    from tb_npu_plugin.readers import _csv

#: As in native/rows.h.
_SKIP, _TEXT, _WHOLE, _INT, _FLOAT = range(5)
_FULL, _SHORT = range(2)
#: Most bytes of one chunk.
_MAX_CHUNK = 1 << 26
#: Largest factor of an integer column.
_MAX_FACTOR = 1 << 30


def is_enabled() -> bool:
    """Whether rows are parsed in C: TB_NPU_SCANNER allows it and the extension is built.

    Raises:
        ImportError: TB_NPU_SCANNER requires C and the extension is not built.
    """

    def has_native() -> bool:
        from tb_npu_plugin.readers import _csv  # noqa: F401

        return True

    return native_or_python(has_native, lambda: False)


class NativeRows:
    """Parses chunks of `lines` into columns until C refuses one."""

    def __init__(self, lines: ByteLines, header: Sequence[str], columns: Sequence[Cells]) -> None:
        from tb_npu_plugin.readers import _csv

        self._lines = lines
        self._columns = columns
        self._limited = [column for column in columns if isinstance(column, NumberCells) and column.has_limits]
        self._texts = [column for column in columns if isinstance(column, TextCells)]
        by_index = {column.field.index: column for column in columns}
        cells = tuple(_native_column(by_index.get(index), cell) for index, cell in enumerate(header))
        most = max(1, min(csv_rows.MAX_CELL, source.MAX_LINE - 1))
        self._rows: _csv.Rows = _csv.Rows(csv_rows.CHUNK_ROWS, most, cells)

    def take(self, reader: csv_rows.RowReader) -> int:
        """Parse chunks up to the first one that Python must read. Returns the number of rows."""
        total = 0
        if ahead := reader.release():
            self._lines.give_back(ahead)
        while True:
            rows, lines = self._chunk()
            if not rows:
                return total
            for column in self._columns:
                self._add(column)
            reader.skip(lines, rows)
            total += rows

    def _chunk(self) -> tuple[int, int]:
        """Parse a chunk. Returns its numbers of rows (0 if C refuses it) and lines."""
        for column in self._texts:
            column.make_room()
        counts = [len(column.texts) for column in self._texts]
        lines = self._lines
        while True:
            status, end, rows, count = self._rows.read(lines.data, lines.at)
            if status == _SHORT and len(lines.data) - lines.at < _MAX_CHUNK and lines.read_more():
                continue
            if (status == _FULL or (status == _SHORT and end == len(lines.data))) and self._is_sound():
                lines.at = end
                return rows, count
            for column, before in zip(self._texts, counts):
                _native(column).truncate(before)
            return 0, 0

    def _add(self, column: Cells) -> None:
        """Append the values of the chunk to a column."""
        if isinstance(column, TextCells):
            column.add_codes(np.frombuffer(self._rows.values(column.field.index), np.int32))
        else:
            column.add_values(self._values(column))

    def _values(self, column: NumberCells) -> NDArray[Any]:
        return np.frombuffer(self._rows.values(column.field.index), column.dtype)

    def _is_sound(self) -> bool:
        """Whether no value of the chunk must be reported."""
        return all(column.accepts(self._values(column)) for column in self._limited)


def can_parse(columns: Sequence[Cells]) -> bool:
    """Whether C can convert all these columns."""
    return all(
        column.field.column.kind is not Kind.TIME
        if isinstance(column, TextCells)
        else column.dtype != np.int64 or 1 <= column.field.factor <= _MAX_FACTOR
        for column in columns
    )


def _native_column(column: Cells | None, header: str) -> tuple[int, float, int, bytes | None, _csv.Texts | None, bool]:
    """The column as `_csv.Rows` takes it; None is skipped."""
    cell = _encode(header)
    if column is None:
        return _SKIP, 1.0, 0, cell, None, False
    field = column.field
    if isinstance(column, TextCells):
        return _TEXT, 1.0, field.column.required, cell, _native(column), column.is_quoted
    if column.dtype == np.float64:
        return _FLOAT, field.factor, field.column.required, cell, None, False
    kind = _WHOLE if field.column.kind is Kind.INT else _INT
    return kind, int(field.factor), field.column.required, cell, None, False


def _native(column: TextCells) -> _csv.Texts:
    assert isinstance(column.texts, NativeTexts)
    return column.texts.native


def _encode(cell: str) -> bytes | None:
    """Return the cell as UTF-8; None for a damaged one, which C never accepts."""
    try:
        return cell.encode("utf-8")
    except UnicodeEncodeError:
        return None
