"""Search by name, and statistics of a time range from raw slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.packing import self_time
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
    Column(
        "clipped_self",
        Kind.DURATION,
        "Self in range",
        "Time inside the range in which no slice nested in them ran: what the range was spent on.",
        "time",
    ),
)


def find(timeline: Timeline, name: str, moment: int) -> int | None:
    """The slice of exactly this name that a record of a table means: the one that starts at the moment (within a ns,
    the rounding of the files), else the last to start that is open then, else the nearest. None without any."""
    ids = np.flatnonzero(timeline.names.equal(name)[timeline.name])
    if not len(ids):
        return None
    start = timeline.rows.start[ids]
    away = np.abs(start - moment)
    is_open = (start <= moment) & (moment <= start + timeline.rows.dur[ids])
    rank = np.where(away <= 1, 0, np.where(is_open, 1, 2))
    return int(ids[np.lexsort((away, rank))[0]])


@dataclass
class Stats:
    """Statistics of a range: `table` has the `len(table)` rows with the most time of their own in the range, of the `total`
    there are."""

    table: Table
    total: int
    slices: int


def stats(timeline: Timeline, t0: int, t1: int, tracks: Sequence[int], limit: int | None = None) -> Stats:
    """One row per track and name of the slices that overlap [t0, t1), by their own time in it: what encloses the range
    whole says little of it. Columns: STATS_COLUMNS.

    limit: rows at most, None for all; names are read for the rows that are given only.
    """
    rows = timeline.rows
    ids = _overlapping(timeline, t0, t1, tracks)
    ids = ids[np.argsort(rows.start[ids], kind="stable")]
    begin = np.maximum(rows.start[ids], t0)
    clipped = np.maximum(np.minimum(rows.start[ids] + rows.dur[ids], t1) - begin, 0)
    own = self_time(begin, clipped, _parents(timeline, ids))
    owner = rows.track_of_row(rows.row_of(ids))
    key = owner * max(len(timeline.names), 1) + timeline.name[ids]
    order = np.argsort(key, kind="stable")
    ids, key, owner, clipped, own = (values[order] for values in (ids, key, owner, clipped, own))
    heads = np.flatnonzero(np.append(True, key[1:] != key[:-1])) if len(key) else np.zeros(0, dtype=np.int64)
    dur = rows.dur[ids]
    count = np.diff(np.append(heads, len(ids)))
    total = _sums(dur, heads)
    own = _sums(own, heads)
    top = np.lexsort((-total, -own))[:limit]
    used, code = np.unique(timeline.name[ids[heads[top]]], return_inverse=True)
    track, shown = owner[heads[top]], timeline.tracks
    table = Table(
        STATS_COLUMNS,
        {
            "name": Text(code.astype(np.int32), [timeline.names[index] for index in used.tolist()]),
            "track": track,
            "process": Text(track.astype(np.int32), [one["process"] for one in shown]),
            "thread": Text(track.astype(np.int32), [one["name"] for one in shown]),
            "count": count[top],
            "total": total[top],
            "self": _sums(timeline.self_time[ids], heads)[top],
            "avg": np.rint(total[top] / count[top]).astype(np.int64),
            "min": (np.minimum.reduceat(dur, heads) if len(heads) else total)[top],
            "max": (np.maximum.reduceat(dur, heads) if len(heads) else total)[top],
            "clipped": _sums(clipped, heads)[top],
            "clipped_self": own[top],
        },
    )
    return Stats(table, len(heads), len(ids))


def _overlapping(timeline: Timeline, t0: int, t1: int, tracks: Sequence[int]) -> Index:
    """Slices of the tracks that overlap [t0, t1)."""
    rows = timeline.rows
    spans = [
        rows.overlapping(row, t0, t1)
        for track in tracks
        for row in range(int(rows.track_row[track]), int(rows.track_row[track + 1]))
    ]
    return np.concatenate([np.zeros(0, dtype=np.int64), *(np.arange(low, high) for low, high in spans if low < high)])


def _parents(timeline: Timeline, ids: Index) -> NDArray[np.int32]:
    """Where the slice that encloses each one stands in `ids`; -1 where none does."""
    by_id = np.argsort(ids)
    parent = timeline.parent[ids].astype(np.int64)
    place = np.minimum(np.searchsorted(ids, parent, sorter=by_id), max(len(ids) - 1, 0))
    found = by_id[place] if len(ids) else place
    return np.where((parent >= 0) & (ids[found] == parent), found, -1).astype(np.int32)


def _sums(values: Index, heads: Index) -> Index:
    return np.add.reduceat(values, heads) if len(heads) else np.zeros(0, dtype=np.int64)
