"""Hides slices and ends of arrows that a trace holds twice: a thread cannot run the same slice twice at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.recording import Window, is_short, window_of
from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.spool import Spool
from tb_npu_plugin.scan.events import DTYPES, LEFT_OUT, TraceEvents
from tb_npu_plugin.tables import NULL_INT

#: Odd numbers that mix the columns of a slice.
_FACTORS = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5, 0x85EBCA77C2B2AE63],
    dtype=np.uint64,
)


def hide_repeated_events(events: TraceEvents, file: str, log: ProblemLog) -> TraceEvents:
    """Hide and report slices with the name, thread, start and duration of an earlier one, and ends of arrows with the same id
    too; slices without a duration may be equal. Returns `events` itself if there are none."""
    rows = events.of_phase("Xsf")
    rows = rows[(events.dur[rows] > 0) | (events.phase[rows] != ord("X"))]
    mixed = _mixed(events, rows)
    ordered = np.sort(mixed)
    equal = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(equal):
        return events
    rows = rows[np.isin(mixed, equal)]
    columns: list[NDArray[Any]] = [
        events.ts[rows],
        events.dur[rows],
        events.name[rows],
        events.pid[rows],
        events.tid[rows],
        events.phase[rows],
        events.category[rows],
        events.flow[rows],
    ]
    order = np.lexsort((rows, *columns))
    is_same = np.ones(max(len(rows) - 1, 0), dtype=np.bool_)
    for column in columns:
        is_same &= column[order][1:] == column[order][:-1]
    repeated = np.sort(rows[order][1:][is_same])
    if not len(repeated):
        return events
    first = int(repeated[0])
    name = events.names[events.name[first]] if events.name[first] >= 0 else ""
    report = FileReport(log, events.file_of(first, file), file)
    report.leave_out("events", "repeated_event", f"event {first}", found=name, count=len(repeated), kind="event")
    phase = np.array(events.phase)
    phase[repeated] = LEFT_OUT
    return replace(events, phase=phase)


def _mixed(events: TraceEvents, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return a number of each slice: equal slices have equal ones, and others seldom do."""
    mixed = events.ts[rows].view(np.uint64)
    columns: list[NDArray[Any]] = [events.dur, events.name, events.pid, events.tid, events.flow]
    for factor, column in zip(_FACTORS, columns):
        mixed = (mixed ^ (mixed >> np.uint64(29))) * factor + column[rows].astype(np.int64).view(np.uint64)
    return np.asarray(mixed)


# Drops trace events with times outside the recording, which would stretch every view.

Mask = NDArray[np.bool_]
#: Phases of events with a time. The ts of metadata events means nothing.
_TIMED = "XBEiICstf"
#: Events per step: the columns may be memory-mapped.
_PIECE = 1 << 20


def drop_stray_events(events: TraceEvents, file: str, log: ProblemLog, folder: Path) -> TraceEvents:
    """Drop events that start or end outside the recording; return `events` itself if there are none. Long columns of
    the result are written to new files in `folder`."""
    if is_short(events.ts, events.dur):
        return events
    window = window_of([events.ts])
    if window is None or not any(wrong.any() for wrong in _wrong(events, window)):
        return events
    window = window_of([np.where(_is_timed(events.phase), events.ts, NULL_INT)])
    if window is None:
        return events
    wrong = np.concatenate(list(_wrong(events, window)))
    if not wrong.any():
        return events
    row = int(np.flatnonzero(wrong)[0])
    begins = bool(window.strays(events.ts[row : row + 1])[0])
    found = (
        Message("found.begin", ns=int(events.ts[row])) if begins else Message("found.duration", ns=int(events.dur[row]))
    )
    report, place = FileReport(log, events.file_of(row, file), file), f"event {row}"
    report.leave_out("events", "outside_recording", place, found=found, count=int(wrong.sum()), kind="event")
    spool = Spool(folder)
    columns: dict[str, Any] = {}
    for key, dtype in DTYPES.items():
        column, values = spool.column(dtype), getattr(events, key)
        for first in range(0, len(events), _PIECE):
            column.append(values[first : first + _PIECE][~wrong[first : first + _PIECE]])
        columns[key] = column.values()
    return replace(events, **columns)


def _wrong(events: TraceEvents, window: Window) -> Iterator[Mask]:
    """Yield masks of the events that start or end outside, piece by piece."""
    for first in range(0, len(events), _PIECE):
        piece = slice(first, first + _PIECE)
        start, dur, phase = events.ts[piece], events.dur[piece], events.phase[piece]
        wrong = window.strays(start) | (window.late_ends(start, dur) & (phase == ord("X")))
        yield wrong & _is_timed(phase) if wrong.any() else wrong


def _is_timed(phase: NDArray[np.uint8]) -> Mask:
    return np.isin(phase, [ord(letter) for letter in _TIMED])
