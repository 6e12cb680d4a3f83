"""Iterations of a serving engine, from its marks or from the calls that replay a graph."""

from __future__ import annotations

from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.steps.marks import MOST, Steps, engine_ranges, iterations_in
from tb_npu_plugin.readers.kineto.nesting import threads
from tb_npu_plugin.readers.kineto.selected_events import Index, SelectedEvents, find_rows
from tb_npu_plugin.schema.serving import GRAPH_LAUNCH
from tb_npu_plugin.tables import IntArray


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
