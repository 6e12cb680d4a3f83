"""Figures of JSON result files, taken from the digits in the file; and rows that become a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.tables import Column, Table, from_lists
from tb_npu_plugin.units import number, scaled

#: From here on nothing is a duration in ns, nor a number of bytes or calls: no capture takes a hundred days, and what is
#: larger would be rounded by JavaScript.
TOO_LONG = 2**53


class Figures:
    """Converts the figures of a JSON file that was decoded with numbers as text. An absent figure (None) is unknown;
    one that is no number is unknown and a problem."""

    def __init__(self, report: FileReport) -> None:
        self._report = report

    def integer(self, value: Any, factor: int, where: str) -> int | None:
        """The figure times `factor` (ns or bytes in its unit), rounded to an integer."""
        if value is None:
            return None
        result = scaled(value, factor) if isinstance(value, str) else None
        if result is None:
            self._report_unknown(value, where)
        return result

    def amount(self, value: Any, factor: int, where: str) -> int | None:
        """As `integer`; less than nothing, or more than anything takes, is unknown and a problem."""
        result = self.integer(value, factor, where)
        if result is None or 0 <= result < TOO_LONG:
            return result
        self._report.add("bad_cell", where, found=str(value), kind=where.rpartition(", ")[2])
        return None

    def real(self, value: Any, where: str) -> float | None:
        """The figure as a float."""
        if value is None:
            return None
        result = number(value) if isinstance(value, str) else None
        if result is None:
            self._report_unknown(value, where)
        return result

    def _report_unknown(self, value: Any, where: str) -> None:
        self._report.add("not_a_number", where, found=str(value), kind=where.rpartition(", ")[2])


class Rows:
    """Collects rows of a table with declared columns."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._lists: dict[str, list[Any]] = {column.key: [] for column in columns}

    def add(self, *values: Any) -> None:
        """One row, in the order of the columns; None is unknown."""
        for column, value in zip(self._columns, values):
            self._lists[column.key].append(value)

    def table(self) -> Table:
        """The rows as a table."""
        return from_lists(self._columns, self._lists)
