"""The step, or the iteration of a serving engine, of each task of an NPU in its trace, by its launch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.steps.marks import MOST, Steps, engine_ranges, iterations_in
from tb_npu_plugin.analysis.steps.windows import StepWindows
from tb_npu_plugin.scan import TraceEvents
from tb_npu_plugin.schema import trace
from tb_npu_plugin.schema.serving import GRAPH_LAUNCH, mark_of
from tb_npu_plugin.store.timeline.operators import complete, launches
from tb_npu_plugin.tables import NULL_INT, IntArray, StringColumn

Index = NDArray[np.int64]


def step_marks(events: TraceEvents) -> dict[str, tuple[int, int]]:
    """Start and end of the mark of each step, by start. Newer releases mark a step on the device, too: the host's mark is the
    first one."""
    codes = [code for code, name in enumerate(events.names) if name.startswith(trace.STEP_MARK)]
    rows = complete(events, np.flatnonzero(np.isin(events.name, codes)))
    rows = rows[np.argsort(events.ts[rows], kind="stable")]
    out: dict[str, tuple[int, int]] = {}
    for row in rows.tolist():
        start = int(events.ts[row])
        out.setdefault(events.names[events.name[row]][len(trace.STEP_MARK) :], (start, start + int(events.dur[row])))
    return out


def engine_marks(events: TraceEvents) -> Index:
    """Marks of iterations of serving engines."""
    codes = [code for code, name in enumerate(events.names) if mark_of(name) is not None]
    return complete(events, np.flatnonzero(np.isin(events.name, codes)))


def graph_calls(events: TraceEvents) -> Index:
    """Calls that replay a graph."""
    codes = [code for code, name in enumerate(events.names) if GRAPH_LAUNCH.fullmatch(name)]
    return complete(events, np.flatnonzero(np.isin(events.name, codes)))


def launches_of(events: TraceEvents) -> Index:
    """The launch of each event, -1 for none: its operator, as the task queue may run late, else its CANN call."""
    out = np.full(len(events), -1, dtype=np.int64)
    for category in (trace.HOST_TO_DEVICE, trace.ASYNC_NPU):
        begins, tasks = launches(events, category, every=True)
        out[tasks] = begins
    return out


@dataclass(frozen=True)
class MarkedSteps:
    """The marked steps, by start on the host. windows: None without marks."""

    names: list[str]
    start: IntArray
    windows: StepWindows | None

    @staticmethod
    def of(events: TraceEvents, marks: dict[str, tuple[int, int]], own: Index, launched_by: Index) -> MarkedSteps:
        """marks: see step_marks. own: tasks that bound a step."""
        start = np.array([mark[0] for mark in marks.values()], dtype=np.int64)
        if not marks:
            return MarkedSteps([], start, None)
        launch, begin = launched_by[own], events.ts[own]
        launched = np.where(launch >= 0, events.ts[launch], NULL_INT)
        end = np.array([mark[1] for mark in marks.values()], dtype=np.int64)
        return MarkedSteps(list(marks), start, StepWindows.of((start, end), launched, begin, begin + events.dur[own]))

    def numbers(self, starts: IntArray) -> IntArray:
        """The index of the step of each device time (ascending), -1 for none. Without marks, all is one step."""
        return np.zeros(len(starts), dtype=np.int64) if self.windows is None else self.windows.at(starts)

    def at(self, starts: IntArray) -> StringColumn:
        """The marked step of each device time (ascending)."""
        found = self.numbers(starts) if self.names else np.full(len(starts), -1)
        return StringColumn(found.astype(np.int32), self.names)


def iterations_at(
    events: TraceEvents, marks: Index, rows: Index, launched_by: Index
) -> tuple[Steps, StringColumn] | None:
    """The iterations, and that of each of `rows`: the one that launched it; None without any. Threads of all processes of the
    host share ids (trace.PROGRAM). Without marks, calls that replay a graph are iterations if they launch nearly all rows."""
    is_marked = len(marks) > 0
    marks = marks if is_marked else graph_calls(events)
    launch = launched_by[rows]
    has_launch = launch >= 0
    times, thread = events.ts[launch[has_launch]], events.tid[launch[has_launch]].astype(np.int64)
    ranges = engine_ranges(
        events.ts[marks],
        events.dur[marks],
        events.tid[marks].astype(np.int64),
        StringColumn.of(events.names[code] for code in events.name[marks].tolist()),
    )
    found = iterations_in(ranges, times, thread)
    if found is None:
        return None
    codes = np.full(len(rows), -1, dtype=np.int32)
    codes[has_launch] = found.at(times, thread).codes
    if not is_marked and np.count_nonzero(codes >= 0) < MOST * len(rows):
        return None
    return found, StringColumn(codes, found.names.values)
