"""Steps of a trace: assigns host launches to steps, and computes the time budget of each step on the GPU."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from tb_npu_plugin.analysis.steps import partition as analysis
from tb_npu_plugin.analysis.steps.marks import Steps
from tb_npu_plugin.readers.kineto.nesting import threads
from tb_npu_plugin.readers.kineto.selected_events import SelectedEvents
from tb_npu_plugin.schema.torch_npu_csv import COPYING
from tb_npu_plugin.schema.trace import STEP_MARK
from tb_npu_plugin.tables import StringColumn, Table


def steps_of(selected: SelectedEvents) -> Steps:
    """Read the marks of steps."""
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
    return analysis.table_of(found, COPYING)


def _time_since(mark: int | None, start: int | None) -> int | None:
    """Return the time since the mark; unknown if the clocks of host and GPU disagree."""
    return None if mark is None or start is None or start < mark else start - mark
