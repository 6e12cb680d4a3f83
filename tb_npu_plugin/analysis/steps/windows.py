"""The time of each step on the device, from what its launches on the host ran there.
Source: docs/facts/ascend_pt.md, step_trace_time.csv."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_npu_plugin.tables import NULL_INT, IntArray


@dataclass(frozen=True)
class StepWindows:
    """First and last time of each step on the device, in the order of the steps on the host. A step that launched nothing has
    its first time after its last."""

    first: IntArray
    last: IntArray

    @staticmethod
    def of(marks: tuple[IntArray, IntArray], launched: IntArray, start: IntArray, end: IntArray) -> StepWindows:
        """A step runs from the start of the first task that it launched to the end of the last one, or to its end on the host
        if later.

        Args:
            marks: Start and end of each step on the host, by start.
            launched: Host time of the launch of each task; NULL_INT where unknown.
            start, end: Times of each task.
        """
        mark_start, mark_end = marks
        step = np.searchsorted(mark_start, launched, "right") - 1
        inside = (launched != NULL_INT) & (step >= 0) & (launched < mark_end[step])
        first = np.full(len(mark_start), np.iinfo(np.int64).max)
        np.minimum.at(first, step[inside], start[inside])
        last = mark_end.copy()
        np.maximum.at(last, step[inside], end[inside])
        return StepWindows(first, last)

    def at(self, starts: IntArray) -> IntArray:
        """The step of each device time (ascending), -1 for none. Where steps overlap, the first one counts."""
        out = np.full(len(starts), -1, dtype=np.int64)
        for number in range(len(self.first) - 1, -1, -1):
            if self.first[number] <= self.last[number]:
                out[slice(*np.searchsorted(starts, [self.first[number], self.last[number]]))] = number
        return out
