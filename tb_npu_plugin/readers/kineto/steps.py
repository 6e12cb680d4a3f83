"""Steps of a trace: to which one a launch on the host belongs, and the budget of each on the GPU."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace

import numpy as np

from tb_npu_plugin.analysis.operators.tree import enclosing
from tb_npu_plugin.analysis.steps import partition as analysis
from tb_npu_plugin.readers.kineto.nesting import threads
from tb_npu_plugin.readers.kineto.picked import Index, Picked
from tb_npu_plugin.schema.mindspore_files import STEP_MARKS_COLUMNS
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.schema.torch_npu_csv import COPYING, STEP_START
from tb_npu_plugin.schema.trace import STEP_MARK
from tb_npu_plugin.tables import IntArray, StringColumn, Table, from_lists


@dataclass(frozen=True)
class Steps:
    """The marks of the training loop on the host, by start. names: of the step of each mark. What a thread marks under a
    name that it has left already is another step, "5 (2)"; marks of several threads under one name are one step."""

    start: IntArray
    end: IntArray
    thread: IntArray
    names: StringColumn

    @staticmethod
    def of(picked: Picked) -> Steps:
        """Read them."""
        events = picked.events
        rows = picked.steps[np.lexsort((-events.dur[picked.steps], events.ts[picked.steps]))]
        thread = threads(picked, rows)
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

    def at(self, moments: IntArray, thread: IntArray) -> StringColumn:
        """The step in which each moment on a thread lies: the innermost mark of that thread; of a thread without marks,
        as that of the backward pass, the innermost of all. Unknown in none."""
        out = np.full(len(moments), -1, dtype=np.int64)
        marked = np.isin(thread, self.thread)
        self._place(out, np.arange(len(self.start)), np.flatnonzero(~marked), moments)
        for one in np.unique(thread[marked]).tolist():
            self._place(out, np.flatnonzero(self.thread == one), np.flatnonzero(thread == one), moments)
        return StringColumn(np.append(self.names.codes, -1)[out].astype(np.int32), self.names.values)

    def _place(self, out: Index, marks: Index, asked: Index, moments: IntArray) -> None:
        """Set the innermost of some marks at some of the moments."""
        if not len(marks) or not len(asked):
            return
        start, end = self.start[marks], self.end[marks]
        parents = np.append(enclosing(start, end, np.zeros_like(start)), -1)
        found = np.searchsorted(start, moments[asked], side="right") - 1
        ends = np.append(end, 0)
        while (over := (found >= 0) & (ends[found] <= moments[asked])).any():
            found[over] = parents[found[over]]
        out[asked] = np.where(found >= 0, marks[found], -1)

    def table(self) -> Table:
        """The table step_marks."""
        return Table(STEP_MARKS_COLUMNS, {"step": self.names, "start_ns": self.start, "end_ns": self.end})


def budgets(kernels: Table, steps: Steps) -> Table:
    """The table step_trace: one row per GPU and step, see analysis.steps.from_kernels; preparing is the time from the
    step's mark to its first task on the GPU."""
    marks = dict(zip(reversed(steps.names.tolist()), reversed(steps.start.tolist())))  # of equal names the first
    found = [
        replace(step, copying=step.copying or 0, preparing=_since(marks.get(step.step), step.start_ns))
        for step in analysis.from_kernels(kernels)
    ]
    rows = [asdict(step) for step in found]
    columns = [column for column in (*TABLES["step_trace"], COPYING, STEP_START) if column.key in asdict(found[0])]
    return from_lists(columns, {column.key: [row[column.key] for row in rows] for column in columns})


def _since(mark: int | None, start: int | None) -> int | None:
    """Unknown where the clocks of host and GPU do not agree."""
    return None if mark is None or start is None or start < mark else start - mark
