"""Marks of steps and of iterations of serving engines: ranges on the host, to which launches belong by their time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.operators.tree import enclosing, with_children
from tb_npu_plugin.problems import Problem, problem_of
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.schema.serving import GRAPH_LAUNCH, Engine, Mark, mark_of
from tb_npu_plugin.tables import IntArray, StringColumn, Table, from_lists, known

Index = NDArray[np.int64]
#: A range stands for the one around it if it launches at least this share of its tasks; so do the calls that replay a
#: graph for a capture without marks.
MOST = 0.95
#: Files write times in microseconds, some as 64-bit floats: these hold quarters of them.
_ROUNDING_NS = 250
#: Call that replays a graph: it tells nothing.
_GRAPH = Mark(Engine("", GRAPH_LAUNCH))


@dataclass(frozen=True)
class Steps:
    """Step marks on the host, by start. names: step of each mark. If a thread marks a name again after another name,
    that is a new step, "5 (2)". Marks of several threads with one name are one step.

    engine: What the marks tell if they are of iterations (iterations_in), which are numbered; else empty.
    """

    start: IntArray
    end: IntArray
    thread: IntArray
    names: StringColumn
    engine: Sequence[Mark] = ()

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
        return Table(columns_of("step_marks"), {"step": self.names, "start_ns": self.start, "end_ns": self.end})


def engine_ranges(start: IntArray, dur: IntArray, thread: IntArray, names: StringColumn) -> Steps:
    """Return ranges of engines by start, the outer one first, with what their names tell. A range lasts at least 1 ns."""
    order = np.lexsort((-dur, start))
    names = names.take(order)
    of_name = [mark_of(name) or _GRAPH for name in names.values]
    marks = [of_name[code] for code in names.codes.tolist()]
    return Steps(start[order], start[order] + np.maximum(dur[order], 1), thread[order], names, marks)


def iterations_in(ranges: Steps, times: IntArray, thread: IntArray) -> Optional[Steps]:
    """Return the ranges that are iterations, numbered in order of time; None without any.

    Ranges nest: an iteration is the innermost range that launches nearly all tasks of the outermost one. The outermost
    range may include a few early copies, long before the others run.

    Args:
        ranges: See engine_ranges.
        times, thread: Of the launches.
    """
    ranges = _joined(ranges)
    chosen = _innermost(ranges, times, thread) if len(ranges.start) else {}
    if not chosen:
        return None
    places = np.array(list(chosen), dtype=np.int64)
    return Steps(
        ranges.start[places], ranges.end[places], ranges.thread[places], _numbers(len(places)), list(chosen.values())
    )


def iterations_table(steps: Steps, kernels: Table, replayed: NDArray[np.bool_]) -> Table:
    """Return the table engine_iterations. steps: iterations. kernels: the device tasks, with their steps. replayed: those
    that a replay of a graph launched."""
    codes = kernels.text("step").codes
    own = codes >= 0
    counts, in_graph = (np.bincount(codes[rows], minlength=len(steps.engine)) for rows in (own, own & replayed))
    columns = {
        "step": steps.names.tolist(),
        "engine": [mark.engine.name or None for mark in steps.engine],
        "phase": [mark.phase for mark in steps.engine],
        "requests": [mark.requests for mark in steps.engine],
        "tokens": [mark.tokens for mark in steps.engine],
        "kernels": counts.tolist(),
        "graph_kernels": in_graph.tolist(),
    }
    return from_lists(columns_of("engine_iterations"), columns)


def with_steps_of(tasks: Table, others: Table) -> Table:
    """Return device tasks with the steps of the same ones in `others`, which are by start and come from another file: the
    nearest one by start counts, as files round times."""
    start, other = tasks.ints("start_ns"), others.ints("start_ns")
    after = np.minimum(np.searchsorted(other, start), len(other) - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(np.abs(start - other[before]) <= np.abs(other[after] - start), before, after)
    steps = others.text("step")
    is_same = np.abs(other[nearest] - start) <= _ROUNDING_NS
    codes = np.where(known(start) & is_same, steps.codes[nearest], -1).astype(np.int32)
    columns = tasks.columns if tasks.has("step") else (others.column("step"), *tasks.columns)
    return Table(columns, {**tasks.data, "step": StringColumn(codes, steps.values)})


def unsure_marks(steps: Steps) -> list[Problem]:
    """Name the engines whose marks are known from source code alone."""
    engines = {mark.engine.name for mark in steps.engine if mark.engine.from_code}
    return [problem_of("marks_from_code", engines=", ".join(sorted(engines)))] if engines else []


def _joined(ranges: Steps) -> Steps:
    """Return the ranges, with one range for all marks of an iteration where an engine makes several."""
    start, end = ranges.start.copy(), ranges.end.copy()
    marks = list(ranges.engine)
    whole = {thread for mark, thread in zip(marks, ranges.thread.tolist()) if mark.engine.marks_whole}
    kept = []
    last: dict[tuple[int, str], tuple[int, bool]] = {}  # thread and engine -> its iteration, whether it is complete
    for row, (mark, name, thread) in enumerate(zip(marks, ranges.names.tolist(), ranges.thread.tolist())):
        engine = mark.engine
        key = thread, "" if thread in whole else engine.name
        at, is_over = last.get(key, (-1, True))
        opens = name in engine.first if engine.first else is_over
        if engine.marks_whole or (opens and thread not in whole):
            kept.append(row)
            at = row
        elif at >= 0:
            end[at] = max(end[at], end[row])
            marks[at] = _merged([marks[at], mark])
        last[key] = at, name in engine.last
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
        if launched[row] and launched[row] >= MOST * launched[outermost[row]]:
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


def _numbers(count: int) -> StringColumn:
    """The texts "1", "2", …, each with its place as code."""
    return StringColumn(np.arange(count, dtype=np.int32), [str(number + 1) for number in range(count)])
