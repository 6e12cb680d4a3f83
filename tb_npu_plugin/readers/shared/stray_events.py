"""Drops trace events with times outside the recording, which would stretch every view."""

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
from tb_npu_plugin.scan.events import DTYPES, TraceEvents
from tb_npu_plugin.tables import NULL_INT

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
