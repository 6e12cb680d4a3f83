"""Rebuilds the operator times of operator_details.csv from trace events.
Source: docs/facts/ascend_pt.md, operator_details.csv.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.tables import NULL_INT, IntArray

#: Units of device task durations per ns.
FRACTION = 1024
_MOST = 2**62


@dataclass(frozen=True)
class OperatorEvents:
    """Input of the rebuild. Times in ns; threads and ids are any integers.

    op_*        host operators, by start
    enqueue_*   entries put into the task queue; id: NULL_INT where unknown
    dequeue_*   execution of the same entries; empty without a task queue
    launch_*    device tasks: time of the launching API call, duration in units of 1/FRACTION ns (an operator has many
                tasks, with fractions of a ns), whether it is an AI Core task
    """

    op_start: IntArray
    op_dur: IntArray
    op_thread: IntArray
    enqueue_start: IntArray
    enqueue_thread: IntArray
    enqueue_id: IntArray
    dequeue_start: IntArray
    dequeue_dur: IntArray
    dequeue_id: IntArray
    launch_start: IntArray
    launch_dur: IntArray
    launch_aicore: NDArray[np.bool_]


@dataclass(frozen=True)
class OperatorTimes:
    """Per operator, ns. parent: index of the enclosing operator, -1 at the top."""

    parent: NDArray[np.int64]
    host_self: IntArray
    host_total: IntArray
    device_self: IntArray
    device_total: IntArray
    device_self_aicore: IntArray
    device_total_aicore: IntArray


def rebuild(events: OperatorEvents) -> OperatorTimes:
    """Times of every operator, in the given order.

    Operators nest by time across all threads. A device task belongs to the operator that enqueued it, or, without a
    task
    queue, to the operator that runs at its launch.
    """
    parent, owner = launched_by(events)
    count = len(events.op_start)
    device_self = _sum_by(owner, events.launch_dur, count)
    aicore_self = _sum_by(owner, np.where(events.launch_aicore, events.launch_dur, 0), count)
    return OperatorTimes(
        parent,
        without_children(parent, events.op_dur),
        events.op_dur,
        _round_to_ns(device_self),
        _round_to_ns(with_children(parent, device_self)),
        _round_to_ns(aicore_self),
        _round_to_ns(with_children(parent, aicore_self)),
    )


def rebuild_by_thread(events: OperatorEvents, launch_thread: IntArray) -> OperatorTimes:
    """As `rebuild` without a task queue, for frameworks with concurrent threads: operators nest on their thread, and a
    device task belongs to the operator on the launching thread."""
    count = len(events.op_start)
    columns = [np.zeros(count, dtype=np.int64) for _ in fields(OperatorTimes)]
    none = np.zeros(0, dtype=np.int64)
    for thread in np.unique(events.op_thread).tolist():
        rows = np.flatnonzero(events.op_thread == thread)
        own = np.flatnonzero(launch_thread == thread)
        times = rebuild(
            OperatorEvents(
                events.op_start[rows],
                events.op_dur[rows],
                events.op_thread[rows],
                *(none,) * 6,
                events.launch_start[own],
                events.launch_dur[own],
                events.launch_aicore[own],
            )
        )
        for column, found in zip(columns, (getattr(times, field.name) for field in fields(OperatorTimes))):
            column[rows] = found
        inner = rows[times.parent >= 0]
        columns[0][inner] = rows[times.parent[times.parent >= 0]]
    return OperatorTimes(*columns)


def launched_by(events: OperatorEvents) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(parent of each operator, operator of each launch), -1 for none; see `rebuild`."""
    if not len(events.dequeue_start):
        threads = np.full(len(events.launch_start), -1, dtype=np.int64)
        return _nest(events, events.launch_start, threads, any_thread=True)
    parent, owner = _nest(events, events.enqueue_start, events.enqueue_thread, any_thread=False)
    entry = _entries_of_launches(events)
    return parent, np.where(entry >= 0, owner[entry], -1) if len(owner) else entry


def nested_times(
    parent: NDArray[np.int64], dur: IntArray, device_self: IntArray, aicore_self: IntArray
) -> OperatorTimes:
    """Times of operators with known parents, from their durations and device self times, ns."""
    return OperatorTimes(
        parent,
        without_children(parent, dur),
        dur,
        device_self,
        with_children(parent, device_self),
        aicore_self,
        with_children(parent, aicore_self),
    )


def without_children(parent: NDArray[np.int64], dur: IntArray) -> IntArray:
    """Self part of a duration that includes children."""
    out = dur.copy()
    inner = np.flatnonzero(parent >= 0)
    np.subtract.at(out, parent[inner], dur[inner])
    return out


def enclosing(start: IntArray, end: IntArray, thread: IntArray) -> NDArray[np.int64]:
    """Innermost enclosing interval on the same thread; -1 at the top. Sorted by start, longer first."""
    parent = [-1] * len(start)
    ends, last = end.tolist(), dict.fromkeys(np.unique(thread).tolist(), -1)
    for index, (own, until) in enumerate(zip(thread.tolist(), ends)):
        above = last[own]
        while above >= 0 and ends[above] < until:
            above = parent[above]
        parent[index] = above
        last[own] = index
    return np.array(parent, dtype=np.int64)


def _nest(
    events: OperatorEvents, times: IntArray, threads: IntArray, any_thread: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(parent of each operator, operator that owns each of `times`), -1 without one."""
    count = len(events.op_start)
    parents, owners = np.full(count, -1, dtype=np.int64), np.full(len(times), -1, dtype=np.int64)
    start = np.concatenate([events.op_start, times])
    order = np.argsort(start, kind="stable")  # an operator before an entry with the same time
    # Memoryviews: lists of integers take five times the memory.
    parent, owner, moments = parents.data, owners.data, start.data
    ends = (events.op_start + events.op_dur).data
    op_threads, entry_threads = (np.ascontiguousarray(values).data for values in (events.op_thread, threads))
    last = -1
    for index in order.data:
        moment = moments[index]
        while last >= 0 and moment > ends[last]:
            last = parent[last]
        if index < count:
            parent[index] = last
            last = index
        elif last >= 0 and (any_thread or op_threads[last] == entry_threads[index - count]):
            owner[index - count] = last
    return parents, owners


def _entries_of_launches(events: OperatorEvents) -> NDArray[np.int64]:
    """For each launch, the index of the enqueued task queue entry that was executing; -1 for none."""
    by_end = np.argsort(events.dequeue_start + events.dequeue_dur, kind="stable")
    ends = (events.dequeue_start + events.dequeue_dur)[by_end]
    place = np.searchsorted(ends, events.launch_start, side="left")
    inside = place < len(ends)
    dequeue = by_end[np.minimum(place, len(ends) - 1)]
    inside &= events.dequeue_start[dequeue] <= events.launch_start
    ids, first = np.unique(events.enqueue_id, return_index=True)
    if not len(ids):
        return np.full(len(events.launch_start), -1, dtype=np.int64)
    wanted = events.dequeue_id[dequeue]
    place = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    return np.where(inside & (ids[place] == wanted) & (wanted != NULL_INT), first[place], -1)


def _sum_by(group: NDArray[np.int64], values: IntArray, count: int) -> IntArray:
    out = np.zeros(count, dtype=np.int64)
    known = group >= 0
    np.add.at(out, group[known], values[known])
    return out


def with_children(parent: NDArray[np.int64], own: IntArray) -> IntArray:
    """Sum over each operator and its descendants. Operators are sorted by start, so parents precede children. Sums
    beyond int64 are clipped: they are not durations."""
    totals = own.astype(np.int64)
    if np.abs(totals.astype(np.float64)).sum() >= _MOST:
        totals = np.clip(totals, -_MOST // len(totals), _MOST // len(totals))
    total, above = totals.data, np.ascontiguousarray(parent).data  # see _nest
    for index in range(len(total) - 1, -1, -1):
        outer = above[index]
        if outer >= 0:
            total[outer] += total[index]
    return totals


def _round_to_ns(parts: IntArray) -> IntArray:
    """Units of 1/FRACTION ns to ns, rounded half to even."""
    whole, rest = np.divmod(parts, FRACTION)
    up = (rest * 2 > FRACTION) | ((rest * 2 == FRACTION) & (whole % 2 == 1))
    return np.asarray(whole + up, dtype=np.int64)
