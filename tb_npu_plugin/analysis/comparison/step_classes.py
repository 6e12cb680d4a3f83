"""Step time by operator class. Every instant counts once, so that the classes sum to the step time exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.kernels.kinds import is_computing, is_copy
from tb_npu_plugin.analysis.kernels.meaning import CLASSES, classes
from tb_npu_plugin.analysis.steps.mean import divide_rounded
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


def class_times(
    step: Mapping[str, Optional[int]], kernels: Table | None, window: tuple[int, int] | None = None
) -> ClassTimes:
    """Classes of one step and device.

    step: its computing, communication_not_overlapped, free and, if separate, bubble, copying and waiting, ns.
    kernels: the kernels of the step; None leaves computing undivided.
    window: start and end, ns, of a computed step, whose kernels are all that run then; time outside does not count.

    Only exposed communication counts. If kernels compute concurrently, time belongs to the one that started first.
    """
    exposed = step["communication_not_overlapped"]
    unknown = [name for name in (WAITING, BUBBLE) if step.get(name) is None and exposed]
    bubble, waiting = step.get(BUBBLE) or 0, step.get(WAITING) or 0
    parts = {
        COPYING: step.get(COPYING) or 0,  # unknown: not a separate part
        COMMUNICATION: None if exposed is None else exposed - bubble - waiting,
        WAITING: waiting,
        BUBBLE: bubble,
        IDLE: step["free"],
    }
    times, calls = _computing(step["computing"], step.get(COPYING) is not None, kernels, window)
    complete = step["computing"] is not None and None not in parts.values()
    for name, time in parts.items():
        if time or (time == 0 and name == IDLE):
            times[name] = times.get(name, 0) + time
    return ClassTimes(times, calls, sum(times.values()) if complete else None, frozenset(unknown))


def mean_classes(steps: Sequence[ClassTimes], count: int) -> ClassTimes:
    """Mean of `count` steps, in ns. Rounding keeps the sum: the classes sum to the total exactly."""
    totals = [step.total for step in steps if step.total is not None]
    complete = len(totals) == len(steps) > 0
    sums = Counter[str]()
    calls = Counter[str]()
    for step in steps:
        sums.update(step.times)
        calls.update(step.calls)
    times: dict[str, int] = {}
    before = reach = 0
    for name in (name for name in CLASSES if name in sums and (complete or name != IDLE)):
        reach += sums[name]
        times[name] = divide_rounded(reach, count) - before
        before += times[name]
    means = {name: number / count for name, number in calls.items()}
    unknown = frozenset().union(*(step.unknown for step in steps))
    return ClassTimes(times, means, sum(times.values()) if complete else None, unknown)


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


def _computing(
    total: int | None, has_copying: bool, kernels: Table | None, window: tuple[int, int] | None
) -> tuple[dict[str, int], dict[str, float]]:
    """Computing time by class, summing to the given total; calls of all kernels, or of those that start in the
    window."""
    if kernels is None or not len(kernels):
        return ({COMPUTING: total} if total else {}), {}
    own = classes(kernels)
    called = own if window is None else own[starts_in(kernels, window)]
    calls = {CLASSES[kind]: float(count) for kind, count in enumerate(np.bincount(called).tolist()) if count}
    chosen = (
        known(kernels.ints("start_ns")) & known(kernels.ints("dur_ns")) & (is_computing(kernels) | is_copy(kernels))
    )
    if has_copying:
        chosen &= own != CLASSES.index(COPYING)
    start, dur = kernels.ints("start_ns")[chosen], kernels.ints("dur_ns")[chosen]
    taken = np.zeros(len(CLASSES), dtype=np.int64)
    np.add.at(taken, own[chosen], time_not_covered_before(start, start + dur, window))
    times = {CLASSES[kind]: time for kind, time in enumerate(taken.tolist()) if time}
    rest = 0 if total is None else total - sum(times.values())
    if rest and times and abs(rest) < ROUNDING:
        times[max(times, key=times.__getitem__)] += rest
    elif rest:
        times[COMPUTING] = rest
    return times, calls


def starts_in(kernels: Table, window: tuple[int, int]) -> NDArray[np.bool_]:
    """Mask of the kernels that start in a window (start and end, ns)."""
    start = kernels.ints("start_ns")
    return (window[0] <= start) & (start < window[1])


def runs_in(kernels: Table, window: tuple[int, int]) -> NDArray[np.bool_]:
    """Mask of the kernels that overlap a window."""
    start, dur = kernels.ints("start_ns"), kernels.ints("dur_ns")
    return known(start) & known(dur) & (start < window[1]) & (start + dur >= window[0])


def time_not_covered_before(start: IntArray, end: IntArray, window: tuple[int, int] | None = None) -> IntArray:
    """Part of each interval inside the window that no earlier interval covers, ns; sums to the length of the union."""
    out = np.zeros(len(start), dtype=np.int64)
    order = np.argsort(start, kind="stable")
    begin, until = start[order], end[order]
    reach = np.maximum.accumulate(until) if len(until) else until
    begin[1:] = np.maximum(begin[1:], reach[:-1])
    if window is not None:
        begin, until = np.clip(begin, *window), np.clip(until, *window)
    out[order] = np.maximum(until - begin, 0)
    return out
