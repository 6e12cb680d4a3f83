"""Launches of device tasks: the flows from the host's call to the task, the clock error, and queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.idle.model import StreamQueue
from tb_npu_plugin.model import Timeline
from tb_npu_plugin.schema.trace import GPU_LAUNCHES, HOST_TO_DEVICE, INSTANT
from tb_npu_plugin.tables import IntArray

#: Files round times to 0.25 us in 2023; a task ends a gap if it starts within this of the gap's end, ns.
ROUNDING_NS = 500
#: Share of launches whose latency may be below minus the clock error: a few flows may be wrong.
_OUTLIERS = 0.01


@dataclass(frozen=True)
class Launches:
    """Tasks with a recorded launch, sorted by their start, then by that of their launch. Times are ns after the
    timeline's base.

    Attributes:
        task, call: Slices of the task and of the host's call; call -1: only the time of the launch was recorded (level 0).
        start, launched: Their starts.
        track: Track of the task.
    """

    task: IntArray
    call: IntArray
    start: IntArray
    launched: IntArray
    track: IntArray

    def ending(self, ends: IntArray) -> IntArray:
        """Row of the first-launched task that starts at each of these times; -1 without one."""
        if not len(self.start):
            return np.full(len(ends), -1, dtype=np.int64)
        row = np.searchsorted(self.start, ends - ROUNDING_NS)
        at = np.minimum(row, len(self.start) - 1)
        return np.where((row < len(self.start)) & (self.start[at] <= ends + ROUNDING_NS), at, -1)

    def first_starts(self, calls: IntArray) -> IntArray:
        """Start of the first task that each of these calls launches; of a call without tasks it says nothing."""
        known, first = np.unique(self.call, return_index=True)  # tasks are by start
        if not len(known):
            return np.zeros(len(calls), dtype=np.int64)
        return np.asarray(self.start[first][np.minimum(np.searchsorted(known, calls), len(known) - 1)])


def launches_of(timeline: Timeline, tracks: Sequence[int]) -> Launches:
    """Launches of the tasks on these tracks."""
    kinds = [kind for kind in (HOST_TO_DEVICE, *GPU_LAUNCHES) if kind in timeline.flow_kinds]
    call, task = timeline.flow_pairs(kinds[0] if kinds else HOST_TO_DEVICE)
    # An event without a duration that begins with the call is not the call.
    instant = timeline.category_code(INSTANT)
    is_instant = (timeline.category[call] == instant) & (instant >= 0)
    call = np.where(is_instant & (timeline.parent[call] >= 0), timeline.parent[call], call)
    rows = timeline.rows
    bare, launched_task = timeline.bare_launches()
    launched = np.concatenate([rows.start[call], bare])
    call = np.concatenate([call, np.full(len(bare), -1, dtype=np.int64)])
    task = np.concatenate([task, launched_task])
    track = rows.track_of_row(rows.row_of(task))
    own = np.isin(track, tracks)
    task, call, track, launched = task[own], call[own], track[own], launched[own]
    start = rows.start[task]
    order = np.lexsort((launched, start))
    return Launches(task[order], call[order], start[order], launched[order], track[order])


def clock_error(launches: Launches) -> Optional[int]:
    """Error of the clocks of host and device, ns, a lower bound: no task starts before its launch. None without
    launches."""
    if not len(launches.start):
        return None
    latency = launches.start - launches.launched
    place = int(len(latency) * _OUTLIERS)
    return max(0, -int(np.partition(latency, place)[place]))


def queues_of(launches: Launches, timeline: Timeline) -> list[StreamQueue]:
    """Statistics of each track with launches."""
    out = []
    for track in np.flatnonzero(np.bincount(launches.track)).tolist():
        own = launches.track == track
        start, launched = launches.start[own], launches.launched[own]
        latency = np.maximum(start - launched, 0)
        waiting = queue_at_launch(launched, start)
        out.append(
            StreamQueue(
                timeline.tracks[track]["name"],
                len(start),
                int(np.median(latency)),
                int(latency.max()),
                int(np.median(waiting)),
                int(waiting.max()),
                float(np.count_nonzero(waiting == 0)) / len(start),
            )
        )
    return out


def queue_at_launch(launched: IntArray, start: IntArray) -> IntArray:
    """For each task of a stream: how many tasks were launched before it and had not started then."""
    before = np.searchsorted(np.sort(launched), launched)
    return np.asarray(np.maximum(before - np.searchsorted(np.sort(start), launched, side="right"), 0))


def queue_series(launched: IntArray, start: IntArray) -> tuple[IntArray, IntArray]:
    """(times, ascending; number of tasks of a stream that are launched and have not started from then on)."""
    times = np.concatenate([launched, np.maximum(start, launched)])
    change = np.repeat(np.array([1, -1], dtype=np.int64), len(launched))
    order = np.argsort(times, kind="stable")
    length = np.cumsum(change[order])
    times = times[order]
    last = np.append(times[1:] != times[:-1], True)[: len(times)]  # the value after all changes at a time
    return times[last], length[last]
