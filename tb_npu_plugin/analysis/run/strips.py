"""What the device of each rank does at each moment: the folded ranks of the Trace view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Optional

import numpy as np

from tb_npu_plugin import intervals
from tb_npu_plugin.analysis.communication.first_waits import SAME_START_NS
from tb_npu_plugin.analysis.kernels.kinds import is_communication, is_computing, is_copy
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.analysis.run.devices import RankDevice
from tb_npu_plugin.intervals import Coverage, Intervals, overlaps
from tb_npu_plugin.tables import IntArray, Table, known

#: Parts of the time from the first to the last device task of a rank, ids of analysis.parts.BUDGET. They sum to it.
PARTS = ("computing", "overlapped", "waiting", "communication", "copying", "free")


@dataclass(frozen=True)
class DeviceTimes:
    """When a device works, ns since the epoch. The sets are disjoint.

    Attributes:
        computing: Nothing communicates.
        overlapped: Computing and communication.
        exposed: Communication alone, waiting included.
        copying: Copies alone.
    """

    computing: Intervals
    overlapped: Intervals
    exposed: Intervals
    copying: Intervals

    @cached_property
    def coverage(self) -> tuple[Coverage, Coverage, Coverage, Coverage]:
        """The sets in the order of the fields."""
        return Coverage(self.computing), Coverage(self.overlapped), Coverage(self.exposed), Coverage(self.copying)

    @cached_property
    def extent(self) -> tuple[int, int]:
        """Start of the first and end of the last task."""
        sets = [one for one in (self.computing, self.overlapped, self.exposed, self.copying) if len(one.start)]
        return min(int(one.start[0]) for one in sets), max(int(one.end[-1]) for one in sets)

    @property
    def bytes(self) -> int:
        """Size in memory, the sums of `coverage` included."""
        return 48 * sum(len(one.start) for one in (self.computing, self.overlapped, self.exposed, self.copying))


@dataclass(frozen=True)
class Wait:
    """A wait for a late rank, ns since the epoch. rank: "5"; "local 5" for a number inside the group; None if unknown. via: the rank
    that is awaited directly, if it waits for `rank` in turn."""

    start: int
    end: int
    rank: Optional[str]
    via: Optional[str] = None


def device_times(line: RankDevice) -> Optional[DeviceTimes]:
    """When the device of a rank works. Communication is that of the kernels, else of the communication operators. None if no
    task has a time, or only those that do not compute: the rest of the time is unknown then, not free."""
    kernels = line.kernels()
    computes, communicates, copies = _nothing(), _nothing(), _nothing()
    if kernels is not None:
        kernels = kernels.take(known(kernels.ints("start_ns")) & known(kernels.ints("dur_ns")))
        is_comm, is_copied = is_communication(kernels), is_copy(kernels)
        communicates = _times(kernels.take(is_comm), "dur_ns")
        copies = _times(kernels.take(is_copied), "dur_ns")
        computes = _times(kernels.take(is_computing(kernels)), "dur_ns")
    if not len(communicates.start) and line.comm_ops is not None:
        ops = line.comm_ops
        communicates = _times(ops.take(known(ops.ints("start_ns")) & known(ops.ints("elapse_ns"))), "elapse_ns")
    is_unknown = not len(computes.start) and any(step.computing for step in line.steps)
    if is_unknown or not any(len(one.start) for one in (computes, communicates, copies)):
        return None
    return DeviceTimes(
        computing=intervals.subtract(computes, communicates),
        overlapped=intervals.overlap(computes, communicates),
        exposed=intervals.subtract(communicates, computes),
        copying=intervals.subtract(copies, intervals.merge(computes, communicates)),
    )


def exposed_waits(run: RunCommunication, at: int, times: DeviceTimes) -> list[Wait]:
    """When a line of the run waits for the last rank and computes nothing, the longest first."""
    waits, names = run.waits[at], run.names_of_last(at)
    found = []
    for row in np.flatnonzero(waits.time > 0).tolist():
        start = waits.start[row : row + 1]
        own = intervals.overlap(times.exposed, Intervals(start, start + waits.time[row]))
        direct = run.awaited_rank(at, row)
        via = None if direct is None or str(direct) == names[row] else str(direct)
        found += [Wait(*piece, names[row], via) for piece in zip(own.start.tolist(), own.end.tolist())]
    return sorted(found, key=lambda one: one.start - one.end)


def longest_awaited(waits: Sequence[Wait], start: Optional[int] = None, end: Optional[int] = None) -> Optional[str]:
    """The rank that is awaited longest in [start, end), ns since the epoch; without them, in all. None without one."""
    times: Counter[Optional[str]] = Counter()
    for wait in waits:
        begin, stop = (
            wait.start if start is None else max(wait.start, start),
            wait.end if end is None else min(wait.end, end),
        )
        times[wait.rank] += max(0, stop - begin)
    ((rank, time),) = times.most_common(1) or [(None, 0)]
    return rank if time else None


def coverage_of(waits: Sequence[Wait]) -> Coverage:
    """The moments in a wait."""
    start, end = (np.array([getattr(one, key) for one in waits], dtype=np.int64) for key in ("start", "end"))
    return Coverage(intervals.union(start, end))


@dataclass(frozen=True)
class Strip:
    """What a rank does over time. waits: exposed, the longest first; waiting: their moments."""

    times: DeviceTimes
    waits: Sequence[Wait]
    waiting: Coverage


def strip_of(run: RunCommunication, at: int) -> Optional[Strip]:
    """The strip of a line of the run; None if `device_times` has none."""
    times = device_times(run.lines[at])
    if times is None:
        return None
    waits = exposed_waits(run, at, times)
    return Strip(times, waits, coverage_of(waits))


def part_times(times: DeviceTimes, waiting: Coverage, edges: IntArray) -> IntArray:
    """Time of each part between neighbouring edges, ns: a row for each of PARTS. waiting: the exposed waits. Before the
    first task and after the last, all parts are 0."""
    computing, overlapped, exposed, copying = (np.diff(one.until(edges)) for one in times.coverage)
    waits = np.diff(waiting.until(edges))
    recorded = np.diff(np.clip(edges, *times.extent))
    free = recorded - computing - overlapped - exposed - copying
    return np.stack([computing, overlapped, waits, exposed - waits, copying, free])


@dataclass(frozen=True)
class KernelFigures:
    """Computing kernels that overlap a range.

    Attributes:
        count: Their number.
        p50, p95: Percentiles of their whole durations, ns: the shortest that at least so many % do not exceed; None without
            a kernel.
        longest: Name of the longest.
    """

    count: int
    p50: Optional[int]
    p95: Optional[int]
    longest: Optional[str]


def kernel_figures(line: RankDevice, start: int, end: int) -> Optional[KernelFigures]:
    """The kernels of a rank that compute in [start, end), ns since the epoch. None if it has no kernels."""
    kernels = line.kernels()
    if kernels is None:
        return None
    length = kernels.ints("dur_ns")
    inside = known(length) & overlaps(kernels.ints("start_ns"), length, start, end)
    rows = np.flatnonzero(inside & is_computing(kernels))
    if not len(rows):
        return KernelFigures(0, None, None, None)
    length = length[rows]
    p50, p95 = (int(np.partition(length, at)[at]) for at in (-(-len(rows) * share // 100) - 1 for share in (50, 95)))
    return KernelFigures(len(rows), p50, p95, kernels.text("name")[int(rows[length.argmax()])])


def step_parts(times: DeviceTimes, waiting: Coverage, starts: Sequence[int]) -> list[list[int]]:
    """Time of each of PARTS in each step, ns. starts: of the steps, ascending; each ends where the next begins, the last
    with the last task."""
    edges = np.array([*starts, max(times.extent[1], *starts)], dtype=np.int64)
    found: list[list[int]] = part_times(times, waiting, edges).T.tolist()
    return found


def mean_parts(times: DeviceTimes, waiting: Coverage, steps: Sequence[Sequence[int]]) -> list[int]:
    """Mean time of each of PARTS, ns. steps: what step_parts returned; without any, of all the time from the first task to the last."""
    if steps:
        return [sum(one) // len(steps) for one in zip(*steps)]
    whole: list[int] = part_times(times, waiting, np.array(times.extent, dtype=np.int64))[:, 0].tolist()
    return whole


def _times(rows: Table, length: str) -> Intervals:
    start = rows.ints("start_ns")
    return intervals.union(start, start + rows.ints(length))


def _nothing() -> Intervals:
    none = np.zeros(0, dtype=np.int64)
    return Intervals(none, none)


# One collective on all ranks that run it.


def starts_of_collective(run: RunCommunication, span: str, name: str, start: int) -> dict[str, int]:
    """Start of a collective on each rank that runs it, ns since the epoch by the clock of the rank, by token of its span.

    Args:
        span, name, start: A slice of the collective: token of the span, name, and start in ns since the epoch.

    Returns:
        Empty if the collective cannot be matched, as a send or receive, or one that not every member recorded as often.
    """
    found, tokens = run.matched, [line.span.token for line in run.lines]
    starts = found.rows.ints("start_ns")
    is_own = np.array([token == span for token in tokens], dtype=bool)
    own = np.flatnonzero(found.rows.text("name").equals(name) & (found.number >= 0))
    own = own[is_own[found.owner[own]]]
    if not len(own):
        return {}
    nearest = own[np.argmin(np.abs(starts[own] - start))]
    if abs(int(starts[nearest]) - start) > SAME_START_NS:
        return {}
    rows = np.flatnonzero(found.number == found.number[nearest])
    return {tokens[int(found.owner[row])]: int(starts[row]) for row in rows}
