"""Splits CSV text into rows of the right width; rows that are broken are reported and left out.

A chunk of rows is split at C speed. Only where something is wrong with a chunk is it split again row by row, so that
the defect gets a line number and a quotation mark that was never closed does not swallow the rows after it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Optional

from tb_npu_plugin.messages import Message
from tb_npu_plugin.readers.shared.report import FileReport

CHUNK_ROWS = 2048
#: Longest cell: longer ones come from a quotation mark that was never closed.
MAX_CELL = 1 << 24
#: How many lines after a broken row are tried as the start of the next row.
_MAX_RESTARTS = 1000


@dataclass(frozen=True)
class Chunk:
    """Rows of equal width and, for each, the number of its first line (from 1)."""

    rows: list[list[str]]
    lines: list[int]


@dataclass(frozen=True)
class _Record:
    """One row as it stands in the file: its cells (None: the csv module refused it), its lines, its line number."""

    cells: Optional[list[str]]
    source: list[str]
    line: int


class RowReader:
    """Reads rows from lines of text."""

    def __init__(self, lines: Iterator[str], report: FileReport) -> None:
        csv.field_size_limit(max(csv.field_size_limit(), MAX_CELL))
        self._lines = lines
        self._pushed: list[str] = []  # lines to read again, the next one last
        self._line = 0  # lines consumed so far
        self._report = report
        self._header: list[str] = []

    def header(self) -> list[str] | None:
        """Cells of the first row that is not blank; None when there is none."""
        while True:
            record = self._take()
            if record is None:
                return None
            if record.cells and any(cell.strip() for cell in record.cells):
                self._header = record.cells
                return record.cells

    def chunks(self) -> Iterator[Chunk]:
        """The remaining rows, each as wide as the header, up to CHUNK_ROWS at a time."""
        width = len(self._header)
        while True:
            first = self._line + 1
            source: list[str] = []
            try:
                rows = list(islice(csv.reader(self._consume(source), strict=True), CHUNK_ROWS))
                good = all(len(row) == width for row in rows) and self._header not in rows
                good = good and not self._is_cut(source)
            except csv.Error:
                good = False
            if not source:
                return
            if good:
                yield Chunk(rows, _line_numbers(source, len(rows), first))
            else:
                self._push(source)
                yield self._careful_chunk()

    def release(self) -> list[str]:
        """The lines that were read ahead, no longer held here: the lines this reads from must bring them again."""
        lines = self._pushed[::-1]
        self._pushed.clear()
        return lines

    def pass_lines(self, count: int) -> None:
        """So many lines were taken by somebody else."""
        self._line += count

    def _consume(self, source: list[str]) -> Iterator[str]:
        """The next lines, noting each in `source`."""
        while self._pushed:
            line = self._pushed.pop()
            self._line += 1
            source.append(line)
            yield line
        for line in self._lines:
            self._line += 1
            source.append(line)
            yield line

    def _push(self, source: list[str]) -> None:
        """Read these lines again."""
        self._pushed.extend(reversed(source))
        self._line -= len(source)

    def _at_end(self) -> bool:
        """No line follows."""
        if not self._pushed:
            self._pushed.extend(islice(self._lines, 1))
        return not self._pushed

    def _is_cut(self, source: list[str]) -> bool:
        """These lines are the last, and do not end in a line break."""
        return bool(source) and self._at_end() and not source[-1].endswith(("\n", "\r"))

    def _take(self) -> _Record | None:
        """The next row; None at the end."""
        first = self._line + 1
        source: list[str] = []
        try:
            cells = next(csv.reader(self._consume(source), strict=True), None)
        except csv.Error:
            cells = None
        return _Record(cells, source, first) if source else None

    def _careful_chunk(self) -> Chunk:
        """The next rows, one by one, defects reported."""
        chunk = Chunk([], [])
        while len(chunk.rows) < CHUNK_ROWS:
            record = self._take()
            if record is None:
                break
            if record.cells == []:
                continue
            cells = self._checked(record)
            if cells is not None:
                chunk.rows.append(cells)
                chunk.lines.append(record.line)
        return chunk

    def _checked(self, record: _Record) -> list[str] | None:
        """The cells of a good row; None after reporting a bad one."""
        cells, width = record.cells, len(self._header)
        where = f"line {record.line}"
        cut = self._is_cut(record.source)
        if cells is not None and len(cells) > width and not any(cell.strip() for cell in cells[width:]):
            cells = cells[:width]
        if cells == self._header:
            self._report.add("repeated_header", where)
            return None
        if cells is not None and len(cells) == width:
            if cut:
                self._report.add("no_final_line_break", where, found=record.source[-1])
            return cells
        if self._restart(record):
            self._report.add("bad_quotes", where, found=record.source[0])
        elif cut:
            self._report.add("truncated_row", where, found=record.source[-1])
        elif cells is None:
            self._report.add("bad_quotes", where, found=record.source[0])
        else:
            code = "short_row" if len(cells) < width else "long_row"
            found = Message("found.cells", count=len(cells), row=record.source[0])
            self._report.add(code, where, expected=Message("expected.cells", count=width), found=found)
        return None

    def _restart(self, record: _Record) -> bool:
        """Look inside a broken record for the line on which the next good row starts, and go back to it."""
        if len(record.source) == 1:
            return False
        self._push(record.source[1:])
        end = record.line + len(record.source)
        for _ in range(_MAX_RESTARTS):
            candidate = self._take() if self._line + 1 < end else None
            if candidate is None:
                break
            if candidate.cells is not None and len(candidate.cells) == len(self._header):
                self._push(candidate.source)
                return True
            self._push(candidate.source[1:])
        while self._line + 1 < end and self._take_line():
            pass
        return False

    def _take_line(self) -> bool:
        """Pass over one line."""
        return next(self._consume([]), None) is not None


def _line_numbers(source: list[str], rows: int, first: int) -> list[int]:
    """Number of the first line of each row."""
    if len(source) == rows:
        return list(range(first, first + rows))
    reader = csv.reader(source)
    starts = []
    before = 0
    for _ in reader:
        starts.append(first + before)
        before = reader.line_num
    return starts
