"""Rows of legacy CSV files as text: their columns vary too much to be declared."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tb_npu_plugin.messages import Message
from tb_npu_plugin.readers.shared.csv_rows import RowReader
from tb_npu_plugin.readers.shared.damage import is_damaged, repair
from tb_npu_plugin.readers.shared.figures import Figures
from tb_npu_plugin.readers.shared.json_file import load_object
from tb_npu_plugin.readers.shared.json_shapes import lost_of_most
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.source import open_csv, read_lines


class LineCounter:
    """Iterates over the lines of a file. last: number of the last non-blank line so far; rows: good rows so far, without
    the header."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = enumerate(lines, 1)
        self.last = 0
        self.rows = 0

    def __iter__(self) -> Iterator[str]:
        for number, line in self._lines:
            if line.strip():
                self.last = number
            yield line


@dataclass(frozen=True)
class CsvRows:
    """The rows of an open CSV file.

    header   the stripped cells of the first row
    lines    (line number, cells) of the other good rows, each as wide as the header
    source   counts the lines read, good or not
    """

    header: list[str]
    lines: Iterator[tuple[int, list[str]]]
    report: FileReport
    figures: Figures
    source: LineCounter

    def report_unknown_headers(self, known: Collection[str]) -> None:
        """Report the headers that are not `known`: their columns are skipped."""
        unknown = [name for name in self.header if name and name not in known]
        if unknown:
            self.report.drop("columns", len(unknown))
            self.report.add("unknown_headers", "line 1", found=", ".join(unknown))

    def report_missing(self, expected: str) -> None:
        """Report that columns are missing without which the file is not usable."""
        self.report.drop("columns", sum(map(bool, self.header)))
        self.report.add("missing_column", "line 1", expected=expected, found=", ".join(self.header))

    def report_lost_headers(self, written: Collection[str]) -> None:
        """Report headers that the profiler writes and the file lacks, if it has most of them."""
        for name in lost_of_most(written, self.header):
            self.report.add("lost_column", "line 1", expected=Message("expected.column", column=name), kind=name)

    def positions(self, *names: str) -> list[int | None]:
        """Return the column index of each header; None for a missing one."""
        return [self.header.index(name) if name in self.header else None for name in names]

    def first_position(self, names: Sequence[str]) -> int | None:
        """Return the column index of the first spelling found."""
        return next((place for place in self.positions(*names) if place is not None), None)

    def integer(self, cells: Sequence[str], place: int | None, factor: int, line: int) -> int | None:
        """Return the figure of a cell times `factor`, rounded; None for an empty cell, and after a problem."""
        if place is None or cells[place].strip() in ("", "N/A"):
            return None
        return self.figures.integer(cells[place], factor, f"line {line}, {self.header[place]}")

    def whole(self, cells: Sequence[str], place: int | None, line: int) -> int | None:
        """Return a count or an id; None for an empty cell, and after a problem."""
        if place is None or cells[place].strip() in ("", "N/A"):
            return None
        return self.figures.whole(cells[place], f"line {line}, {self.header[place]}")

    def amount(self, cells: Sequence[str], place: int | None, factor: int, line: int) -> int | None:
        """As `integer`, for figures that cannot be negative: durations, calls."""
        if place is None or cells[place].strip() in ("", "N/A"):
            return None
        return self.figures.amount(cells[place], factor, f"line {line}, {self.header[place]}")

    def real(self, cells: Sequence[str], place: int | None, line: int) -> float | None:
        """Return the figure of a cell; None for an empty cell, and after a problem."""
        if place is None or cells[place].strip() in ("", "N/A"):
            return None
        return self.figures.real(cells[place], f"line {line}, {self.header[place]}")

    def object(self, cells: Sequence[str], place: int | None, line: int, *, exact: bool) -> dict[str, Any]:
        """Return the JSON object of a cell; {} for an empty cell, and after a problem. exact: see load_object."""
        content = text(cells, place)
        if place is None or content is None:
            return {}
        where = f"line {line}, {self.header[place]}"
        return load_object(content, self.report, exact=exact, place=where) or {}


@contextmanager
def open_rows(reading: Reading) -> Iterator[CsvRows | None]:
    """Open a CSV file; None after a problem. If `lines` is read to its end without a row, that is reported.

    The rows that the reader takes from `lines` must be counted as shown or told.
    """
    report = reading.report
    with open_csv(reading) as stream:
        if stream is None:
            yield None
            return
        source = LineCounter(read_lines(stream, report))
        reader = RowReader(iter(source), report)
        header = reader.header()
        if header is None:
            report.add("empty_file")
            yield None
            return
        names = [cell.strip() for cell in _repair_cells(header, "line 1", report)]
        columns = sum(map(bool, names))
        report.count("columns", seen=columns, shown=columns)
        yield CsvRows(names, _lines(reader, source, report), report, Figures(report), source)
        report.count("rows", seen=reader.seen)


def _lines(reader: RowReader, source: LineCounter, report: FileReport) -> Iterator[tuple[int, list[str]]]:
    for chunk in reader.chunks():
        for line, cells in zip(chunk.lines, chunk.rows):
            source.rows += 1
            yield line, _repair_cells(cells, f"line {line}", report)
    if not source.rows:
        report.add("no_rows")


def _repair_cells(cells: list[str], where: str, report: FileReport) -> list[str]:
    """Repair damaged cells and report them."""
    if not is_damaged("".join(cells)):
        return cells
    report.add("bad_bytes", where)
    return [repair(cell) for cell in cells]


def is_number(step: str | None) -> bool:
    """Whether the step is a number."""
    return step is not None and step.isascii() and step.isdigit()


def text(cells: Sequence[str], place: int | None) -> str | None:
    """Return a cell as text; None for an empty one."""
    return None if place is None else cells[place].strip() or None
