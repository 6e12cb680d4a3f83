"""Steps of a trace: assigns host launches to steps, and computes the time budget of each step on the GPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from tb_npu_plugin.analysis.operators.tree import enclosing
from tb_npu_plugin.analysis.steps import partition as analysis
from tb_npu_plugin.readers.kineto.nesting import threads
from tb_npu_plugin.readers.kineto.selected_events import Index, SelectedEvents
from tb_npu_plugin.schema.mindspore_files import STEP_MARKS_COLUMNS
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.schema.serving import Mark
from tb_npu_plugin.schema.torch_npu_csv import COPYING, STEP_START
from tb_npu_plugin.schema.trace import STEP_MARK
from tb_npu_plugin.tables import IntArray, StringColumn, Table, from_lists


@dataclass(frozen=True)
class Steps:
    """Step marks on the host, by start. names: step of each mark. If a thread marks a name again after another name,
    that is a new step, "5 (2)". Marks of several threads with one name are one step.

    engine: What the marks tell if they are of iterations (iterations.py), which are numbered; else empty.
    """

    start: IntArray
    end: IntArray
    thread: IntArray
    names: StringColumn
    engine: Sequence[Mark] = ()

    @staticmethod
    def of(selected: SelectedEvents) -> Steps:
        """Read the marks."""
        events = selected.events
        rows = selected.steps[np.lexsort((-events.dur[selected.steps], events.ts[selected.steps]))]
        thread = threads(selected, rows)
        current: dict[int, str] = {}
        seen: Counter[tuple[int, str]] = Counter()
        names = []
        for code, own in zip(events.name[rows].tolist(), thread.tolist()):
            name = events.names[code][len(STEP_MARK) :]
            if current.get(own) != name:
                current[own] = name
                seen[own, name] += 1
            count = seen[own, name]
            names.append(name if count == 1 else f"{name} ({count})")
        return Steps(events.ts[rows], events.ts[rows] + events.dur[rows], thread, StringColumn.of(names))

    def at(self, times: IntArray, thread: IntArray) -> StringColumn:
        """Return the step at each time on a thread; unknown outside steps. It is the innermost mark of the thread, or
        of all threads if the thread has no marks, as for the backward pass."""
        out = np.full(len(times), -1, dtype=np.int64)
        marked = np.isin(thread, self.thread)
        self._set_innermost(out, np.arange(len(self.start)), np.flatnonzero(~marked), times)
        for one in np.unique(thread[marked]).tolist():
            self._set_innermost(out, np.flatnonzero(self.thread == one), np.flatnonzero(thread == one), times)
        return StringColumn(np.append(self.names.codes, -1)[out].astype(np.int32), self.names.values)

    def _set_innermost(self, out: Index, marks: Index, rows: Index, times: IntArray) -> None:
        """Set `out` to the innermost of `marks` at the times in `rows`."""
        if not len(marks) or not len(rows):
            return
        start, end = self.start[marks], self.end[marks]
        parents = np.append(enclosing(start, end, np.zeros_like(start)), -1)
        found = np.searchsorted(start, times[rows], side="right") - 1
        ends = np.append(end, 0)
        while (over := (found >= 0) & (ends[found] <= times[rows])).any():
            found[over] = parents[found[over]]
        out[rows] = np.where(found >= 0, marks[found], -1)

    def table(self) -> Table:
        """Return the table step_marks."""
        return Table(STEP_MARKS_COLUMNS, {"step": self.names, "start_ns": self.start, "end_ns": self.end})


def budgets(kernels: Table, steps: Steps) -> Table:
    """Return the table step_trace, one row per GPU and step; see analysis.steps.from_kernels. Preparing is the time
    from the step's mark to its first task on the GPU; unknown for iterations, which queue up behind each other."""
    marks = {}
    if not steps.engine:
        marks = dict(zip(reversed(steps.names.tolist()), reversed(steps.start.tolist())))  # first mark of each name
    found = [
        replace(step, copying=step.copying or 0, preparing=_time_since(marks.get(step.step), step.start_ns))
        for step in analysis.from_kernels(kernels, are_iterations=bool(steps.engine))
    ]
    rows = [asdict(step) for step in found]
    columns = [column for column in (*TABLES["step_trace"], COPYING, STEP_START) if column.key in asdict(found[0])]
    return from_lists(columns, {column.key: [row[column.key] for row in rows] for column in columns})


def _time_since(mark: int | None, start: int | None) -> int | None:
    """Return the time since the mark; unknown if the clocks of host and GPU disagree."""
    return None if mark is None or start is None or start < mark else start - mark
