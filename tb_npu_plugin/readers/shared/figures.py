"""Exact conversion of figures in JSON result files, and a builder of tables from rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.seen import SeenKind
from tb_npu_plugin.tables import MAX_WHOLE, Column, Table, from_lists
from tb_npu_plugin.units import float_or_none, is_whole, scale_decimal

#: Durations (ns), sizes (bytes) and counts are invalid from here on.
TOO_LONG = MAX_WHOLE
Number = TypeVar("Number", int, float)


class Figures:
    """Converts figures of a JSON file that was decoded with numbers as text. An absent figure (None) gives None; any
    other value that is not a number gives None and a problem."""

    def __init__(self, report: FileReport) -> None:
        self._report = report

    def integer(self, value: Any, factor: int, where: str) -> int | None:
        """Return the figure times `factor` (ns or bytes per unit), rounded to an integer."""
        if value is None:
            return None
        result = scale_decimal(value, factor) if isinstance(value, str) else None
        if result is None:
            self._report_unknown(value, where)
        return result

    def whole(self, value: Any, where: str) -> int | None:
        """Return a count or an id, which has no fraction."""
        result = self.integer(value, 1, where)
        if result is None or is_whole(value.strip()):
            return result
        self._report.add("bad_cell", where, found=value, kind=where.rpartition(", ")[2])
        return None

    def amount(self, value: Any, factor: int, where: str) -> int | None:
        """As `integer`, but None and a problem for negative figures and from TOO_LONG on."""
        result = self.integer(value, factor, where)
        if result is None or 0 <= result < TOO_LONG:
            return result
        self._report.add("bad_cell", where, found=str(value), kind=where.rpartition(", ")[2])
        return None

    def real(self, value: Any, where: str) -> float | None:
        """Return the figure as a float."""
        if value is None:
            return None
        result = float_or_none(value) if isinstance(value, str) else None
        if result is None:
            self._report_unknown(value, where)
        return result

    def _report_unknown(self, value: Any, where: str) -> None:
        self._report.add("not_a_number", where, found=str(value), kind=where.rpartition(", ")[2])


def sum_or_none(left: Number | None, right: Number | None) -> Number | None:
    """Return the sum; None if one is unknown."""
    return None if left is None or right is None else left + right


class RowBuilder:
    """Builds a table with declared columns row by row."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._lists: dict[str, list[Any]] = {column.key: [] for column in columns}

    def add(self, *values: Any) -> None:
        """Add a row, in the order of the columns; None is unknown."""
        for column, value in zip(self._columns, values):
            self._lists[column.key].append(value)

    def table(self) -> Table:
        """Return the rows as a table."""
        return from_lists(self._columns, self._lists)

    def counted(self, report: FileReport, kind: SeenKind = "rows", part: str = "") -> Table:
        """Return the rows as a table, and count them as shown: each is one of the file."""
        table = self.table()
        report.count(kind, part, shown=len(table))
        return table
