"""What the vendor's parser works out of device times: overlap rows and step windows (docs/facts/ascend_pt.md,
step_trace_time.csv, Overlap Analysis)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.capture.simulation.records import Segment, Step, arrays

#: Rows (start, end).
Intervals = NDArray[np.int64]
#: Rows of Overlap Analysis: (start, end, kind).
OverlapRows = NDArray[np.int64]
_NONE: Intervals = np.zeros((0, 2), dtype=np.int64)
NO_ROWS: OverlapRows = np.zeros((0, 3), dtype=np.int64)
#: Places in trace_events.OVERLAPS.
COMPUTING, COMMUNICATION, ALONE, FREE = range(4)


def _intervals(records: Sequence[Any]) -> Intervals:
    starts, durs = arrays(records, "start", "dur")
    return np.stack([starts, starts + durs], axis=1)


def merge(intervals: Intervals) -> Intervals:
    """Merge intervals that overlap or touch; sorted."""
    if not len(intervals):
        return intervals
    intervals = intervals[np.argsort(intervals[:, 0], kind="stable")]
    ends = np.maximum.accumulate(intervals[:, 1])
    first = np.flatnonzero(np.concatenate([[True], intervals[1:, 0] > ends[:-1]]))
    return np.stack([intervals[first, 0], ends[np.append(first[1:], len(ends)) - 1]], axis=1)


def subtract(left: Intervals, right: Intervals) -> Intervals:
    """Parts of `left` outside `right`; both merged."""
    edges = np.unique(np.concatenate([left, right]))
    starts = edges[:-1]
    return np.stack([starts, edges[1:]], axis=1)[_is_in(left, starts) & ~_is_in(right, starts)]


def _is_in(merged: Intervals, at: Intervals) -> NDArray[np.bool_]:
    return np.searchsorted(merged[:, 0], at, side="right") > np.searchsorted(merged[:, 1], at, side="right")


class Overlap:
    """The rows of Overlap Analysis, worked out while records come.

    rows    those that the last segment has completed, in file order
    before  nothing that follows begins earlier
    """

    rows: OverlapRows = NO_ROWS
    before = 0

    def __init__(self) -> None:
        self._computing = self._communication = _NONE  # (start, end) of what is not complete yet
        self._idle_since: int | None = None

    def add(self, segment: Segment) -> None:
        computes = np.array([task.kernel.core != "" for task in segment.tasks], dtype=bool)
        self._computing = np.concatenate([self._computing, _intervals(segment.tasks)[computes]])
        self._communication = np.concatenate([self._communication, _intervals(segment.comm)])
        # up to the start of the busy time that goes on at the end of the segment
        until = min(segment.until, (1 << 63) - 1)
        busy = merge(np.concatenate([self._computing, self._communication]))
        last = int(np.searchsorted(busy[:, 0], until)) - 1
        self.rows = self._complete(int(busy[last, 0]) if last >= 0 and busy[last, 1] >= until else until)
        starts = [int(open_[:, 0].min()) for open_ in (self._computing, self._communication) if len(open_)]
        self.before = min([segment.until, *(starts if self._idle_since is None else [self._idle_since])])

    def finish(self) -> None:
        self.rows, self.before = self._complete((1 << 63) - 1), 1 << 63

    def _complete(self, before: int) -> OverlapRows:
        open_ = self._computing, self._communication
        computing, communication = (merge(each[each[:, 0] < before]) for each in open_)
        self._computing, self._communication = (each[each[:, 0] >= before] for each in open_)
        busy = merge(np.concatenate([computing, communication]))
        if not len(busy):
            return NO_ROWS
        ends = busy[:-1, 1] if self._idle_since is None else np.append(self._idle_since, busy[:-1, 1])
        free = np.stack([ends, busy[len(busy) - len(ends) :, 0]], axis=1)
        self._idle_since = int(busy[-1, 1])
        kinds = computing, communication, subtract(communication, computing), free
        numbers = np.repeat(np.arange(len(kinds)), [len(kind) for kind in kinds])
        rows = np.column_stack([np.concatenate(kinds), numbers])
        return rows[np.lexsort((numbers, rows[:, 0]))]


class Windows:
    """Steps on the device: from the first task or communication that a step launched to its last one or the end of the
    step on the host."""

    def __init__(self) -> None:
        self.known: list[tuple[int, int, Step]] = []

    def add(self, segment: Segment) -> None:
        step = segment.step
        if step is None:
            return
        launched = [*segment.tasks, *segment.comm]
        (acls,) = arrays(launched, "acl")
        # The task queue may launch after the end of the step what its operators have enqueued.
        tasks = _intervals(launched)[(acls >= step.start) & (acls != 0)]
        if len(tasks):
            self.known.append((int(tasks[:, 0].min()), max(step.end, int(tasks[:, 1].max())), step))


class StepFinder:
    """The step of what begins at a time on the device: the first window that holds it. Times never go back."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows.known
        self._first = 0

    def __call__(self, at: int) -> tuple[int, int, Step] | None:
        """Its start and end on the device, and the step; None outside every step."""
        while self._first < len(self._windows) and self._windows[self._first][1] <= at:
            self._first += 1
        return next((found for found in self._windows[self._first :] if found[0] <= at < found[1]), None)
