"""Splits the time of late launches by what the host did meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.idle.gaps import tracks_of_device
from tb_npu_plugin.analysis.idle.launches import launches_of
from tb_npu_plugin.analysis.idle.model import CAUSES, DeviceIdle, code_of
from tb_npu_plugin.analysis.steps.iterations import groups_of
from tb_npu_plugin.model import SpanData, Timeline, timeline_of
from tb_npu_plugin.schema.trace_events import CANN, PYTHON_GC
from tb_npu_plugin.tables import IntArray

#: Items of late launches beside "host_late".
PREEMPTED, SILENT, AFTER_SYNC, LAUNCH_BOUND = "preempted", "silent_host", "after_synchronization", "launch_bound"
#: A GPU is launch-bound: largest share of tasks that take as long as their launch call, and time by which the host is late
#: for a task beside that, ns. Measured on four traces: 9 to 27 us; 125 us where the host does something else.
_LONG_TASKS, _LATE_NS = 0.5, 50_000
#: A launch call this long, ns and by the median of such calls, stands still. Longest of 191 calls on recorded ranks: 1.04 ms,
#: the launch of a collective.
_LONG_CALL_NS, _LONG_CALL = 2_000_000, 20
#: A host is silent: length, ns, and largest number of calls of CANN in each ns of it. msprof-analyze's advisor, conjectured
#: garbage collection.
_SILENT_NS, _CALLS = 200_000_000, 1e-7


@dataclass(frozen=True)
class IdleItems:
    """Idle time of a device. rows: of `idle.parts`, by item: a cause, or what late launches are split into. Each row has one
    item."""

    span: SpanData
    idle: DeviceIdle
    rows: Mapping[str, IntArray]

    def cost_of(self, item: str) -> int:
        """Idle time of an item, ns."""
        parts, rows = self.idle.parts, self.rows[item]
        return int((parts.end[rows] - parts.start[rows]).sum())


def idle_items(span: SpanData, idle: DeviceIdle, is_kept: NDArray[np.bool_]) -> IdleItems:
    """The items of a device. is_kept: mask of the `idle.parts` that count."""
    return IdleItems(span, idle, {item: rows[is_kept[rows]] for item, rows in _rows_by_item(span, idle).items()})


def _rows_by_item(span: SpanData, idle: DeviceIdle) -> dict[str, IntArray]:
    parts, timeline = idle.parts, timeline_of(span)
    out: dict[str, IntArray] = {cause: np.flatnonzero(parts.cause == code_of(cause)) for cause in CAUSES}
    is_late, is_unknown = parts.cause == code_of("host_late"), parts.cause == code_of("unknown")
    preempted = (is_late | is_unknown) & _in_long_calls(timeline, idle)
    silent = is_late & ~preempted & _are_silent(timeline, idle)
    is_late, is_unknown = is_late & ~preempted & ~silent, is_unknown & ~preempted
    following = is_late & _follow(timeline, idle)
    length = parts.end - parts.start
    if length[following].sum() < length[is_late & ~following].sum():  # the host is late without synchronizations, too
        following = np.zeros(len(following), dtype=bool)
    for item, chosen in ((PREEMPTED, preempted), (SILENT, silent), (AFTER_SYNC, following)):
        out[item] = np.flatnonzero(chosen)
    is_late &= ~following
    is_launching = np.zeros(len(is_late), dtype=bool)
    if _is_launch_bound(span, idle):
        is_launching = is_late | (parts.cause == code_of("launch_call"))
        is_late &= ~is_launching
    out[LAUNCH_BOUND] = np.flatnonzero(is_launching)
    out["host_late"], out["unknown"] = np.flatnonzero(is_late), np.flatnonzero(is_unknown)
    return out


def _is_launch_bound(span: SpanData, idle: DeviceIdle) -> bool:
    """Whether the host of a GPU does little but launch tasks that take less time than that. Tasks of a graph, which has one
    launch for all, do not."""
    if not (idle.parts.cause == code_of("launch_call")).any():
        return False
    timeline = timeline_of(span)
    launches = launches_of(timeline, tracks_of_device(timeline, idle.device_id))
    took = timeline.rows.dur
    _, place, tasks_of = np.unique(launches.call, return_inverse=True, return_counts=True)
    is_alone = tasks_of[place] == 1
    is_short = is_alone & (np.asarray(took[launches.task]) < np.asarray(took[launches.call]))
    alone = int(is_alone.sum())
    tasks = max(len(launches.task), alone + sum(one.graph_kernels for one in groups_of(span)))
    is_bound = tasks - int(is_short.sum()) < _LONG_TASKS * tasks
    return is_bound and idle.cost_of("host_late") < _LATE_NS * alone


def has_collections(span: SpanData) -> bool:
    """Whether collections of Python were recorded."""
    return any(track["process"] == PYTHON_GC for track in timeline_of(span).tracks)


def _in_long_calls(timeline: Timeline, idle: DeviceIdle) -> NDArray[np.bool_]:
    """Whether a launch call that stands still covers half of the part."""
    parts, call = idle.parts, idle.gaps.call[idle.parts.gap]
    start, took, names = (_at(call, values) for values in (timeline.rows.start, timeline.rows.dur, timeline.name))
    is_long = took >= _LONG_CALL_NS
    for name in np.unique(names[is_long]).tolist():
        own = is_long & (names == name)
        is_long[own] &= took[own] >= _LONG_CALL * np.median(timeline.rows.dur[timeline.name[:] == name])
    shared = np.minimum(parts.end, start + took) - np.maximum(parts.start, start)
    return np.asarray(is_long & (2 * shared >= parts.end - parts.start))


def _at(slices: IntArray, values: NDArray[Any]) -> IntArray:
    """Values of slices; 0 where there is none, -1."""
    out = np.zeros(len(slices), dtype=np.int64)
    out[slices >= 0] = values[slices[slices >= 0]]
    return out


def _are_silent(timeline: Timeline, idle: DeviceIdle) -> NDArray[np.bool_]:
    """Whether the host hardly calls CANN during the part."""
    parts = idle.parts
    out = parts.end - parts.start >= _SILENT_NS
    if not out.any():
        return out
    tracks = [one for one in timeline.tracks_of("slices") if timeline.tracks[one]["process"] == CANN]
    if not tracks:
        return np.zeros(len(out), dtype=bool)
    starts = []
    for track in tracks:
        low, high = (int(timeline.rows.first[timeline.rows.track_row[at]]) for at in (track, track + 1))
        starts.append(np.asarray(timeline.rows.start[low:high]))
    calls = np.sort(np.concatenate(starts))
    count = np.searchsorted(calls, parts.end) - np.searchsorted(calls, parts.start)
    return np.asarray(out & (count <= _CALLS * (parts.end - parts.start)))


def _follow(timeline: Timeline, idle: DeviceIdle) -> NDArray[np.bool_]:
    """Whether the part follows a blocking synchronization in its gap, and would be gone without synchronizations: the host would
    be ahead by the time that it waited for a busy device so far, less the idle time that this saved already."""
    parts = idle.parts
    out = np.zeros(len(parts.start), dtype=bool)
    is_sync, is_late = parts.cause == code_of("synchronization"), parts.cause == code_of("host_late")
    if not is_sync.any():
        return out
    took = _at(np.where(is_sync, parts.anchor, -1), timeline.rows.dur).tolist()
    length, gap, call = (values.tolist() for values in (parts.end - parts.start, parts.gap, parts.anchor))
    total = np.cumsum([0, *length]).tolist()
    syncs = np.flatnonzero(is_sync).tolist()
    lead, call_before = 0, -1
    for at, next_sync in zip(syncs, [*syncs[1:], len(out)]):
        lead += (took[at] if call[at] != call_before else 0) - length[at]
        call_before = call[at]
        after = at + 1
        while after < next_sync and gap[after] == gap[at]:
            out[after] = is_late[after] and length[after] <= lead
            if not is_late[after]:
                lead = max(0, lead - length[after])
            elif out[after]:
                lead -= length[after]
            after += 1
        if after < next_sync:
            lead = max(0, lead - total[next_sync] + total[after])
    return out
