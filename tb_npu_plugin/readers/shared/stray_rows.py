"""Drops table rows with times outside the recording, which would stretch every view.

The readers of databases and traces check times themselves, before they derive tables; see database/source.py and
repeated_events.py in this folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.recording import Window, window_of
from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.tables import NULL_INT, Column, IntArray, Kind, Table, known

#: Keys of the start and the duration.
_START, _DURATION = "start_ns", "dur_ns"


def window_of_tables(tables: Mapping[str, Table]) -> Window | None:
    """Return the time window of the recording, from the tables of a span; None if unknown."""
    return window_of([table.ints(column.key) for table in tables.values() for column in _dating_columns(table)])


def times_within(tables: Mapping[str, Table]) -> list[IntArray]:
    """Return the known times (ns since the epoch) inside the recording, one array per time column."""
    window = window_of_tables(tables)
    columns = [table.ints(column.key) for table in tables.values() for column in _times(table)]
    return [] if window is None else [times[known(times) & ~window.strays(times)] for times in columns]


def drop_stray_rows(tables: Mapping[str, Table], files: Mapping[str, str], log: ProblemLog) -> dict[str, Table]:
    """Drop rows that start or end outside the recording, and set other such times to unknown. A column with most of its
    times outside has another clock or comes from another recording: it stays unchanged. files: table -> file name, for
    problems."""
    window = window_of_tables(tables)
    if window is None:
        return dict(tables)
    return {name: _drop_strays(table, window, FileReport(log, files.get(name, ""))) for name, table in tables.items()}


def _times(table: Table) -> list[Column]:
    return [column for column in table.columns if column.kind is Kind.TIME]


def _dating_columns(table: Table) -> list[Column]:
    """Return the columns that date a row: the required times, or else the first one."""
    times = _times(table)
    return [column for column in times if column.required] or times[:1]


def _drop_strays(table: Table, window: Window, report: FileReport) -> Table:
    dropped = np.zeros(len(table), dtype=np.bool_)
    changed: dict[str, IntArray] = {}
    leading = _dating_columns(table)
    for column in _times(table):
        times = table.ints(column.key)
        wrong = window.strays(times)
        if not wrong.any() or 2 * int(wrong.sum()) > int(known(times).sum()):
            continue
        if column in leading:
            _report(report, "outside_recording", column, times, wrong & ~dropped)
            dropped |= wrong
        else:
            _report(report, "bad_cell", column, times, wrong)
            changed[column.key] = np.where(wrong, NULL_INT, times)
    late = _late_rows(table, window) & ~dropped
    if late.any():
        _report(report, "outside_recording", table.column(_DURATION), table.ints(_DURATION), late)
        dropped |= late
    if changed:
        table = replace(table, data={**table.data, **changed})
    return table.take(~dropped) if dropped.any() else table


def _late_rows(table: Table, window: Window) -> NDArray[np.bool_]:
    """Mask of the rows that end after the recording."""
    if not (table.has(_START) and table.has(_DURATION)):
        return np.zeros(len(table), dtype=np.bool_)
    return window.late_ends(table.ints(_START), table.ints(_DURATION))


def _report(report: FileReport, code: str, column: Column, values: IntArray, wrong: NDArray[np.bool_]) -> None:
    if wrong.any():
        where = column.headers[0] if column.headers else column.title
        found = Message("found.ns", ns=int(values[np.flatnonzero(wrong)[0]]))
        report.add(code, where, found=found, kind=column.key, count=int(wrong.sum()))
