"""Reads graph iterations of msprof: step_trace_*.csv. Source: the vendor's reference of msprof's files."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Optional

from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import ProblemLog, problem_of
from tb_npu_plugin.readers.shared.figures import RowBuilder
from tb_npu_plugin.readers.shared.json_shapes import lost_of_most
from tb_npu_plugin.readers.shared.reading import Reading, Tables
from tb_npu_plugin.readers.shared.text_rows import CsvRows, is_number, open_rows, text
from tb_npu_plugin.schema import msprof as names
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.schema.core import normalise_header
from tb_npu_plugin.tables import NULL_INT, Table, known
from tb_npu_plugin.units import TIME_UNITS, unit_of

#: Kernels farther from the iterations than this are on another clock, ns.
_NEAR = 24 * 3600 * 10**9
_WORD = 1 << 64
_TIMES = ("start_ns", "end_ns", "fp_ns", "bp_ns")
_FIGURES = ("end_ns", "total_ns", "fp_ns", "bp_ns", "interval_ns", "fp_bp_ns", "tail_ns")


@dataclass(frozen=True)
class _Row:
    """One iteration; figures by key of the table. reduces: start and duration of each, ns."""

    origin: tuple[Optional[str], Optional[str]]  # device, model
    number: str
    figures: dict[str, Optional[int]]
    reduces: list[tuple[int, int]]


def read_iterations(reading: Reading) -> Tables:
    """Return `iterations` and `iteration_reduces`; {} if the file is unreadable. Rows without a number or an end are
    skipped and reported."""
    report = reading.report
    with open_rows(reading) as rows:
        if rows is None:
            return {}
        positions = {normalise_header(header): place for place, header in reversed(list(enumerate(rows.header)))}
        missing = [
            name for name in (names.ITERATION_ID, names.ITERATION_END) if normalise_header(name) not in positions
        ]
        if missing:
            rows.report_missing(", ".join(missing))
            return {}
        headers = [column.headers[0] for column in names.ITERATIONS.columns if column.headers]
        lost = lost_of_most(list(map(normalise_header, headers)), positions)
        for header in (one for one in headers if normalise_header(one) in lost):
            report.add("lost_column", "line 1", expected=Message("expected.column", column=header), kind=header)
        _report_lost_reduces(rows)
        found = [row for line, cells in rows.lines if (row := _row(rows, cells, line, positions)) is not None]
    if not found:
        report.add("no_rows")
    tables = _tables(found)
    report.count("rows", shown=len(tables["iterations"]))
    return tables


def _report_lost_reduces(rows: CsvRows) -> None:
    """Report reduces with a start or a duration alone."""
    headers = list(map(normalise_header, rows.header))
    starts, durations = (headers.count(normalise_header(name)) for name in (names.REDUCE_START, names.REDUCE_DURATION))
    if starts != durations:
        lost = names.REDUCE_START if starts < durations else names.REDUCE_DURATION
        rows.report.add("lost_column", "line 1", expected=Message("expected.column", column=lost), kind=lost)


def _row(rows: CsvRows, cells: list[str], line: int, positions: dict[str, int]) -> _Row | None:
    """Return the iteration of a line; None, and a problem, if it is invalid."""
    place = {
        column.key: positions.get(normalise_header(column.headers[0]))
        for column in names.ITERATIONS.columns
        if column.headers
    }
    figures = {key: _time(rows, cells, place[key], line) for key in _FIGURES}
    number, end, total = text(cells, place["step"]), figures["end_ns"], figures["total_ns"]
    if number is None or not is_number(number) or end is None or (total is not None and total < 0):
        rows.report.leave_out("rows", "bad_required_cell", f"line {line}", found=",".join(cells[:5]))
        return None
    figures["start_ns"] = figures["fp_ns"] if total is None else end - total
    starts, durations = (
        [i for i, header in enumerate(rows.header) if normalise_header(header) == normalise_header(name)]
        for name in (names.REDUCE_START, names.REDUCE_DURATION)
    )
    reduces = []
    for start_place, duration_place in zip(starts, durations):
        start, duration = _time(rows, cells, start_place, line), _duration(rows, cells, duration_place, line)
        if start is not None and duration is not None:
            reduces.append((start, duration))
    device, model = (text(cells, positions.get(normalise_header(name))) for name in (names.DEVICE, names.MODEL))
    return _Row((device, model), number, figures, reduces)


def _time(rows: CsvRows, cells: list[str], place: int | None, line: int) -> int | None:
    """Return a time in ns; headers of older releases have no unit and mean microseconds."""
    return None if place is None else rows.integer(cells, place, _factor(rows.header[place]), line)


def _duration(rows: CsvRows, cells: list[str], place: int, line: int) -> int | None:
    """Return a duration in ns. For the first reduce, msprof writes start - end as an unsigned 64-bit number."""
    try:
        value = Decimal(cells[place].strip()) * _factor(rows.header[place])
        if _WORD // 2 <= value < _WORD:
            return _WORD - int(value)
    except ArithmeticError:
        pass  # not a number: reported below
    return _time(rows, cells, place, line)


def _factor(header: str) -> int:
    return TIME_UNITS.get(unit_of(header), TIME_UNITS[names.ITERATION_UNIT])


def _tables(found: list[_Row]) -> Tables:
    """Build the tables. Iterations are counted per graph: step names include the device or model if there are several."""
    steps, reduces = RowBuilder(columns_of("iterations")), RowBuilder(columns_of("iteration_reduces"))
    varies = [len({row.origin[part] for row in found}) > 1 for part in (0, 1)]
    for row in sorted(found, key=lambda row: (*(name or "" for name in row.origin), row.figures["end_ns"] or 0)):
        origin = [name or "" for name, shown in zip(row.origin, varies) if shown]
        step = "/".join([*origin, row.number])
        values = {"step": step, "average": 0, **row.figures}
        steps.add(*(values[column.key] for column in columns_of("iterations")))
        for number, (start, duration) in enumerate(row.reduces, 1):
            reduces.add(step, names.REDUCE_NAME.format(number), None, start, duration)
    return {"iterations": steps.table(), "iteration_reduces": reduces.table()}


def with_checked_clock(tables: Tables, log: ProblemLog) -> Tables:
    """Remove the times of iterations if they are on another clock than the kernels."""
    steps, kernels = tables.get("iterations"), tables.get("kernels")
    if steps is None or kernels is None:
        return tables
    ends, starts = (values[known(values)] for values in (steps.ints("end_ns"), kernels.ints("start_ns")))
    if not len(ends) or not len(starts) or (ends.max() > starts.min() - _NEAR and ends.min() < starts.max() + _NEAR):
        return tables
    log.add(problem_of("other_clock", "", names.ITERATIONS.name))
    unknown = {key: steps.ints(key) * 0 + NULL_INT for key in _TIMES}
    kept = {name: table for name, table in tables.items() if name != "iteration_reduces"}
    return {**kept, "iterations": Table(steps.columns, {**steps.data, **unknown})}
