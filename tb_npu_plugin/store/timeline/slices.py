"""Slices of a trace: complete events, begin/end pairs and instants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.recording import is_plausible
from tb_npu_plugin.problems import ProblemLog, problem_of
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.scan import TraceEvents
from tb_npu_plugin.scan.events import LEFT_OUT
from tb_npu_plugin.tables import IntArray

_DRAWN = "XBEiICMsft"


@dataclass(frozen=True)
class Slices:
    """The events that are slices.

    Attributes:
        event: Their rows in TraceEvents, as int32 where they fit.
        odd, odd_dur: Rows, ascending, and durations in ns of the slices whose event does not hold their duration.
        begin, end: Rows of the "B" and the "E" event of the slices that have both.
    """

    event: NDArray[Any]
    odd: NDArray[np.int64]
    odd_dur: IntArray
    begin: NDArray[np.int64]
    end: NDArray[np.int64]

    def times(self, events: TraceEvents, rows: NDArray[Any]) -> tuple[IntArray, IntArray]:
        """(start in ns since the epoch, duration in ns) of some of these events, as new arrays."""
        dur = events.dur[rows]
        if len(self.odd):
            place = np.minimum(np.searchsorted(self.odd, rows), len(self.odd) - 1)
            dur = np.where(self.odd[place] == rows, self.odd_dur[place], dur)
        return events.ts[rows], dur


def make_slices(events: TraceEvents, file: str, log: ProblemLog) -> Slices:
    """All slices of a trace. Events that cannot be drawn are reported as Problems."""
    named = (events.name >= 0) & is_plausible(events.ts)
    complete = events.of_phase("X")
    good = named[complete] & (events.dur[complete] >= 0)
    _report_lost(events, complete[~good], file, log)
    complete = complete[good]
    instants = events.of_phase("iI")
    _report_lost(events, instants[~named[instants]], file, log)
    instants = instants[named[instants]]
    ends = events.of_phase("stf")  # of arrows
    _report_lost(events, ends[~is_plausible(events.ts[ends]) | (events.flow[ends] < 0)], file, log)
    _report_without_thread(events, np.concatenate([complete, instants, ends]), file, log)
    begins, pair_dur, pair_end = _pairs(events, named, file, log)
    _report_other_phases(events, file, log)
    odd = np.concatenate([begins, instants])
    odd_dur = np.concatenate([pair_dur, np.zeros(len(instants), dtype=np.int64)])
    order = np.argsort(odd)
    narrow = np.int32 if len(events) < 2**31 else np.int64
    both = pair_end >= 0
    every = np.concatenate([complete, odd], dtype=narrow)
    return Slices(every, odd[order], odd_dur[order], begins[both], pair_end[both])


def _pairs(
    events: TraceEvents, named: NDArray[np.bool_], file: str, log: ProblemLog
) -> tuple[NDArray[np.int64], IntArray, NDArray[np.int64]]:
    """(begin events, durations in ns, end events). A slice without an end event, -1, runs to the last time of the trace."""
    rows = events.of_phase("BE")
    timed = is_plausible(events.ts[rows])
    _report_lost(events, rows[~timed], file, log)
    rows = rows[timed]
    if not len(rows):
        return rows, np.zeros(0, dtype=np.int64), rows
    rows = rows[np.argsort(events.ts[rows], kind="stable")]
    last = int(events.ts[is_plausible(events.ts)].max())
    stacks: dict[tuple[int, int], list[int]] = {}
    begins: list[int] = []
    durations: list[int] = []
    ends: list[int] = []
    lost = 0
    columns = zip(*(part.tolist() for part in (rows, events.phase[rows], events.pid[rows], events.tid[rows])))
    for row, phase, pid, tid in columns:
        stack = stacks.setdefault((pid, tid), [])
        if phase == ord("B"):
            stack.append(row)
        elif stack:
            begin = stack.pop()
            begins.append(begin)
            durations.append(int(events.ts[row] - events.ts[begin]))
            ends.append(row)
        else:
            lost += 1
    unfinished = [row for stack in stacks.values() for row in stack]
    if lost or unfinished:
        log.add(problem_of("unpaired_event", file, ends=lost, begins=len(unfinished)))
        log.seen.add(file, "events", told=lost)
    begins += unfinished
    durations += [last - int(events.ts[row]) for row in unfinished]
    ends += [-1] * len(unfinished)
    out, dur, end = (np.array(column, dtype=np.int64) for column in (begins, durations, ends))
    keep = named[out]
    _report_lost(events, np.concatenate([out[~keep], end[~keep & (end >= 0)]]), file, log)
    return out[keep], dur[keep], end[keep]


def _report_lost(events: TraceEvents, rows: NDArray[np.int64], file: str, log: ProblemLog) -> None:
    if not len(rows):
        return
    row = int(rows[0])
    missing = [
        word
        for word, gone in (
            ("name", events.name[row] < 0),
            ("ts", not is_plausible(events.ts[row])),
            ("dur", chr(events.phase[row]) == "X" and not events.dur[row] >= 0),
            ("id", chr(events.phase[row]) in "stf" and events.flow[row] < 0),
        )
        if gone
    ]
    log.add(
        problem_of(
            "incomplete_event", events.file_of(row, file), f"event {row}", names=", ".join(missing), times=len(rows)
        )
    )
    log.seen.add(file, "events", told=len(rows))


def _report_without_thread(events: TraceEvents, rows: NDArray[np.int64], file: str, log: ProblemLog) -> None:
    lost = rows[(events.pid[rows] < 0) | (events.tid[rows] < 0)]
    if len(lost):
        row = int(lost.min())
        FileReport(log, events.file_of(row, file)).add("no_thread_id", f"event {row}", count=len(lost))


def _report_other_phases(events: TraceEvents, file: str, log: ProblemLog) -> None:
    other = ~np.isin(events.phase, [*map(ord, _DRAWN), LEFT_OUT])
    if not other.any():
        return
    row = int(np.flatnonzero(other)[0])
    letters = sorted({chr(code) if code else "?" for code in np.unique(events.phase[other]).tolist()})
    log.add(
        problem_of(
            "unknown_phase",
            events.file_of(row, file),
            f"event {row}",
            phases=", ".join(letters),
            times=int(other.sum()),
        )
    )
    log.seen.add(file, "events", told=int(other.sum()))
