"""Which call on the host launched which task on the device."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.scan import TraceEvents
from tb_npu_plugin.schema import trace
from tb_npu_plugin.store.timeline.tracks import track_keys
from tb_npu_plugin.tables import NULL_INT

Index = NDArray[np.int64]


def launches(events: TraceEvents, every: bool = False) -> tuple[Index, Index]:
    """(flow start, device task) events of every launch: the task stands exactly at the end of the flow. One call may
    launch several tasks; torch_npu counts the first of them only, as is done here unless `every` is wanted."""
    none = np.zeros(0, dtype=np.int64)
    if trace.HOST_TO_DEVICE not in events.categories:
        return none, none
    rows = np.flatnonzero(events.category == events.categories.index(trace.HOST_TO_DEVICE))
    rows = rows[events.flow[rows] >= 0]
    begins, ends = rows[events.phase[rows] == ord("s")], rows[events.phase[rows] == ord("f")]
    if every:
        ends, begins = _joined(events, ends, begins)
    else:
        begins, ends = _joined(events, begins, ends)
    task = _tasks_at(events, ends)
    return begins[task >= 0], task[task >= 0]


def _joined(events: TraceEvents, points: Index, others: Index) -> tuple[Index, Index]:
    """Those of the points whose flow has one of the others, and the first of these in file order for each."""
    ids, first = np.unique(events.flow[others], return_index=True)
    if not len(ids):
        return points[:0], others[:0]
    place = np.minimum(np.searchsorted(ids, events.flow[points]), len(ids) - 1)
    found = ids[place] == events.flow[points]
    return points[found], others[first[place[found]]]


def _tasks_at(events: TraceEvents, rows: Index) -> Index:
    """The last complete event in file order on the same thread at the same moment as each of these; -1 for none."""
    tracks = np.unique(track_keys(events, rows))
    tasks = np.flatnonzero(events.phase == ord("X"))
    tasks = tasks[np.isin(track_keys(events, tasks), tracks)]
    tasks = tasks[(events.dur[tasks] != NULL_INT) & (events.ts[tasks] != NULL_INT)]
    if not len(tasks):
        return np.full(len(rows), -1, dtype=np.int64)
    times, code = np.unique(events.ts[tasks], return_inverse=True)
    key = np.searchsorted(tracks, track_keys(events, tasks)) * len(times) + code
    order = np.argsort(key, kind="stable")
    key = key[order]
    moment = np.minimum(np.searchsorted(times, events.ts[rows]), len(times) - 1)
    wanted = np.searchsorted(tracks, track_keys(events, rows)) * len(times) + moment
    place = np.maximum(np.searchsorted(key, wanted, side="right") - 1, 0)
    found = (key[place] == wanted) & (times[moment] == events.ts[rows])
    return np.where(found, tasks[order[place]], -1)
