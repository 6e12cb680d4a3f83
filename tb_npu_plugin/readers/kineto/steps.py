"""Steps of a trace: assigns host launches to steps, and computes the time budget of each step on the GPU."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.steps import partition as analysis
from tb_npu_plugin.analysis.steps.marks import MOST, Steps, engine_ranges, iterations_in
from tb_npu_plugin.readers.kineto.selected_events import Index, SelectedEvents
from tb_npu_plugin.readers.kineto.stacks import threads
from tb_npu_plugin.schema.serving import GRAPH_LAUNCH
from tb_npu_plugin.schema.torch_npu_csv import COPYING
from tb_npu_plugin.schema.trace import STEP_MARK
from tb_npu_plugin.tables import IntArray, StringColumn, Table, find_rows


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


# Iterations of a serving engine, from its marks or from the calls that replay a graph.


def iterations_of(selected: SelectedEvents) -> Optional[Steps]:
    """Return the ranges of the iterations that launch tasks, numbered in order of time; None without any. A profiler with a schedule
    marks steps around those of an engine, which tell more; they count if they launch most tasks."""
    if not len(selected.device):
        return None
    calls = find_rows(selected.correlations(selected.runtime), selected.correlations(selected.device))
    launches = selected.runtime[calls[calls >= 0]]
    rows = selected.engine_marks
    if not len(rows) and len(selected.steps):
        return None
    if not len(rows):
        rows = _graph_launches(selected)
        replayed = np.count_nonzero(np.isin(launches, rows))
        if not len(rows) or replayed < MOST * len(selected.device):
            return None
    events = selected.events
    ranges = engine_ranges(events.ts[rows], events.dur[rows], threads(selected, rows), selected.names(rows))
    times, on_thread = events.ts[launches], threads(selected, launches)
    found = iterations_in(ranges, times, on_thread)
    if (
        found is not None
        and len(selected.steps)
        and 2 * np.count_nonzero(found.at(times, on_thread).codes >= 0) < len(times)
    ):
        return None
    return found


def in_graphs(selected: SelectedEvents, correlations: IntArray) -> NDArray[np.bool_]:
    """Return whether the call with each correlation id replays a graph."""
    return find_rows(selected.correlations(_graph_launches(selected)), correlations) >= 0


def _graph_launches(selected: SelectedEvents) -> Index:
    """Return the calls that replay a graph."""
    names = selected.events.names
    codes = np.unique(selected.events.name[selected.runtime]).tolist()
    launching = [code for code in codes if GRAPH_LAUNCH.fullmatch(names[code])]
    return selected.runtime[np.isin(selected.events.name[selected.runtime], launching)]
