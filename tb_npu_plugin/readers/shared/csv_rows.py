"""Splits CSV text into rows of the header's width; broken rows are reported and skipped.

The csv module splits a chunk of rows in one call. Only a chunk with a defect is split again and looked at row by row, which
finds the line number and keeps an unclosed quotation mark from swallowing the rows after it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, islice
from typing import NamedTuple, Optional

from tb_npu_plugin.messages import Message
from tb_npu_plugin.readers.shared.report import FileReport

CHUNK_ROWS = 2048
COMMA, SEMICOLON = ",", ";"
#: Longest cell, in characters: longer ones come from an unclosed quotation mark.
MAX_CELL = 1 << 24
#: Number of lines inside a broken row that are tried as the start of the next row.
_MAX_RESTARTS = 1000


@dataclass(frozen=True)
class Chunk:
    """Rows of equal width, and the number of each row's first line (from 1)."""

    rows: list[list[str]]
    lines: list[int]


class _Record(NamedTuple):
    """One row of the file: its cells (None if the csv module rejects it), its lines, the number of the first line."""

    cells: Optional[list[str]]
    source: Sequence[str]
    line: int


class RowReader:
    """Reads rows from lines of text.

    Attributes:
        seen: Number of rows so far, good or not, without the header.
        delimiter: Between cells: a semicolon if the header has some and no comma.
    """

    def __init__(self, lines: Iterator[str], report: FileReport) -> None:
        csv.field_size_limit(max(csv.field_size_limit(), MAX_CELL))
        self._lines = lines
        self._pushed: list[str] = []  # lines to read again, the next one last
        self._line = 0  # lines consumed so far
        self._report = report
        self._header: list[str] = []
        self._ends_in_return = False  # all lines do, as the header
        self.seen = 0
        self.delimiter = COMMA

    def header(self) -> list[str] | None:
        """Return the cells of the first row that is not blank; None without such a row."""
        while True:
            if not self._at_end() and COMMA not in self._pushed[-1] and SEMICOLON in self._pushed[-1]:
                self.delimiter = SEMICOLON
                self._report.add("other_delimiter", "line 1", found=Message("found.semicolons"))
            record = next(self._records(), None)
            if record is None:
                return None
            if record.cells and any(cell.strip() for cell in record.cells):
                self._header = record.cells
                self._ends_in_return = record.source[-1].endswith("\r")
                if self._is_cut(record.source):
                    self._report.add("file_cut", f"line {record.line}", found=record.source[-1])
                return record.cells

    def chunks(self) -> Iterator[Chunk]:
        """Yield the remaining rows, each as wide as the header, in chunks of at most CHUNK_ROWS."""
        width = len(self._header)
        while True:
            first = self._line + 1
            rows: list[list[str]] = []
            source: list[str] = []
            with suppress(csv.Error):
                rows = list(
                    islice(csv.reader(self._consume(source), strict=True, delimiter=self.delimiter), CHUNK_ROWS)
                )
            if not source:
                return
            if (
                rows
                and all(len(row) == width for row in rows)
                and self._header not in rows
                and not self._is_cut(source)
                and not any(map(self._has_other_break, source))
            ):
                self.seen += len(rows)
                yield Chunk(rows, _line_numbers(source, len(rows), first, self.delimiter))
            elif len(rows) == len(source):  # a line each
                yield self._check_rows(map(_Record._make, zip(rows, zip(source), count(first))))
            else:
                self._push(source)
                yield self._check_rows(islice(self._records(), CHUNK_ROWS))

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
        while True:
            while self._pushed:
                line = self._pushed.pop()
                self._line += 1
                source.append(line)
                yield line
            for line in self._lines:
                self._line += 1
                source.append(line)
                yield line
                if self._pushed:
                    break
            else:
                return

    def _push(self, source: Sequence[str]) -> None:
        """Put lines back: they are read again next."""
        self._pushed.extend(reversed(source))
        self._line -= len(source)

    def _at_end(self) -> bool:
        if not self._pushed:
            self._pushed.extend(islice(self._lines, 1))
        return not self._pushed

    def _is_cut(self, source: Sequence[str]) -> bool:
        """Whether these are the last lines and lack the final line break."""
        return bool(source) and not source[-1].endswith(("\n", "\r")) and self._at_end()

    def _has_other_break(self, line: str) -> bool:
        """Whether the line ends in "\\r" alone and the header does not: a byte after it was changed or lost."""
        return line.endswith("\r") and not self._ends_in_return

    def _records(self) -> Iterator[_Record]:
        """Yield the next rows. Lines may be put back between two of them."""
        while True:
            before, start = self._line, 0
            source: list[str] = []
            reader = csv.reader(self._consume(source), strict=True, delimiter=self.delimiter)
            try:
                for cells in reader:
                    yield _Record(cells, source[start:], before + start + 1)
                    start = len(source)
                    if self._line != before + start:  # lines were put back
                        break
                else:
                    return
            except csv.Error:
                yield _Record(None, source[start:], before + start + 1)

    def _check_rows(self, records: Iterable[_Record]) -> Chunk:
        """Return the good rows, and report the others."""
        chunk, rows, short, width = Chunk([], []), 0, 0, len(self._header)
        is_listed = self._report.repeat("short_row", "", 0)
        for record in records:
            cells, source, line = record
            if cells == []:
                continue
            rows += 1
            if is_listed and cells and len(cells) < width and len(source) == 1 and source[0].endswith(("\n", "\r")):
                short += 1  # there may be millions
                continue
            cells = self._checked_cells(record)
            if cells is not None:
                chunk.rows.append(cells)
                chunk.lines.append(line)
        if short:
            self._report.repeat("short_row", f"line {self._line}", short)
        self.seen += rows
        self._report.count("rows", told=rows - len(chunk.rows))
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
            if self._has_other_break(record.source[-1]):
                self._report.add("other_line_break", where, found=record.source[-1])
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
        width, lines = len(self._header), len(record.source) - 1
        for _ in range(min(lines, _MAX_RESTARTS)):
            line = self._pushed[-1]
            if '"' in line or line.count(self.delimiter) == width - 1:
                source: list[str] = []
                try:
                    cells = len(next(csv.reader(self._consume(source), strict=True, delimiter=self.delimiter)))
                except csv.Error:
                    cells = 0
                self._push(source)
                if cells == width:
                    return True
            self._skip(1)
        self._skip(max(0, lines - _MAX_RESTARTS))
        return False

    def _skip(self, lines: int) -> None:
        """Skip lines that were put back."""
        del self._pushed[len(self._pushed) - lines :]
        self._line += lines


def _line_numbers(source: list[str], rows: int, first: int, delimiter: str) -> list[int]:
    """Return the number of each row's first line."""
    if len(source) == rows:
        return list(range(first, first + rows))
    reader = csv.reader(source, delimiter=delimiter)
    starts = []
    before = 0
    for _ in reader:
        starts.append(first + before)
        before = reader.line_num
    return starts
