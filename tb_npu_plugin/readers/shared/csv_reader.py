"""Reads a CSV result file into a Table, after its declaration in schema/."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import IO

import numpy as np

from tb_npu_plugin.analysis.operators.nesting import nesting_of_rows
from tb_npu_plugin.gc_pause import gc_paused
from tb_npu_plugin.messages import Message
from tb_npu_plugin.readers.shared import native_rows
from tb_npu_plugin.readers.shared.byte_lines import ByteLines
from tb_npu_plugin.readers.shared.cells import Cells, Mask, NumberCells, create_cells
from tb_npu_plugin.readers.shared.csv_header import find_fields
from tb_npu_plugin.readers.shared.csv_rows import COMMA, Chunk, RowReader
from tb_npu_plugin.readers.shared.numbered_steps import with_numbered_steps
from tb_npu_plugin.readers.shared.reading import Reading, Tables
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.source import open_csv, read_lines
from tb_npu_plugin.readers.shared.spool import Spool
from tb_npu_plugin.schema.core import ResultFile, normalise
from tb_npu_plugin.schema.metrics import Guess
from tb_npu_plugin.schema.torch_npu_csv import NESTED, OPERATORS, TASK_TIME
from tb_npu_plugin.schema.torch_npu_memory_csv import OP_MEMORY
from tb_npu_plugin.tables import Kind, Table, known, known_cells
from tb_npu_plugin.units import float_or_none


def read_csv(reading: Reading, spec: ResultFile) -> Table | None:
    """Return the table of a CSV file; None, and problems in the log, if it is unusable. The columns have the file's
    order and the schema's keys. Bad data raise nothing."""
    return read_pieces([reading], spec)


def csv_tables(reading: Reading, spec: ResultFile) -> Tables:
    """Return the table of a CSV file by its id; {} if the file is unusable."""
    table = read_csv(reading, spec)
    return {} if table is None else {spec.id: table}


def read_pieces(pieces: Sequence[Reading], spec: ResultFile) -> Table | None:
    """Return the table of a CSV file that was split into pieces with the same header. See read_csv."""
    builder = _TableBuilder(spec, pieces[0].spool)
    for piece in pieces:
        with open_csv(piece) as stream:
            if stream is not None:
                builder.add_piece(stream, piece.report)
    table = builder.table()
    if table is not None:
        cells = known_cells(table)
        pieces[0].report.count("rows", shown=len(table))
        pieces[0].report.count("cells", seen=cells, shown=cells)
    if table is not None and spec is OPERATORS and table.has("host_self_ns") and table.has("host_total_ns"):
        table = table.with_columns([(NESTED, nesting_of_rows(table))])
    if (
        table is not None and spec.id == TASK_TIME.id and table.has("name")
    ):  # copies, events and callbacks have a type and no name
        table = replace(table, data={**table.data, "name": table.text("name").or_else(table.text("type"))})
    if table is not None and spec.id == OP_MEMORY.id:  # of any profiler
        _report_allocated_before(table, pieces[-1].report)
    return None if table is None else with_numbered_steps(table, spec.id, pieces[-1].report)


def _report_allocated_before(allocations: Table, report: FileReport) -> None:
    """Report, as information, memory that was allocated before the capture."""
    size = allocations.ints("size_bytes")
    before = int((~known(allocations.ints("alloc_ns")) | (known(size) & (size < 0))).sum())
    if before:
        report.add("before_capture", found=Message("found.no_allocation_time"), count=before)


class _TableBuilder:
    """Adds the rows of each piece to the columns of one table."""

    def __init__(self, spec: ResultFile, spool: Spool) -> None:
        self._spec = spec
        self._spool = spool
        self._header: list[str] = []
        self._columns: list[Cells] = []

    def add_piece(self, stream: IO[bytes], report: FileReport) -> None:
        """Read the rows of a piece."""
        lines = ByteLines(stream, report) if native_rows.is_enabled() else read_lines(stream, report)
        reader = RowReader(lines, report)
        header = reader.header()
        if header is None:
            report.add("empty_file")
            return
        if not self._accept_header(header, report):
            return
        native = None
        if isinstance(lines, ByteLines) and reader.delimiter == COMMA and native_rows.can_parse(self._columns):
            native = native_rows.NativeRows(lines, header, self._columns)
        with gc_paused():
            rows = _convert_all(reader, self._columns, report, native)
        report.count("rows", seen=reader.seen)
        if rows == 0:
            report.add("no_rows")

    def _accept_header(self, header: list[str], report: FileReport) -> bool:
        """Create the columns, or check the header against them; False if the piece must be skipped."""
        if self._columns:
            if list(map(normalise, header)) != self._header:
                report.add("other_header", "line 1", expected=", ".join(self._header), found=", ".join(header))
                return False
            return True
        fields = find_fields(header, self._spec, report)
        self._header = list(map(normalise, header))
        self._columns = [create_cells(field, self._spool) for field in fields or ()]
        return bool(self._columns)

    def table(self) -> Table | None:
        """Return the table; None if no piece was readable."""
        if not self._columns:
            return None
        results = [column.result() for column in self._columns]
        return Table(tuple(column for column, _ in results), {column.key: data for column, data in results})


def _convert_all(
    reader: RowReader, columns: list[Cells], report: FileReport, native: native_rows.NativeRows | None
) -> int:
    """Convert all rows, in Python the chunks that C refuses. Returns the number of good rows."""
    total = 0
    chunks = reader.chunks()
    while True:
        if native is not None:
            total += native.take(reader)
        chunk = next(chunks, None)
        if chunk is None:
            return total
        total += _convert(_with_points(chunk, columns) if reader.delimiter != COMMA else chunk, columns, report)


def _with_points(chunk: Chunk, columns: list[Cells]) -> Chunk:
    """The chunk with decimal points instead of commas in the columns of figures: another delimiter than a comma comes with them."""
    figures = {
        column.field.index
        for column in columns
        if isinstance(column, NumberCells) or column.field.guess is not Guess.NOTHING
    }
    rows = [[cell.replace(",", ".") if at in figures else cell for at, cell in enumerate(row)] for row in chunk.rows]
    return Chunk(rows, chunk.lines)


def _convert(chunk: Chunk, columns: list[Cells], report: FileReport) -> int:
    """Convert one chunk. Returns the number of good rows."""
    if not chunk.rows:
        return 0
    by_index = list(zip(*chunk.rows))
    dropped = np.zeros(len(chunk.rows), dtype=np.bool_)
    masks: list[tuple[Mask, Mask]] = []  # of each column: cells with a value in the file, and in the table
    for column in columns:
        cells = by_index[column.field.index]
        unknown, bad = column.add(cells)
        masks.append((~unknown | bad, ~unknown))
        if column.field.column.required:
            dropped |= unknown
        if bad.any() or (unknown.any() and column.field.column.required):
            _report_cells(column, cells, unknown, bad, chunk, report)
        if column.field.column.kind is Kind.TIME:
            _report_rounded(column, cells, chunk, report)
    if dropped.any():
        for column in columns:
            column.drop(dropped)
    lost = sum(int((filled & (dropped | ~known)).sum()) for filled, known in masks)
    report.count("cells", seen=lost, told=lost)
    report.count("rows", told=int(dropped.sum()))
    return len(chunk.rows) - int(dropped.sum())


def _report_cells(
    column: Cells, cells: tuple[str, ...], unknown: Mask, bad: Mask, chunk: Chunk, report: FileReport
) -> None:
    """Report invalid cells, and empty cells of required columns."""
    declared = column.field.column
    name = declared.headers[0]
    for row in np.flatnonzero(bad | unknown if declared.required else bad).tolist():
        cell = cells[row]
        if not isinstance(column, NumberCells):
            code = "bad_bytes" if bad[row] else "bad_required_cell"
        elif declared.required:
            code = "bad_required_cell"
        else:
            code = "bad_cell" if float_or_none(cell) is not None or not _is_float(cell) else "not_a_number"
        report.add(code, f"line {chunk.lines[row]}, {name}", found=cell.strip(), kind=declared.key)


def _is_float(cell: str) -> bool:
    """Whether Python parses the cell as a float, nan and inf included."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _report_rounded(column: Cells, cells: tuple[str, ...], chunk: Chunk, report: FileReport) -> None:
    """Report times that a spreadsheet program rounded, such as 1.69512E+15."""
    joined = "".join(cells)
    if "E" not in joined and "e" not in joined:
        return
    declared = column.field.column
    for row, cell in enumerate(cells):
        if "e" in cell.lower() and float_or_none(cell) is not None:
            where = f"line {chunk.lines[row]}, {declared.headers[0]}"
            report.add("precision_lost", where, found=cell.strip(), kind=declared.key)
