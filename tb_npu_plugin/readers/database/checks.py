"""Checks the rows of a table: values of the right type, starts before ends, times within the recording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tb_npu_plugin.readers.database.cells import Mask, floats_of, ints_of, text_of
from tb_npu_plugin.readers.database.recording import RecordingWindow
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.spool import GrowingColumn, Spool
from tb_npu_plugin.schema.torch_npu_db import END, MOMENTS, START, Content, Field, Select
from tb_npu_plugin.tables import NULL_INT

# The columns of a table: their SQL, and their values as numpy.


class ColumnReader:
    """Collects one column."""

    def __init__(self, field: Field, spool: Spool) -> None:
        self.field = field
        self._texts: list[str | None] = []
        dtype = np.float64 if field.content is Content.FLOAT else np.int64
        self._values: GrowingColumn | None = None if field.content is Content.TEXT else spool.column(dtype)

    def add(self, chunk: dict[str, Any]) -> None:
        """Add a chunk of rows, a dict of columns."""
        if self._values is None:
            self._texts += chunk[self.field.key]
        else:
            self._values.append(chunk[self.field.key])

    def result(self) -> Any:
        """Return the values of all chunks."""
        return self._texts if self._values is None else self._values.values()


def quote(name: str) -> str:
    """Return a name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def expression(field: Field, name: str) -> str:
    """Return the SQL expression of a column, with NULL_INT for NULL: numpy converts columns of one type fast. SQLite
    parses -2**63 as a float, hence the subtraction."""
    if field.content in (Content.INT, Content.STRING) and not field.required:
        return f"ifnull({quote(name)}, (-9223372036854775807 - 1))"
    return quote(name)


def values_of(field: Field, cells: tuple[Any, ...]) -> tuple[Any, Mask]:
    """Return the values of a column, and a mask of the cells without a valid one."""
    if field.content is Content.TEXT:
        return [text_of(cell) for cell in cells], np.zeros(len(cells), dtype=np.bool_)
    return floats_of(cells) if field.content is Content.FLOAT else ints_of(cells)


def unknown_of(values: Any) -> Mask:
    """Mask of the unknown values."""
    if isinstance(values, list):
        return np.fromiter((value is None for value in values), np.bool_, len(values))
    return np.asarray(np.isnan(values) if values.dtype.kind == "f" else values == NULL_INT)


#: Columns to read, with their names in the database.
Fields = list[tuple[Field, str]]
#: Longest valid duration, ns: 30 days.
_LONGEST = 30 * 24 * 3600 * 10**9


class RowChecks:
    """Drops wrong rows and sets other wrong values to unknown. Defects of a column are reported once."""

    def __init__(self, report: FileReport, recording: RecordingWindow) -> None:
        self._report_to, self._recording = report, recording
        self._checked: set[tuple[str, str]] = set()  # (table, column)

    def end(self, select: Select, fields: Fields) -> None:
        """The columns are read: their defects are known."""
        self._checked.update((select.table, name) for _, name in fields)

    def chunk(self, select: Select, fields: Fields, rows: list[tuple[Any, ...]]) -> tuple[dict[str, Any], int]:
        """Return rows as columns by key, and how many are dropped: those without a valid value in a required column."""
        cells = list(zip(*rows))
        out: dict[str, Any] = {}
        dropped = np.zeros(len(rows), dtype=np.bool_)
        for (field, name), column in zip(fields, cells):
            values, bad = values_of(field, column)
            out[field.key] = values
            unknown = bad
            if field.required:
                unknown = bad | unknown_of(values)
                dropped |= unknown
            if unknown.any():
                self._report(select, field, name, column, unknown)
        dropped |= self._drop_backwards(select, fields, cells, out, dropped)
        dropped |= self._drop_outside(select, fields, cells, out, dropped)
        if dropped.any():
            kept = np.flatnonzero(~dropped)
            out = {
                key: [values[row] for row in kept.tolist()] if isinstance(values, list) else values[kept]
                for key, values in out.items()
            }
        return out, int(dropped.sum())

    def _drop_backwards(
        self, select: Select, fields: Fields, cells: list[tuple[Any, ...]], out: Mapping[str, Any], dropped: Mask
    ) -> Mask:
        """Mask of further rows that end before they start (unfinished rows end at 0) or exceed _LONGEST (rows without a
        start have 0)."""
        wrong = np.zeros(len(dropped), dtype=np.bool_)
        if START not in out or END not in out:
            return wrong
        start, end = out[START], out[END]
        for key, found in ((END, end < start), (START, (start < 0) | (end - start > _LONGEST))):
            found &= ~(dropped | wrong)
            if found.any():
                place = next(place for place, (field, _) in enumerate(fields) if field.key == key)
                self._report(select, *fields[place], cells[place], found)
            wrong |= found
        return wrong

    def _drop_outside(
        self, select: Select, fields: Fields, cells: list[tuple[Any, ...]], out: dict[str, Any], dropped: Mask
    ) -> Mask:
        """Mask of further rows with a required time outside the recording. Other such times become unknown."""
        wrong = np.zeros(len(dropped), dtype=np.bool_)
        time_keys = [key for key in MOMENTS if key in out]
        window = self._recording.window(*(out[key][~dropped] for key in time_keys)) if time_keys else None
        for (field, name), column in zip(fields, cells):
            if window is None or field.key not in time_keys:
                continue
            found = window.strays(out[field.key]) & ~(dropped | wrong)
            if not found.any():
                continue
            if field.required:
                wrong |= found
                self._report(select, field, name, column, found, "outside_recording")
            else:
                out[field.key] = np.where(found, NULL_INT, out[field.key])
                self._report(select, field, name, column, found)
        return wrong

    def _report(
        self, select: Select, field: Field, name: str, cells: tuple[Any, ...], wrong: Mask, code: str = ""
    ) -> None:
        code = code or ("bad_required_cell" if field.required else "bad_cell")
        for row in np.flatnonzero(wrong).tolist():
            found = "NULL" if cells[row] is None else text_of(cells[row]) or ""
            self.add(code, select, name, found)

    def add(self, code: str, select: Select, name: str, found: str) -> None:
        """Report a defect, unless the column was read before."""
        if (select.table, name) not in self._checked:
            self._report_to.add(code, f"{select.table}, {name}", found=found, kind=f"{select.table}.{name}")
