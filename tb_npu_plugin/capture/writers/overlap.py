"""What the vendor's parser works out of device times: overlap rows and step windows (docs/facts/ascend_pt.md,
step_trace_time.csv, Overlap Analysis)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.capture.simulation.records import Segment, Step, arrays
from tb_npu_plugin.intervals import Intervals, merge, subtract, union

#: Rows of Overlap Analysis: (start, end, kind).
OverlapRows = NDArray[np.int64]
NO_ROWS: OverlapRows = np.zeros((0, 3), dtype=np.int64)
#: Places in trace_events.OVERLAPS.
COMPUTING, COMMUNICATION, ALONE, FREE = range(4)


def _spans(records: Sequence[Any]) -> NDArray[np.int64]:
    """Rows (start, end)."""
    starts, durs = arrays(records, "start", "dur")
    return np.stack([starts, starts + durs], axis=1)


class Overlap:
    """The rows of Overlap Analysis, worked out while records come.

    rows    those that the last segment has completed, in file order
    before  nothing that follows begins earlier
    """

    rows: OverlapRows = NO_ROWS
    before = 0

    def __init__(self) -> None:
        self._computing = self._communication = _spans(())  # of what is not complete yet
        self._idle_since: int | None = None

    def add(self, segment: Segment) -> None:
        computes = np.array([task.kernel.core != "" for task in segment.tasks], dtype=bool)
        self._computing = np.concatenate([self._computing, _spans(segment.tasks)[computes]])
        self._communication = np.concatenate([self._communication, _spans(segment.comm)])
        # up to the start of the busy time that goes on at the end of the segment
        until = min(segment.until, (1 << 63) - 1)
        busy = union(*np.concatenate([self._computing, self._communication]).T)
        last = int(np.searchsorted(busy.start, until)) - 1
        self.rows = self._complete(int(busy.start[last]) if last >= 0 and busy.end[last] >= until else until)
        starts = [int(open_[:, 0].min()) for open_ in (self._computing, self._communication) if len(open_)]
        self.before = min([segment.until, *(starts if self._idle_since is None else [self._idle_since])])

    def finish(self) -> None:
        self.rows, self.before = self._complete((1 << 63) - 1), 1 << 63

    def _complete(self, before: int) -> OverlapRows:
        open_ = self._computing, self._communication
        computing, communication = (union(*each[each[:, 0] < before].T) for each in open_)
        self._computing, self._communication = (each[each[:, 0] >= before] for each in open_)
        busy = merge(computing, communication)
        if not len(busy.start):
            return NO_ROWS
        ends = busy.end[:-1] if self._idle_since is None else np.append(self._idle_since, busy.end[:-1])
        free = Intervals(ends, busy.start[len(busy.start) - len(ends) :])
        self._idle_since = int(busy.end[-1])
        kinds = computing, communication, subtract(communication, computing), free
        numbers = np.repeat(np.arange(len(kinds)), [len(kind.start) for kind in kinds])
        starts, ends = (np.concatenate([getattr(kind, end) for kind in kinds]) for end in ("start", "end"))
        rows = np.column_stack([starts, ends, numbers])
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
        tasks = _spans(launched)[(acls >= step.start) & (acls != 0)]
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
