"""Reads step traces and cluster figures of legacy results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tb_npu_plugin.messages import Message
from tb_npu_plugin.readers.shared.figures import RowBuilder
from tb_npu_plugin.readers.shared.json_file import load_object, read_text
from tb_npu_plugin.readers.shared.reading import Reading, Tables
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.text_rows import CsvRows, is_number, open_rows, text
from tb_npu_plugin.schema import mindinsight as names
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.tables import Table
from tb_npu_plugin.units import TIME_UNITS, scale_decimal

#: Line number of the first step in ascend_cluster_analyse.
_FIRST_STEP = 2


@dataclass(frozen=True)
class _Reduce:
    """Column indices of one all-reduce; columns may have any order."""

    header: str
    name: str
    stream: int | None
    start: int | None
    end: int | None


def read_step_trace(reading: Reading) -> Tables:
    """Return `iterations` and `iteration_reduces` of step_trace_raw; {} if the file is unreadable. Rows without start
    and end are skipped and reported. Durations are computed from the points and compared with the recorded ones."""
    report = reading.report
    steps, reduces = RowBuilder(columns_of("iterations")), RowBuilder(columns_of("iteration_reduces"))
    with open_rows(reading) as rows:
        if rows is None:
            return {}
        positions = {
            column.key: rows.first_position(column.headers) for column in columns_of("iterations") if column.headers
        }
        headers = {column.key: column.headers[0] for column in columns_of("iterations") if column.headers}
        missing = [headers[key] for key in ("step", "start_ns", "end_ns", "fp_ns") if positions[key] is None]
        if missing:
            rows.report_missing(", ".join(missing))
            return {}
        found = _reduces(rows.header)
        rows.report_unknown_headers(_known_headers(found))
        rows.report_lost_headers([*headers.values()])
        count = 0
        for line, cells in rows.lines:
            if _add_step(rows, cells, line, positions, steps):
                count += 1
                _add_reduces(rows, cells, line, positions["step"], found, reduces)
    if rows.source.rows and not count:
        report.add("no_rows")
    return {"iterations": _in_order(steps.counted(report)), "iteration_reduces": reduces.table()}


def _in_order(steps: Table) -> Table:
    """Order by start, which identifies the first step; the average comes after all steps."""
    return steps.take(np.lexsort((steps.ints("start_ns"), steps.ints("average"))))


def _add_step(rows: CsvRows, cells: list[str], line: int, positions: dict[str, int | None], out: RowBuilder) -> bool:
    """Add a row. Returns whether it is a step. A row that is neither a valid step nor the average is reported and
    skipped."""
    step = text(cells, positions["step"])
    is_average = step == names.AVERAGE_STEP
    start, end, total, fp, bp, interval, fp_bp, tail = (
        rows.integer(cells, positions[key], names.COUNT_NS, line)
        for key in ("start_ns", "end_ns", "total_ns", "fp_ns", "bp_ns", "interval_ns", "fp_bp_ns", "tail_ns")
    )
    if not is_average:
        if not is_number(step) or start is None or end is None or end < start:
            rows.report.leave_out("rows", "bad_required_cell", f"line {line}", found=",".join(cells[:5]))
            return False
        fp = _point_in_step(rows.report, "fp_point", fp, start, end, line)
        bp = _point_in_step(rows.report, "bp_point", bp, start if fp is None else fp, end, line)
        # The first step has no previous end: its start is missing, or is the start of forward.
        computed = (end - start, _difference(fp, start), _difference(bp, fp), _difference(end, bp))
        for name, stated, ours in zip(
            ("total", "iteration_interval", "fp_and_bp", "tail"), (total, interval, fp_bp, tail), computed
        ):
            if stated is not None and ours is not None and stated != ours:
                where, found = f"line {line}, {name}", str(stated // names.COUNT_NS)
                expected = Message("expected.step_points", value=ours // names.COUNT_NS)
                rows.report.add("inconsistent", where, expected=expected, found=found, kind=name)
        total = computed[0]
        interval, fp_bp, tail = (
            _fitting_part(stated, total) if ours is None else ours
            for stated, ours in zip((interval, fp_bp, tail), computed[1:])
        )
    out.add(None if is_average else step, int(is_average), start, end, total, fp, bp, interval, fp_bp, tail)
    return not is_average


def _point_in_step(report: FileReport, name: str, point: int | None, start: int, end: int, line: int) -> int | None:
    """Return the point if it lies in its step, else None and a problem: durations from it would be negative."""
    if point is None or start <= point <= end:
        return point
    report.add("bad_cell", f"line {line}, {name}", found=str(point // names.COUNT_NS), kind=name)
    return None


def _fitting_part(stated: int | None, total: int) -> int | None:
    """Return the recorded part of a step if it fits into the step, else None."""
    return stated if stated is not None and 0 <= stated <= total else None


def _difference(last: int | None, first: int | None) -> int | None:
    return None if last is None or first is None else last - first


def _reduces(header: list[str]) -> list[_Reduce]:
    found = []
    for name in header:
        matched = names.REDUCE_NAME.fullmatch(name)
        if matched is None or name.endswith((names.REDUCE_START, names.REDUCE_END)):
            continue
        start, end = (
            header.index(name + suffix) if name + suffix in header else None
            for suffix in (names.REDUCE_START, names.REDUCE_END)
        )
        found.append(_Reduce(name, matched.group("name"), scale_decimal(matched.group("stream"), 1), start, end))
    return found


def _known_headers(found: list[_Reduce]) -> set[str]:
    """Return the headers that are read: those of points, and of all-reduces with start and end."""
    reduces = {reduce.header for reduce in found if reduce.start is not None and reduce.end is not None}
    points = {name for column in columns_of("iterations") for name in column.headers}
    return points | {name + end for name in reduces for end in ("", names.REDUCE_START, names.REDUCE_END)}


def _add_reduces(
    rows: CsvRows, cells: list[str], line: int, step_place: int | None, found: list[_Reduce], out: RowBuilder
) -> None:
    step = text(cells, step_place)
    for reduce in found:
        start = rows.integer(cells, reduce.start, names.COUNT_NS, line)
        end = rows.integer(cells, reduce.end, names.COUNT_NS, line)
        if start and end and 0 < start <= end:
            out.add(step, reduce.name, reduce.stream, start, end - start)
        elif (start or end) and reduce.start is not None and reduce.end is not None:
            # Both are 0 or empty where it did not run in this step.
            where = f"line {line}, {reduce.header}"
            rows.report.add("bad_cell", where, found=f"{start} to {end} ns", kind=reduce.header)


def read_points(reading: Reading) -> Tables:
    """Return `step_points` of step_trace_point_info.json, which has one object or one per step; {} if it is
    unreadable."""
    report = reading.report
    content = read_text(reading)
    value = None if content is None else load_object('{"steps":' + content + "}", report, exact=False)
    if value is None:
        return {}
    steps = value["steps"]
    each: list[tuple[str | None, Any]] = [(None, steps)]
    if isinstance(steps, list):
        each = [(str(number), item) for number, item in enumerate(steps, 1)]
    elif isinstance(steps, dict) and steps and all(isinstance(item, dict) for item in steps.values()):
        each = list(steps.items())
    rows = RowBuilder(columns_of("step_points"))
    report.count("entries", seen=len(each))
    for step, item in each:
        if not isinstance(item, dict):
            report.leave_out_entry(step or "", item)
            continue
        first, last = (_first_operator(item, keys, report) for keys in (names.FP_KEYS, names.BP_KEYS))
        lost = [keys[0] for keys in (names.FP_KEYS, names.BP_KEYS) if not any(key in item for key in keys)]
        for key in lost if len(lost) == 1 else ():
            report.add("lost_key", ", ".join(filter(None, (step, key))))
        rows.add(step, first, last)
    return {"step_points": rows.counted(report, "entries")}


def _first_operator(item: dict[str, Any], keys: tuple[str, ...], report: FileReport) -> str | None:
    """Return the operator under the first key found."""
    value = next((item[key] for key in keys if key in item), None)
    if value is None or isinstance(value, str):
        return value or None
    report.add("unexpected_shape", keys[0], expected=Message("expected.name"), found=str(value), kind=keys[0])
    return None


def read_cluster(reading: Reading) -> Tables:
    """Return `parallel_times` of ascend_cluster_analyse. Its last row, if valid, is the profiler's average."""
    report = reading.report
    found: list[tuple[int, list[int | None]]] = []
    with open_rows(reading) as rows:
        if rows is None:
            return {}
        positions = [rows.first_position(column.headers) for column in columns_of("parallel_times") if column.headers]
        if all(place is None for place in positions):
            rows.report_missing("")
            return {}
        headers = [name for column in columns_of("parallel_times") for name in column.headers]
        rows.report_unknown_headers(headers)
        if names.PIPELINE in reading.name:  # other modes write some of them
            rows.report_lost_headers(headers)
        for line, cells in rows.lines:
            found.append((line, [rows.integer(cells, place, TIME_UNITS["ms"], line) for place in positions]))
        last = rows.source.last
    out = RowBuilder(columns_of("parallel_times"))
    seen: set[tuple[int | None, ...]] = set()
    for line, values in found:
        if len(found) > _FIRST_STEP and tuple(values) in seen:  # the average of one step equals it
            report.leave_out("rows", "repeated_row", f"line {line}")
            continue
        seen.add(tuple(values))
        # Steps are numbered by line, so that a broken row does not shift the others.
        is_average = line == last > _FIRST_STEP
        out.add(None if is_average else line - _FIRST_STEP + 1, int(is_average), *values)
    return {"parallel_times": out.counted(report)}
