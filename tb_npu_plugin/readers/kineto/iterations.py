"""Iterations of a serving engine, from its marks or from the calls that replay a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.operators.tree import enclosing, with_children
from tb_npu_plugin.readers.kineto.nesting import threads
from tb_npu_plugin.readers.kineto.selected_events import Index, SelectedEvents, find_rows
from tb_npu_plugin.readers.kineto.steps import Steps
from tb_npu_plugin.schema.serving import GRAPH_LAUNCH, ITERATIONS_COLUMNS, Engine, Mark, mark_of
from tb_npu_plugin.tables import IntArray, StringColumn, Table, from_lists

#: A range stands for the one around it if it launches at least this share of its tasks; so do the calls that replay a
#: graph for a capture without marks.
_MOST = 0.95
#: Call that replays a graph: it tells nothing.
_GRAPH = Mark(Engine("", GRAPH_LAUNCH))


def iterations_of(selected: SelectedEvents) -> Optional[Steps]:
    """Return the ranges of the iterations that launch tasks, numbered in order of time; None without any.

    Ranges nest: an iteration is the innermost range that launches nearly all tasks of the outermost one. The outermost
    range may include a few early copies, long before the others run.
    """
    if len(selected.steps) or not len(selected.device):
        return None
    calls = find_rows(selected.correlations(selected.runtime), selected.correlations(selected.device))
    launches = selected.runtime[calls[calls >= 0]]
    if len(selected.engine_marks):
        ranges = _joined(_ranges(selected, selected.engine_marks))
    else:
        graphs = _graph_launches(selected)
        replayed = np.count_nonzero(np.isin(launches, graphs))
        if not len(graphs) or replayed < _MOST * len(selected.device):
            return None
        ranges = _ranges(selected, graphs)
    if not len(ranges.start):
        return None
    chosen = _innermost(ranges, selected.events.ts[launches], threads(selected, launches))
    if not len(chosen):
        return None
    places = np.array(list(chosen), dtype=np.int64)
    return Steps(
        ranges.start[places], ranges.end[places], ranges.thread[places], _numbers(len(places)), list(chosen.values())
    )


def table_of(steps: Steps, kernels: Table, selected: SelectedEvents) -> Table:
    """Return the table engine_iterations. steps: iterations. kernels: the device tasks, with their steps."""
    codes = kernels.text("step").codes
    own = codes >= 0
    replayed = own & in_graphs(selected, kernels.ints("correlation"))
    counts, in_graph = (np.bincount(codes[rows], minlength=len(steps.engine)) for rows in (own, replayed))
    columns = {
        "step": steps.names.tolist(),
        "engine": [mark.engine.name or None for mark in steps.engine],
        "phase": [mark.phase for mark in steps.engine],
        "requests": [mark.requests for mark in steps.engine],
        "tokens": [mark.tokens for mark in steps.engine],
        "kernels": counts.tolist(),
        "graph_kernels": in_graph.tolist(),
    }
    return from_lists(ITERATIONS_COLUMNS, columns)


def in_graphs(selected: SelectedEvents, correlations: IntArray) -> NDArray[np.bool_]:
    """Return whether the call with each correlation id replays a graph."""
    return find_rows(selected.correlations(_graph_launches(selected)), correlations) >= 0


def _numbers(count: int) -> StringColumn:
    """The texts "1", "2", …, each with its place as code."""
    return StringColumn(np.arange(count, dtype=np.int32), [str(number + 1) for number in range(count)])


def _graph_launches(selected: SelectedEvents) -> Index:
    """Return the calls that replay a graph."""
    names = selected.events.names
    codes = np.unique(selected.events.name[selected.runtime]).tolist()
    launching = [code for code in codes if GRAPH_LAUNCH.fullmatch(names[code])]
    return selected.runtime[np.isin(selected.events.name[selected.runtime], launching)]


def _ranges(selected: SelectedEvents, rows: Index) -> Steps:
    """Return the ranges of some events by start, the outer one first. A range lasts at least 1 ns."""
    events = selected.events
    rows = rows[np.lexsort((-events.dur[rows], events.ts[rows]))]
    of_name = {code: mark_of(events.names[code]) or _GRAPH for code in np.unique(events.name[rows]).tolist()}
    marks = [of_name[code] for code in events.name[rows].tolist()]
    names = selected.names(rows)
    return Steps(
        events.ts[rows], events.ts[rows] + np.maximum(events.dur[rows], 1), threads(selected, rows), names, marks
    )


def _joined(ranges: Steps) -> Steps:
    """Return the ranges, with one range for all marks of an iteration where an engine makes several."""
    start, end = ranges.start.copy(), ranges.end.copy()
    marks = list(ranges.engine)
    kept = []
    last: dict[tuple[int, str], tuple[int, bool]] = {}  # thread and engine -> its iteration, whether it is complete
    for row, (mark, name, thread) in enumerate(zip(marks, ranges.names.tolist(), ranges.thread.tolist())):
        engine = mark.engine
        at, is_over = last.get((thread, engine.name), (-1, True))
        opens = name == engine.first if engine.first else is_over
        if opens or not (engine.first or engine.last):
            kept.append(row)
            at = row
        elif at >= 0:
            end[at] = max(end[at], end[row])
            marks[at] = _merged([marks[at], mark])
        last[thread, engine.name] = at, name == engine.last
    rows = np.array(kept, dtype=np.int64)
    return Steps(start[rows], end[rows], ranges.thread[rows], ranges.names.take(rows), [marks[row] for row in kept])


def _innermost(ranges: Steps, times: IntArray, thread: IntArray) -> dict[int, Mark]:
    """Return the ranges that are iterations, by start, with what their names and those around them tell. times, thread:
    of the launches."""
    count = len(ranges.start)
    numbered = replace(ranges, names=_numbers(count), engine=())
    own = numbered.at(times, thread).codes
    parent = enclosing(ranges.start, ranges.end, ranges.thread)
    launched = with_children(parent, np.bincount(own[own >= 0], minlength=count).astype(np.int64)).tolist()
    parents, outermost, inner = parent.tolist(), list(range(count)), {}
    for row in range(count):  # inner ranges follow outer ones
        if parents[row] >= 0:
            outermost[row] = outermost[parents[row]]
        if launched[row] and launched[row] >= _MOST * launched[outermost[row]]:
            inner[outermost[row]] = row
    out = {}
    for row in sorted(inner.values()):
        found, at = [], row
        while at >= 0:
            found.append(ranges.engine[at])
            at = parents[at]
        out[row] = _merged(found)
    return out


def _merged(marks: Sequence[Mark]) -> Mark:
    """Return the first mark, with what only others tell."""
    known = [
        next((value for mark in marks if (value := getattr(mark, key)) is not None), None)
        for key in ("phase", "requests", "tokens")
    ]
    return Mark(marks[0].engine, *known)
