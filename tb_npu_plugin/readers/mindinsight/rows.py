"""Rows of the CSV files of legacy results, as text: their columns vary too much to be declared one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tb_npu_plugin.readers.csv_rows import RowReader
from tb_npu_plugin.readers.damage import repaired
from tb_npu_plugin.readers.figures import Figures
from tb_npu_plugin.readers.report import FileReport
from tb_npu_plugin.readers.source import Progress, opened, text_lines


@dataclass(frozen=True)
class Rows:
    """A file while it is read.

    header   the cells of its first row, without white space around them
    lines    the rows below, each with the number of its line and as many cells as the header
    """

    header: list[str]
    lines: Iterator[tuple[int, list[str]]]
    report: FileReport
    figures: Figures

    def places(self, *names: str) -> list[int | None]:
        """Place of each of these headers; None for those that are not there."""
        return [self.header.index(name) if name in self.header else None for name in names]

    def first_of(self, names: Sequence[str]) -> int | None:
        """Place of the first of these spellings that is there."""
        return next((place for place in self.places(*names) if place is not None), None)

    def integer(self, cells: Sequence[str], place: int | None, factor: int, line: int) -> int | None:
        """The figure of a cell times `factor`, rounded; None for an empty cell, and after a problem."""
        if place is None or cells[place].strip() in ("", "N/A"):
            return None
        return self.figures.integer(cells[place], factor, f"line {line}, {self.header[place]}")

    def real(self, cells: Sequence[str], place: int | None, line: int) -> float | None:
        """The figure of a cell."""
        if place is None or cells[place].strip() in ("", "N/A"):
            return None
        return self.figures.real(cells[place], f"line {line}, {self.header[place]}")


@contextmanager
def opened_rows(path: Path, report: FileReport, progress: Progress) -> Iterator[Rows | None]:
    """The rows of a CSV file; None after a problem."""
    with opened(path, report, progress) as stream:
        if stream is None:
            yield None
            return
        reader = RowReader(text_lines(stream, report), report)
        header = reader.header()
        if header is None:
            report.add("empty_file")
            yield None
            return
        yield Rows([repaired(cell).strip() for cell in header], _lines(reader), report, Figures(report))


def _lines(reader: RowReader) -> Iterator[tuple[int, list[str]]]:
    for chunk in reader.chunks():
        for line, cells in zip(chunk.lines, chunk.rows):
            yield line, [repaired(cell) for cell in cells]


def text(cells: Sequence[str], place: int | None) -> str | None:
    """A cell as text; None for an empty one."""
    return None if place is None else cells[place].strip() or None
