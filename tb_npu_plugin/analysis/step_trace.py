"""The course of each step on the device: gap before it, forward and backward, parameter update, all-reduces.

From the points that MindSpore up to 2.2 records, else from the kernels. Source: specs/mindspore.md 3.2, 4.1, 4.10.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Optional

import numpy as np

from tb_npu_plugin.analysis import intervals
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.kernels import is_communication
from tb_npu_plugin.tables import NULL_INT, IntArray, Table, known

#: How the figures come about: recorded points; the kernels of each step; the figures of step_trace_time.csv alone.
Method = Literal["points", "kernels", "figures"]
#: Times of a step that are averaged.
FIGURES = ("total_ns", "gap_ns", "fp_bp_ns", "tail_ns", "reduce_ns")


@dataclass(frozen=True)
class StepTimes:
    """One step, ns; None is unknown. gap + fp_bp + tail = total where all are known; start is the begin of the gap.
    reduce: time in which anything communicates, whatever happens beside."""

    step: Optional[str]
    start_ns: Optional[int]
    total_ns: Optional[int]
    gap_ns: Optional[int]
    fp_bp_ns: Optional[int]
    tail_ns: Optional[int]
    reduce_ns: Optional[int]


@dataclass(frozen=True)
class Reduce:
    """A communication operator of a step, ns; offset: after the step's start."""

    stream_id: Optional[int]
    name: Optional[str]
    offset_ns: int
    dur_ns: int


@dataclass(frozen=True)
class StepTrace:
    """All steps with their communication operators; `recorded`: the recorder's own average."""

    method: Method
    steps: list[StepTimes]
    reduces: dict[Optional[str], list[Reduce]]
    recorded: Optional[StepTimes] = None


def from_iterations(table: Table, reduces: Table | None) -> StepTrace:
    """From step_trace_raw."""
    lanes = {} if reduces is None else dict(_by_step(reduces))
    steps: list[StepTimes] = []
    found: dict[str | None, list[Reduce]] = {}
    recorded = None
    columns = {
        key: table.ints(key) for key in ("start_ns", "total_ns", "interval_ns", "fp_bp_ns", "tail_ns", "average")
    }
    names = table.text("step").tolist()
    for row, name in enumerate(names):
        start, total, gap, fp_bp, tail, average = (_known(values[row]) for values in columns.values())
        if average:
            recorded = StepTimes(None, None, total, gap, fp_bp, tail, None)
            continue
        if not steps and gap == 0:
            gap = None  # the first step has no end of a step before it
        own = lanes.get(name)
        found[name] = [] if own is None or start is None else _reduces(own, start)
        steps.append(StepTimes(name, start, total, gap, fp_bp, tail, None if own is None else _busy(own)))
    return StepTrace("points", steps, found, recorded)


def from_kernels(kernels: Table, figures: Table | None) -> StepTrace:
    """From the kernels of each step. Its gap is Preparing of step_trace_time.csv, else the time since the last kernel
    of the step before; forward and backward reach from the first kernel to the end of the last that computes, the tail
    from there to the end of the last of all."""
    preparing = _figures(figures, "preparing")
    steps: list[StepTimes] = []
    found: dict[str | None, list[Reduce]] = {}
    before: int | None = None
    for name, rows in sorted(_by_step(kernels), key=lambda item: _first(item[1])):
        rows = rows.take(known(rows.ints("start_ns")) & known(rows.ints("dur_ns")))
        if not len(rows):
            continue
        start = rows.ints("start_ns")
        end = start + rows.ints("dur_ns")
        communicates = is_communication(rows)
        first, last = int(start.min()), int(end.max())
        computed = None if communicates.all() else int(end[~communicates].max())
        gap = preparing.get(name)
        if gap is None and before is not None:
            gap = max(0, first - before)
        begin = first - (gap or 0)
        lanes = rows.take(communicates)
        found[name] = _reduces(lanes, begin)
        steps.append(
            StepTimes(
                name, begin, last - begin, gap, None if computed is None else computed - first,
                None if computed is None else last - computed, _busy(lanes),
            )
        )  # fmt: skip
        before = last
    return StepTrace("kernels", steps, found)


def from_figures(figures: Table) -> StepTrace:
    """From step_trace_time.csv alone: nothing tells where forward and backward end."""
    columns = {key: figures.ints(key) for key in ("preparing", "stage", "bubble", "communication")}
    steps = []
    for row, name in enumerate(figures.text("step").tolist()):
        preparing, stage, bubble, communication = (_known(values[row]) for values in columns.values())
        whole = None if stage is None else stage + (bubble or 0) + (preparing or 0)
        steps.append(StepTimes(name, None, whole, preparing, None, None, communication))
    return StepTrace("figures", steps, {})


def averaged(steps: Sequence[StepTimes]) -> list[StepTimes]:
    """The steps that a mean is taken of: all but the first, which has no step before it; a lone one stands."""
    return list(steps[1:] if len(steps) > 1 else steps)


def mean(steps: Sequence[StepTimes]) -> StepTimes:
    """Mean of each figure over the steps that know it, rounded to the nanosecond."""
    values = {key: round_mean([getattr(step, key) for step in steps]) for key in FIGURES}
    return StepTimes(None, None, **values)


def mean_reduces(trace: StepTrace, steps: Iterable[StepTimes]) -> list[Reduce]:
    """Mean place and duration of each communication operator over steps: the n-th call of a name on a stream."""
    places: dict[tuple[int | None, str | None, int], list[Reduce]] = defaultdict(list)
    for step in steps:
        calls: dict[tuple[int | None, str | None], int] = defaultdict(int)
        for reduce in trace.reduces.get(step.step, ()):
            key = reduce.stream_id, reduce.name
            places[(*key, calls[key])].append(reduce)
            calls[key] += 1
    return [
        Reduce(
            stream, name, round_mean([one.offset_ns for one in own]) or 0, round_mean([one.dur_ns for one in own]) or 0
        )
        for (stream, name, _), own in places.items()
    ]


def _by_step(table: Table) -> list[tuple[str | None, Table]]:
    """Rows of each step; those of none are left out where others have one."""
    steps = table.text("step")
    if (steps.codes >= 0).any():
        table = table.take(steps.codes >= 0)
        steps = table.text("step")
    return [(steps[int(rows[0])], table.take(rows)) for rows in Groups([steps], len(table)).rows()]


def _first(rows: Table) -> int:
    start = rows.ints("start_ns")
    return int(start[known(start)].min(initial=np.iinfo(np.int64).max))


def _reduces(rows: Table, begin: int) -> list[Reduce]:
    streams, names = rows.ints("stream_id").tolist(), rows.text("name").tolist()
    found = zip(streams, names, rows.ints("start_ns").tolist(), rows.ints("dur_ns").tolist())
    return [
        Reduce(None if stream == NULL_INT else stream, name, start - begin, dur)
        for stream, name, start, dur in found
        if NULL_INT not in (start, dur)
    ]


def _busy(rows: Table) -> int:
    start: IntArray = rows.ints("start_ns")
    return intervals.union(start, start + rows.ints("dur_ns")).total


def _figures(table: Table | None, key: str) -> dict[str | None, int | None]:
    if table is None:
        return {}
    return {step: _known(value) for step, value in zip(table.text("step").tolist(), table.ints(key))}


def round_mean(values: Sequence[int | None]) -> int | None:
    """Mean of the known values, rounded half to even, without floats."""
    certain = [value for value in values if value is not None]
    if not certain:
        return None
    whole, rest = divmod(sum(certain), len(certain))
    return whole + (2 * rest > len(certain) or (2 * rest == len(certain) and whole % 2 == 1))


def _known(value: np.int64) -> int | None:
    return None if value == NULL_INT else int(value)
