"""Rows of tables whose times cannot be right are lost: they would stretch every view. Databases and traces are looked at
by their readers, as what they hold is worked on before it is a table; see database/recording.py, strays.py of this folder."""

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

#: Keys of the begin of what a row is about, and of how long it takes.
_START, _DURATION = "start_ns", "dur_ns"


def window_of_tables(tables: Mapping[str, Table]) -> Window | None:
    """When a span with these tables was recorded."""
    return window_of([table.ints(column.key) for table in tables.values() for column in _leading(table)])


def times_within(tables: Mapping[str, Table]) -> list[IntArray]:
    """The times of each column of times, ns since the epoch, of those that can be."""
    window = window_of_tables(tables)
    columns = [table.ints(column.key) for table in tables.values() for column in _times(table)]
    return [] if window is None else [times[known(times) & ~window.strays(times)] for times in columns]


def without_strays(tables: Mapping[str, Table], files: Mapping[str, str], log: ProblemLog) -> dict[str, Table]:
    """The tables without rows that begin or end at no time of the recording, and such times of others unknown. files: by
    table, for problems. A table that lies elsewhere for the most part has another clock, or was left by another
    recording: it stays as it is."""
    window = window_of_tables(tables)
    if window is None:
        return dict(tables)
    return {name: _mended(table, window, FileReport(log, files.get(name, ""))) for name, table in tables.items()}


def _times(table: Table) -> list[Column]:
    return [column for column in table.columns if column.kind is Kind.TIME]


def _leading(table: Table) -> list[Column]:
    """Where rows tell when they were recorded."""
    times = _times(table)
    return [column for column in times if column.required] or times[:1]


def _mended(table: Table, window: Window, report: FileReport) -> Table:
    lost = np.zeros(len(table), dtype=np.bool_)
    changed: dict[str, IntArray] = {}
    leading = _leading(table)
    for column in _times(table):
        times = table.ints(column.key)
        wrong = window.strays(times)
        if not wrong.any() or 2 * int(wrong.sum()) > int(known(times).sum()):
            continue
        if column in leading:
            _tell(report, "outside_recording", column, times, wrong & ~lost)
            lost |= wrong
        else:
            _tell(report, "bad_cell", column, times, wrong)
            changed[column.key] = np.where(wrong, NULL_INT, times)
    late = _late(table, window) & ~lost
    if late.any():
        _tell(report, "outside_recording", table.column(_DURATION), table.ints(_DURATION), late)
        lost |= late
    if changed:
        table = replace(table, data={**table.data, **changed})
    return table.take(~lost) if lost.any() else table


def _late(table: Table, window: Window) -> NDArray[np.bool_]:
    """Mask of the rows that end beyond the recording."""
    if not (table.has(_START) and table.has(_DURATION)):
        return np.zeros(len(table), dtype=np.bool_)
    return window.late_ends(table.ints(_START), table.ints(_DURATION))


def _tell(report: FileReport, code: str, column: Column, values: IntArray, wrong: NDArray[np.bool_]) -> None:
    if wrong.any():
        where = column.headers[0] if column.headers else column.title
        found = Message("found.ns", ns=int(values[np.flatnonzero(wrong)[0]]))
        report.add(code, where, found=found, kind=column.key, count=int(wrong.sum()))
