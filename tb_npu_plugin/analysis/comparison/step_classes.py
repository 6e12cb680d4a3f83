"""Step time by operator class. Every instant counts once, so that the classes sum to the step time exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.kernels.kinds import is_computing, is_copy
from tb_npu_plugin.analysis.kernels.meaning import CLASSES, classes
from tb_npu_plugin.analysis.steps.parts import divide_rounded
from tb_npu_plugin.tables import IntArray, Table, known

COMPUTING, COPYING, COMMUNICATION, BUBBLE, IDLE = "computing", "copying", "communication", "bubble", "idle"
#: Exposed communication that waits for other ranks.
WAITING = "waiting"
#: Figures in files are rounded: a difference to the kernels up to this, ns, is not a class of its own.
ROUNDING = 1000


@dataclass(frozen=True)
class ClassTimes:
    """Time (ns) and calls by class id; in a mean, calls may be fractions. total: step time, the sum of `times`; None if
    a part of the step is unknown. unknown: WAITING and BUBBLE, if their time is not known to be apart from COMMUNICATION."""

    times: dict[str, int]
    calls: Mapping[str, float]
    total: Optional[int]
    unknown: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ClassDifference:
    """Time of one operator class on both sides. Every instant counts once; communication only counts while nothing
    computes."""

    id: str
    """Id of analysis.kernels.meaning. "idle": free time, without calls. "computing": computing time without known
    kernels."""
    baseline_calls: float
    """Calls per step."""
    experimental_calls: float
    """Calls per step."""
    baseline_ns: int
    """Time per step."""
    experimental_ns: int
    """Time per step."""
    difference_ns: int
    """Experimental minus baseline."""
    running_ns: int
    """Sum of the differences up to this class."""


@dataclass(frozen=True)
class StepKernels:
    """Kernels of steps, as parallel lists of steps.

    kernels: of all steps. rows: those of each step, ascending. windows: start and end, ns, of computed steps, shape (steps, 2):
    their kernels are all that run then, and time outside does not count; None if steps were recorded.
    """

    kernels: Table
    rows: Sequence[IntArray]
    windows: Optional[IntArray] = None


def class_times(steps: Sequence[Mapping[str, Optional[int]]], of: Optional[StepKernels]) -> list[ClassTimes]:
    """Classes of each step and device.

    steps: their computing, communication_not_overlapped, free and, if separate, bubble, copying and waiting, ns.
    of: their kernels; None leaves computing undivided.

    Only exposed communication counts. If kernels compute concurrently, time belongs to the one that started first.
    """
    if of is None:
        return [_class_times(step, {}, {}) for step in steps]
    found = _of_kernels(of, np.array([step.get(COPYING) is not None for step in steps], dtype=bool))
    return [_class_times(step, *one) for step, one in zip(steps, found)]


def _class_times(step: Mapping[str, Optional[int]], times: dict[str, int], calls: Mapping[str, float]) -> ClassTimes:
    """Adds what kernels do not tell to the computing time by class."""
    exposed, computing = step["communication_not_overlapped"], step["computing"]
    unknown = [name for name in (WAITING, BUBBLE) if step.get(name) is None and exposed]
    bubble, waiting = step.get(BUBBLE) or 0, step.get(WAITING) or 0
    parts = {
        COPYING: step.get(COPYING) or 0,  # unknown: not a separate part
        COMMUNICATION: None if exposed is None else exposed - bubble - waiting,
        WAITING: waiting,
        BUBBLE: bubble,
        IDLE: step["free"],
    }
    rest = 0 if computing is None else computing - sum(times.values())
    if rest and times and abs(rest) < ROUNDING:
        times[max(times, key=times.__getitem__)] += rest
    elif rest:
        times[COMPUTING] = rest
    complete = computing is not None and None not in parts.values()
    for name, time in parts.items():
        if time or (time == 0 and name == IDLE):
            times[name] = times.get(name, 0) + time
    return ClassTimes(times, calls, sum(times.values()) if complete else None, frozenset(unknown))


def mean_classes(steps: Sequence[ClassTimes], count: int) -> ClassTimes:
    """Mean of `count` steps, in ns. Rounding keeps the sum: the classes sum to the total exactly."""
    totals = [step.total for step in steps if step.total is not None]
    complete = len(totals) == len(steps) > 0
    sums, calls = _sums([step.times for step in steps]), _sums([step.calls for step in steps])
    times: dict[str, int] = {}
    before = reach = 0
    for name in (name for name in CLASSES if name in sums and (complete or name != IDLE)):
        reach += sums[name]
        times[name] = divide_rounded(reach, count) - before
        before += times[name]
    means = {name: number / count for name, number in calls.items()}
    unknown = frozenset().union(*(step.unknown for step in steps))
    return ClassTimes(times, means, sum(times.values()) if complete else None, unknown)


def _sums(parts: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Sum of each class."""
    out: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            out[name] = out.get(name, 0) + value
    return out


def by_class(baseline: ClassTimes, experimental: ClassTimes) -> list[ClassDifference]:
    """Classes that occur on either side, in the order of CLASSES. Idle time is left out unless both totals are
    known."""
    skipped = {IDLE} if baseline.total is None or experimental.total is None else set()
    out: list[ClassDifference] = []
    running = 0
    for name in CLASSES:
        before, after = baseline.times.get(name, 0), experimental.times.get(name, 0)
        calls = baseline.calls.get(name, 0), experimental.calls.get(name, 0)
        if name in skipped or not (before or after or any(calls)):
            continue
        running += after - before
        out.append(ClassDifference(name, *calls, before, after, after - before, running))
    return out


def _of_kernels(of: StepKernels, has_copying: NDArray[np.bool_]) -> list[tuple[dict[str, int], dict[str, int]]]:
    """Of each step: computing time by class; calls of its kernels, of a computed step of those that start in it. All steps at
    once: a capture may have 50,000. has_copying: steps whose copies are a part beside computing."""
    count = len(of.rows)
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *of.rows])
    step = np.repeat(np.arange(count), [len(one) for one in of.rows])
    windows = None if of.windows is None else of.windows[step]
    kind, start, dur = classes(of.kernels)[rows], of.kernels.ints("start_ns")[rows], of.kernels.ints("dur_ns")[rows]
    is_called = (
        np.ones(len(rows), dtype=bool) if windows is None else (windows[:, 0] <= start) & (start < windows[:, 1])
    )
    calls = np.zeros((count, len(CLASSES)), dtype=np.int64)
    np.add.at(calls, (step[is_called], kind[is_called]), 1)
    chosen = known(start) & known(dur) & (is_computing(of.kernels) | is_copy(of.kernels))[rows]
    chosen &= ~(has_copying[step] & (kind == CLASSES.index(COPYING)))
    start, step = start[chosen], step[chosen]
    own = time_not_covered_before(start, start + dur[chosen], step, None if windows is None else windows[chosen])
    times = np.zeros_like(calls)
    np.add.at(times, (step, kind[chosen]), own)
    return list(zip(_by_class(times), _by_class(calls)))


def _by_class(figures: IntArray) -> list[dict[str, int]]:
    """Rows of figures of each class as dicts, without zeros."""
    out: list[dict[str, int]] = [{} for _ in figures]
    steps, kinds = np.nonzero(figures)
    for step, kind, figure in zip(steps.tolist(), kinds.tolist(), figures[steps, kinds].tolist()):
        out[step][CLASSES[kind]] = figure
    return out


def time_not_covered_before(
    start: IntArray, end: IntArray, step: IntArray, windows: Optional[IntArray] = None
) -> IntArray:
    """Part of each interval inside its window that no earlier interval of its step covers, ns; sums to the length of the union."""
    out = np.zeros(len(start), dtype=np.int64)
    order = np.lexsort((start, step))
    begin, until, own = start[order], end[order], step[order]
    bounds = [0, *(np.flatnonzero(np.diff(own)) + 1).tolist(), len(own)]
    for low, high in zip(bounds, bounds[1:]):
        reach = np.maximum.accumulate(until[low : high - 1])
        np.maximum(begin[low + 1 : high], reach, out=begin[low + 1 : high])
    if windows is not None:
        low, high = windows[order].T
        begin, until = np.clip(begin, low, high), np.clip(until, low, high)
    out[order] = np.maximum(until - begin, 0)
    return out
