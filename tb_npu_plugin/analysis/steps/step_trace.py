"""Phases of each step on the device: forward and backward, parameter update, the gap to the next step, all-reduces.

From the points recorded by MindSpore up to 2.2, whose gap precedes the step; else from the kernels.
Source: docs/facts/mindinsight.md, Units and definitions, Step trace.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Optional

import numpy as np

from tb_npu_plugin import intervals
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.kernels.kinds import is_communication, is_computing
from tb_npu_plugin.analysis.steps import partition as budgets
from tb_npu_plugin.analysis.steps.parts import mean_of
from tb_npu_plugin.tables import NULL_INT, IntArray, Table, known, nullable

#: Source of the phases: recorded points; the kernels of each step; the figures of step_trace_time.csv alone; iterations of a
#: serving engine, which have none.
Method = Literal["points", "kernels", "figures", "iterations"]
#: Averaged times of a step.
FIGURES = ("total_ns", "gap_ns", "fp_bp_ns", "tail_ns", "reduce_ns", "preparing_ns", "exposed_preparing_ns")


@dataclass(frozen=True)
class StepTimes:
    """Phases of one step, ns. None: unknown. gap + fp_bp + tail = total if all are known."""

    step: Optional[str]
    """Step number; None where steps are not marked, and for a mean."""
    start_ns: Optional[int]
    """Start on the device; in JSON, after `base_ns`."""
    total_ns: Optional[int]
    """Step time."""
    gap_ns: Optional[int]
    """Between two steps. First part of a step with recorded points; else its last part, unknown for the last step."""
    fp_bp_ns: Optional[int]
    """Forward and backward pass."""
    tail_ns: Optional[int]
    """After the backward pass: parameter update."""
    reduce_ns: Optional[int]
    """Communication, overlapped or not."""
    preparing_ns: Optional[int] = None
    """From the step's start on the host to its first device task; not part of the total."""
    exposed_preparing_ns: Optional[int] = None
    """Part of preparing in which no other step runs on the device."""


@dataclass(frozen=True)
class Reduce:
    """A communication operator of a step."""

    stream_id: Optional[int]
    """Stream of the operator."""
    name: Optional[str]
    """Name of the operator."""
    offset_ns: int
    """Start, after the step's start."""
    dur_ns: int
    """Duration."""


@dataclass(frozen=True)
class StepTrace:
    """All steps of a device and their communication operators; `recorded`: the average in the file."""

    method: Method
    source: budgets.StepSource
    steps: list[StepTimes]
    reduces: dict[Optional[str], list[Reduce]]
    recorded: Optional[StepTimes] = None

    @property
    def averaged(self) -> list[StepTimes]:
        """Steps that enter the mean."""
        return [self.steps[at] for at in budgets.averaged_steps([None] * len(self.steps), self.source)]


def from_iterations(table: Table, reduces: Table | None) -> StepTrace:
    """From step_trace_raw."""
    lanes = {} if reduces is None else dict(_by_step(reduces))
    steps: list[StepTimes] = []
    found: dict[str | None, list[Reduce]] = {}
    recorded = None
    columns = {
        key: nullable(table.ints(key))
        for key in ("start_ns", "total_ns", "interval_ns", "fp_bp_ns", "tail_ns", "average")
    }
    names = table.text("step").tolist()
    for row, name in enumerate(names):
        start, total, gap, fp_bp, tail, average = (values[row] for values in columns.values())
        if average:
            recorded = StepTimes(None, None, total, gap, fp_bp, tail, None)
            continue
        if not steps and gap == 0:
            gap = None  # no step ends before the first one
        own = lanes.get(name)
        found[name] = [] if own is None or start is None else _reduces(own, start)
        steps.append(StepTimes(name, start, total, gap, fp_bp, tail, None if own is None else _busy_time(own)))
    return StepTrace("points", "points", steps, found, recorded)


def from_kernels(kernels: Table, figures: Table | None, are_computed: bool) -> StepTrace:
    """From the kernels of one device. Step times are those of `figures` (step_trace) where known; are_computed: those
    were computed from the kernels. Forward and backward last from the first kernel to the end of the last computing
    one, the tail from there to the end of the last kernel; the gap is the rest up to the next step."""
    recorded = {} if figures is None else {step.step: step for step in budgets.from_step_trace(figures)}
    own = dict(_by_step(kernels))
    steps: list[StepTimes] = []
    found: dict[str | None, list[Reduce]] = {}
    reached: int | None = None
    computed = budgets.from_kernels(kernels)
    for number, one in enumerate(computed):
        step = recorded.get(one.step, one)
        assert one.start_ns is not None and one.stage is not None
        # Steps in files may overlap the next one, by rounding or other step bounds.
        start = one.start_ns if step.start_ns is None else step.start_ns
        start = start if reached is None else max(start, reached)
        total = one.stage if step.total_ns is None else step.total_ns
        reached = start + total
        lanes = own[one.step].take(is_communication(own[one.step]))
        found[one.step] = _reduces(lanes, start)
        fp_bp, tail = _forward_backward_and_tail(own[one.step], start, reached)
        gap = None if fp_bp is None or tail is None else total - fp_bp - tail
        is_last = number == len(computed) - 1  # no next step
        steps.append(
            StepTimes(
                one.step,
                start,
                total,
                (gap or None) if is_last else gap,
                fp_bp,
                tail,
                (one if are_computed else step).communication,
                step.preparing,
                step.exposed_preparing,
            )
        )
    has_times = not are_computed and any(step.total_ns is not None for step in recorded.values())
    return StepTrace("kernels", "recorded" if has_times else "computed", steps, found)


def _forward_backward_and_tail(rows: Table, start: int, end: int) -> tuple[int | None, int | None]:
    """Forward and backward, and the tail, ns, of the kernels between two times; unknown without computing kernels."""
    rows = rows.take(known(rows.ints("start_ns")) & known(rows.ints("dur_ns")))
    first = int(np.clip(rows.ints("start_ns").min(initial=end), start, end))
    ends = np.clip(rows.ints("start_ns") + rows.ints("dur_ns"), start, end)
    computes = is_computing(rows)
    if not computes.any():
        return None, None
    computed = int(ends[computes].max())
    return computed - first, int(ends.max()) - computed


def from_figures(figures: Table) -> StepTrace:
    """From step_trace_time.csv alone: the end of forward and backward is unknown."""
    steps = [
        StepTimes(
            step.step,
            step.start_ns,
            step.total_ns,
            None,
            None,
            None,
            step.communication,
            step.preparing,
            step.exposed_preparing,
        )
        for step in budgets.from_step_trace(figures)
    ]
    return StepTrace("figures", "recorded", steps, {})


def mean_step(steps: Sequence[StepTimes]) -> StepTimes:
    """Mean of each figure over the steps with a known value, rounded to ns."""
    values = {key: mean_of([getattr(step, key) for step in steps]) for key in FIGURES}
    return StepTimes(None, None, **values)


def mean_reduces(trace: StepTrace, steps: Iterable[StepTimes]) -> list[Reduce]:
    """Mean start and duration of each communication operator over steps; operators match by stream, name and call
    number."""
    places: dict[tuple[int | None, str | None, int], list[Reduce]] = defaultdict(list)
    for step in steps:
        calls: dict[tuple[int | None, str | None], int] = defaultdict(int)
        for reduce in trace.reduces.get(step.step, ()):
            key = reduce.stream_id, reduce.name
            places[(*key, calls[key])].append(reduce)
            calls[key] += 1
    return [
        Reduce(stream, name, mean_of([one.offset_ns for one in own]) or 0, mean_of([one.dur_ns for one in own]) or 0)
        for (stream, name, _), own in places.items()
    ]


def _by_step(table: Table) -> list[tuple[str | None, Table]]:
    """Rows of each step; rows outside steps are dropped if any row has a step."""
    steps = table.text("step")
    if (steps.codes >= 0).any():
        table = table.take(steps.codes >= 0)
        steps = table.text("step")
    return [(steps[int(rows[0])], table.take(rows)) for rows in Groups([steps], len(table)).rows()]


def _reduces(rows: Table, begin: int) -> list[Reduce]:
    streams, names = rows.ints("stream_id").tolist(), rows.text("name").tolist()
    found = zip(streams, names, rows.ints("start_ns").tolist(), rows.ints("dur_ns").tolist())
    return [
        Reduce(None if stream == NULL_INT else stream, name, start - begin, dur)
        for stream, name, start, dur in found
        if NULL_INT not in (start, dur)
    ]


def _busy_time(rows: Table) -> int:
    start: IntArray = rows.ints("start_ns")
    return intervals.union(start, start + rows.ints("dur_ns")).total
