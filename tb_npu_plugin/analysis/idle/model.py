"""Idle time of a device: gaps, intervals with their causes, and sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Optional, get_args

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.steps.partition import Step
from tb_npu_plugin.tables import IntArray

#: Whether the host began to launch the next task after the gap began. "unknown": no launch is recorded.
Launch = Literal["late", "before", "unknown"]
LAUNCHES: tuple[Launch, ...] = get_args(Launch)
LATE, BEFORE, UNKNOWN_LAUNCH = range(len(LAUNCHES))

#: In order of priority: where several apply, the first one counts. Synchronization comes behind what other threads do
#: meanwhile: it waits for them.
Cause = Literal[
    "garbage_collection",
    "data_loading",
    "communication",
    "allocator",
    "compile",
    "synchronization",
    "launch_call",
    "host_late",
    "dependency",
    "launch_overhead",
    "unknown",
]
CAUSES: tuple[Cause, ...] = get_args(Cause)


def code_of(cause: Cause) -> int:
    """Place of a cause in CAUSES."""
    return CAUSES.index(cause)


@dataclass(frozen=True)
class Gaps:
    """Stretches in which a device neither computes nor communicates, sorted, disjoint. Times are ns after the timeline's
    base. Arrays of equal length.

    Attributes:
        step: Index of the step; between two steps, of the later one.
        is_free: Whether the gap belongs to Free of the step. Others lie between two steps, in exposed preparing.
        launch: Index into LAUNCHES.
        task: Slice of the task that ends the gap; -1 if none with a recorded launch does.
        call: Slice of its launch; -1 if unknown.
        launched: Start of the launch; start of the gap if unknown.
        is_uncertain: Whether the launch is known, and closer to the start of the gap than the clock error.
    """

    start: IntArray
    end: IntArray
    step: IntArray
    is_free: NDArray[np.bool_]
    launch: NDArray[np.int8]
    task: IntArray
    call: IntArray
    launched: IntArray
    is_uncertain: NDArray[np.bool_]


@dataclass(frozen=True)
class Parts:
    """The gaps, cut into intervals with one cause each. Sorted; together they are the gaps.

    Attributes:
        gap: Index of the gap.
        cause: Index into CAUSES.
        anchor: Slice that shows the cause: the host slice that covers the interval, else the launch of the next task;
            -1 if unknown.
    """

    start: IntArray
    end: IntArray
    gap: IntArray
    cause: NDArray[np.int8]
    anchor: IntArray


@dataclass(frozen=True)
class CauseTime:
    """Idle time of one cause and launch."""

    cause: Cause
    """Why the device was idle."""
    launch: Launch
    """Whether the next task was launched late."""
    time_ns: int
    """Sum of the idle time."""
    gaps: int
    """Number of gaps; one may have several causes."""


@dataclass(frozen=True)
class StreamQueue:
    """Launches of one stream: how far the host is ahead of the device."""

    stream: str
    """Name of the stream."""
    tasks: int
    """Tasks with a recorded launch."""
    latency_p50_ns: int
    """Median time from the start of the launch to that of the task; negative ones count as 0."""
    latency_max_ns: int
    """Longest."""
    queue_p50: int
    """Median number of tasks that were launched before and had not started."""
    queue_max: int
    """Largest."""
    empty_share: float
    """Share of tasks that found no such task, from 0 to 1: the host-bound share."""


@dataclass(frozen=True)
class DeviceIdle:
    """Idle time of one device.

    Attributes:
        device_id: None if the span has one device.
        steps: Steps of the device; `Gaps.step` is an index into them.
        unplaced: By step: Free of the step that is in no gap, ns; its cause is unknown. 0 where the files agree.
        clock_error_ns: Error of the clocks of host and device, a lower bound; None if no launch is recorded.
    """

    device_id: Optional[int]
    steps: Sequence[Step]
    gaps: Gaps
    parts: Parts
    unplaced: Sequence[int]
    clock_error_ns: Optional[int]
    queues: Sequence[StreamQueue]

    @cached_property
    def by_cause(self) -> list[CauseTime]:
        """Free of all steps in the order of CAUSES and LAUNCHES; only those with idle time."""
        return self._sums(self.gaps.is_free, sum(self.unplaced))

    @cached_property
    def between_steps(self) -> list[CauseTime]:
        """The same for the time between the steps."""
        return self._sums(~self.gaps.is_free, 0)

    def of_step(self, step: int) -> list[CauseTime]:
        """The same for Free of one step."""
        return self.of_steps([step])

    def of_steps(self, steps: Sequence[int]) -> list[CauseTime]:
        """The same for Free of some steps."""
        is_chosen = np.zeros(len(self.steps), dtype=bool)
        is_chosen[steps] = True
        return self._sums(self.gaps.is_free & is_chosen[self.gaps.step], sum(self.unplaced[step] for step in steps))

    def before_step(self, step: int) -> list[CauseTime]:
        """The same for the time before one step that belongs to no step."""
        return self._sums(~self.gaps.is_free & (self.gaps.step == step), 0)

    def times_of_steps(self, cause: Cause) -> IntArray:
        """Idle time of a cause in and before each step, ns; without `unplaced`."""
        rows = self.parts.cause == code_of(cause)
        length, step = (self.parts.end - self.parts.start)[rows], self.gaps.step[self.parts.gap[rows]]
        return np.bincount(step, length, len(self.steps)).astype(np.int64)

    @property
    def total_ns(self) -> int:
        """Free of all steps, as the product shows it."""
        return sum(one.time_ns for one in self.by_cause)

    def time_of(self, launch: Launch) -> int:
        """Free time of the gaps with this launch, ns."""
        return sum(one.time_ns for one in self.by_cause if one.launch == launch)

    def cost_of(self, cause: Cause) -> int:
        """Idle time of a cause in and between all steps, ns."""
        return sum(one.time_ns for one in (*self.by_cause, *self.between_steps) if one.cause == cause)

    def _sums(self, chosen: NDArray[np.bool_], unplaced: int) -> list[CauseTime]:
        parts, width = self.parts, len(LAUNCHES)
        rows = np.flatnonzero(chosen[parts.gap])
        gap, key = parts.gap[rows], parts.cause[rows].astype(np.int64) * width
        key += self.gaps.launch[gap]
        times = np.bincount(key, (parts.end - parts.start)[rows], len(CAUSES) * width).astype(np.int64)
        times[-1] += unplaced
        out = []
        for at in np.flatnonzero(times).tolist():
            own = gap[key == at]  # ascending; a gap may have several intervals of one cause
            count = int(np.count_nonzero(np.diff(own, prepend=-1)))
            out.append(CauseTime(CAUSES[at // width], LAUNCHES[at % width], int(times[at]), count))
        return out
