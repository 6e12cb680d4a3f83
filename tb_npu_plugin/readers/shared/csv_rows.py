"""Splits CSV text into rows of the header's width; broken rows are reported and skipped.

The csv module splits a chunk of rows in one call. Only a chunk with a defect is split again row by row, which finds the
line number and keeps an unclosed quotation mark from swallowing the rows after it.
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
#: Longest cell, in characters: longer ones come from an unclosed quotation mark.
MAX_CELL = 1 << 24
#: Number of lines inside a broken row that are tried as the start of the next row.
_MAX_RESTARTS = 1000


@dataclass(frozen=True)
class Chunk:
    """Rows of equal width, and the number of each row's first line (from 1)."""

    rows: list[list[str]]
    lines: list[int]


@dataclass(frozen=True)
class _Record:
    """One row of the file: its cells (None if the csv module rejects it), its lines, the number of the first line."""

    cells: Optional[list[str]]
    source: list[str]
    line: int


class RowReader:
    """Reads rows from lines of text.

    Attributes:
        seen: Number of rows so far, good or not, without the header.
    """

    def __init__(self, lines: Iterator[str], report: FileReport) -> None:
        csv.field_size_limit(max(csv.field_size_limit(), MAX_CELL))
        self._lines = lines
        self._pushed: list[str] = []  # lines to read again, the next one last
        self._line = 0  # lines consumed so far
        self._report = report
        self._header: list[str] = []
        self.seen = 0

    def header(self) -> list[str] | None:
        """Return the cells of the first row that is not blank; None without such a row."""
        while True:
            record = self._next_record()
            if record is None:
                return None
            if record.cells and any(cell.strip() for cell in record.cells):
                self._header = record.cells
                return record.cells

    def chunks(self) -> Iterator[Chunk]:
        """Yield the remaining rows, each as wide as the header, in chunks of at most CHUNK_ROWS."""
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
                self.seen += len(rows)
                yield Chunk(rows, _line_numbers(source, len(rows), first))
            else:
                self._push(source)
                yield self._chunk_by_row()

    def release(self) -> list[str]:
        """Return the lines read ahead, and drop them; the caller must put them back into the source."""
        lines = self._pushed[::-1]
        self._pushed.clear()
        return lines

    def skip(self, lines: int, rows: int) -> None:
        """Count what the C parser consumed."""
        self._line += lines
        self.seen += rows

    def _consume(self, source: list[str]) -> Iterator[str]:
        """Yield the next lines, and append each to `source`."""
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
        """Put lines back: they are read again next."""
        self._pushed.extend(reversed(source))
        self._line -= len(source)

    def _at_end(self) -> bool:
        if not self._pushed:
            self._pushed.extend(islice(self._lines, 1))
        return not self._pushed

    def _is_cut(self, source: list[str]) -> bool:
        """Whether these are the last lines and lack the final line break."""
        return bool(source) and self._at_end() and not source[-1].endswith(("\n", "\r"))

    def _next_record(self) -> _Record | None:
        """Return the next row; None at the end."""
        first = self._line + 1
        source: list[str] = []
        try:
            cells = next(csv.reader(self._consume(source), strict=True), None)
        except csv.Error:
            cells = None
        return _Record(cells, source, first) if source else None

    def _chunk_by_row(self) -> Chunk:
        """Return the next rows, read one by one, and report defects."""
        chunk = Chunk([], [])
        while len(chunk.rows) < CHUNK_ROWS:
            record = self._next_record()
            if record is None:
                break
            if record.cells == []:
                continue
            self.seen += 1
            cells = self._checked_cells(record)
            if cells is None:
                self._report.count("rows", told=1)
            else:
                chunk.rows.append(cells)
                chunk.lines.append(record.line)
        return chunk

    def _checked_cells(self, record: _Record) -> list[str] | None:
        """Return the cells of a good row; report a bad one and return None."""
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
        if self._resume_inside(record):
            self._report.add("bad_quotes", where, found=record.source[0])
        elif cut:
            self._report.add("truncated_row", where, found=record.source[-1])
        elif cells is None:
            self._report.add("bad_quotes", where, found=record.source[0])
        else:
            self._report_width(cells, where, record.source[0])
        return None

    def _report_width(self, cells: list[str], where: str, line: str) -> None:
        width = len(self._header)
        code = "short_row" if len(cells) < width else "long_row"
        if not self._report.repeat(code, where):
            found = Message("found.cells", count=len(cells), row=line)
            self._report.add(code, where, expected=Message("expected.cells", count=width), found=found)

    def _resume_inside(self, record: _Record) -> bool:
        """Search a broken record for the line where the next good row starts, and continue there; False if none."""
        if len(record.source) == 1:
            return False
        self._push(record.source[1:])
        end = record.line + len(record.source)
        for _ in range(_MAX_RESTARTS):
            candidate = self._next_record() if self._line + 1 < end else None
            if candidate is None:
                break
            if candidate.cells is not None and len(candidate.cells) == len(self._header):
                self._push(candidate.source)
                return True
            self._push(candidate.source[1:])
        while self._line + 1 < end and self._skip_line():
            pass
        return False

    def _skip_line(self) -> bool:
        """Skip one line; False at the end."""
        return next(self._consume([]), None) is not None


def _line_numbers(source: list[str], rows: int, first: int) -> list[int]:
    """Return the number of each row's first line."""
    if len(source) == rows:
        return list(range(first, first + rows))
    reader = csv.reader(source)
    starts = []
    before = 0
    for _ in reader:
        starts.append(first + before)
        before = reader.line_num
    return starts
