"""Host events that nest by thread: operators or Python functions."""

from __future__ import annotations

import numpy as np

from tb_npu_plugin.analysis.operators.tree import enclosing
from tb_npu_plugin.readers.kineto.selected_events import Index, SelectedEvents
from tb_npu_plugin.tables import IntArray


class NestedEvents:
    """Events by start, the outer one first, with their threads and parents."""

    def __init__(self, selected: SelectedEvents, rows: Index) -> None:
        events = selected.events
        self.order = np.lexsort((-events.dur[rows], events.ts[rows]))
        self.rows: Index = rows[self.order]
        self.start: IntArray = events.ts[self.rows]
        self.end: IntArray = self.start + events.dur[self.rows]
        self.thread: IntArray = threads(selected, self.rows)
        self.parent = enclosing(self.start, self.end, self.thread)

    def at(self, times: IntArray, requested_threads: IntArray) -> Index:
        """Return the innermost event on each thread at each time; -1 for none."""
        out = np.full(len(times), -1, dtype=np.int64)
        ends, parents = np.append(self.end, 0), np.append(self.parent, -1)
        for thread in np.unique(requested_threads).tolist():
            own, rows = np.flatnonzero(self.thread == thread), np.flatnonzero(requested_threads == thread)
            if not len(own):
                continue
            place = np.searchsorted(self.start[own], times[rows], side="right") - 1
            found = np.where(place >= 0, own[place], -1)
            while (over := (found >= 0) & (ends[found] < times[rows])).any():
                found[over] = parents[found[over]]
            out[rows] = found
        return out


def threads(selected: SelectedEvents, rows: Index) -> IntArray:
    """Return a number for the thread of each event, unique across processes."""
    events = selected.events
    return np.asarray(events.pid[rows].astype(np.int64) << 32 | events.tid[rows])
