"""Search by name, and statistics of a time range from raw slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.store.timeline_open import Timeline
from tb_npu_plugin.tables import Column, Kind, Table, Text

Index = NDArray[np.int64]

STATS_COLUMNS = (
    Column("name", Kind.TEXT, "Name", "Name of the slices.", "identity"),
    Column("track", Kind.INT, "Track", "Number of the track.", "identity"),
    Column("process", Kind.TEXT, "Process", "Process of the track.", "identity"),
    Column("thread", Kind.TEXT, "Thread", "Name of the track.", "identity"),
    Column("count", Kind.INT, "Count", "Slices that overlap the range."),
    Column("total", Kind.DURATION, "Total", "Sum of the whole durations.", "time"),
    Column("self", Kind.DURATION, "Self", "Sum of the durations without slices nested in them.", "time"),
    Column("avg", Kind.DURATION, "Average", "Mean of the whole durations.", "time"),
    Column("min", Kind.DURATION, "Min", "Shortest.", "time"),
    Column("max", Kind.DURATION, "Max", "Longest.", "time"),
    Column("clipped", Kind.DURATION, "In range", "Sum of the parts of the durations inside the range.", "time"),
)


@dataclass
class Hits:
    """Slices found by name, by start: at most as many as asked for, of `total`. name: index into `names`."""

    total: int
    names: list[str]
    id: Index
    track: Index
    depth: Index
    name: Index


def search(timeline: Timeline, text: str, limit: int, track: int | None = None) -> Hits:
    """The first slices whose name contains `text`, whatever the case; on one track or all."""
    mask = timeline.names.containing(text)
    low, high = (0, len(timeline.name)) if track is None else _track_bounds(timeline, track)
    ids = low + np.flatnonzero(mask[timeline.name[low:high]])
    total = len(ids)
    starts = timeline.rows.start[ids]
    if total > limit:
        nearest = np.argpartition(starts, limit - 1)[:limit]
        latest = starts[nearest].max()
        nearest = np.flatnonzero(starts <= latest)  # with all of the last moment, so that ties fall by id
        ids, starts = ids[nearest], starts[nearest]
    ids = ids[np.lexsort((ids, starts))][:limit]
    row = timeline.rows.row_of(ids)
    tracks = timeline.rows.track_of_row(row)
    used, code = np.unique(timeline.name[ids], return_inverse=True)
    names = [timeline.names[index] for index in used.tolist()]
    return Hits(total, names, ids, tracks, row - timeline.rows.track_row[tracks], code)


def _track_bounds(timeline: Timeline, track: int) -> tuple[int, int]:
    rows = timeline.rows
    return int(rows.first[rows.track_row[track]]), int(rows.first[rows.track_row[track + 1]])


def stats(timeline: Timeline, t0: int, t1: int, tracks: Sequence[int]) -> Table:
    """One row per track and name of the slices that overlap [t0, t1), by total time. Columns: STATS_COLUMNS."""
    rows = timeline.rows
    spans = [
        rows.overlapping(row, t0, t1)
        for track in tracks
        for row in range(int(rows.track_row[track]), int(rows.track_row[track + 1]))
    ]
    ids = np.concatenate([np.zeros(0, dtype=np.int64), *(np.arange(low, high) for low, high in spans if low < high)])
    owner = rows.track_of_row(rows.row_of(ids))
    key = owner * max(len(timeline.names), 1) + timeline.name[ids]
    order = np.argsort(key, kind="stable")
    ids, key, owner = ids[order], key[order], owner[order]
    heads = np.flatnonzero(np.append(True, key[1:] != key[:-1])) if len(key) else np.zeros(0, dtype=np.int64)
    start, dur = rows.start[ids], rows.dur[ids]
    clipped = np.minimum(start + dur, t1) - np.maximum(start, t0)
    count = np.diff(np.append(heads, len(ids)))
    total = _sums(dur, heads)
    used, code = np.unique(timeline.name[ids[heads]], return_inverse=True)
    shown = timeline.tracks
    table = Table(
        STATS_COLUMNS,
        {
            "name": Text(code.astype(np.int32), [timeline.names[index] for index in used.tolist()]),
            "track": owner[heads],
            "process": Text(owner[heads].astype(np.int32), [track["process"] for track in shown]),
            "thread": Text(owner[heads].astype(np.int32), [track["name"] for track in shown]),
            "count": count,
            "total": total,
            "self": _sums(timeline.self_time[ids], heads),
            "avg": np.rint(total / count).astype(np.int64),
            "min": np.minimum.reduceat(dur, heads) if len(heads) else total,
            "max": np.maximum.reduceat(dur, heads) if len(heads) else total,
            "clipped": _sums(np.maximum(clipped, 0), heads),
        },
    )
    return table.take(np.argsort(-total, kind="stable"))


def _sums(values: Index, heads: Index) -> Index:
    return np.add.reduceat(values, heads) if len(heads) else np.zeros(0, dtype=np.int64)
