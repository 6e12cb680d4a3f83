"""Call stacks of operators, from the Python functions that enclose them (with_stack=True)."""

from __future__ import annotations

import re

import numpy as np

from tb_npu_plugin.analysis.operators.tree import enclosing
from tb_npu_plugin.readers.kineto.selected_events import Index, SelectedEvents
from tb_npu_plugin.tables import IntArray, StringColumn

# Host events that nest by thread: operators or Python functions.


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


#: Frame terminator, as in files of NPU profilers.
FRAME_END = ";\r\n"
#: Addresses make names of one function differ: "<built-in method add of Tensor object at 0x7fc42a170030>".
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def call_stacks(selected: SelectedEvents, operators: NestedEvents) -> StringColumn:
    """Return the stack of each operator, innermost frame first; unknown if no function encloses it."""
    functions = NestedEvents(selected, selected.python)
    around = functions.at(operators.start, operators.thread)
    names = [_ADDRESS.sub("", name) for name in selected.names(functions.rows).values]
    frames = selected.names(functions.rows).codes.tolist()
    # (stack number of the caller, function name) -> stack number: equal stacks share one.
    numbers: dict[tuple[int, str], int] = {}
    stack_of = np.full(len(frames) + 1, -1, dtype=np.int64)  # last entry: no function
    places = stack_of.data
    for place, (parent, frame) in enumerate(zip(functions.parent.tolist(), frames)):
        places[place] = numbers.setdefault((places[parent], names[frame]), len(numbers))
    callers = list(numbers)
    used, codes = np.unique(stack_of[around], return_inverse=True)
    none = int(len(used) > 0 and used[0] < 0)
    texts = [_text(callers, number) for number in used[none:].tolist()]
    return StringColumn((codes.reshape(-1) - none).astype(np.int32), texts)


def _text(callers: list[tuple[int, str]], number: int) -> str:
    frames = []
    while number >= 0:
        number, name = callers[number]
        frames.append(name)
    return FRAME_END.join(frames)
