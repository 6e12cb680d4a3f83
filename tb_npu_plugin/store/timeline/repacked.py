"""Other rows of a timeline: slices of its tracks, packed again. The slices keep their numbers."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tb_npu_plugin.schema import trace as words
from tb_npu_plugin.store.temporary import scratch
from tb_npu_plugin.store.timeline.drawn import Drawn
from tb_npu_plugin.store.timeline.layer import Layer, ReplacedTracksJson
from tb_npu_plugin.store.timeline.layout import Index, by_start, load_packing, rows_by_depth
from tb_npu_plugin.store.timeline.levels import Levels, SliceColumns, save_levels
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.store.timeline.rows import RowTable

#: Depth of a slice without a row.
HIDDEN = 4095
_STREAM = re.compile(r"stream \d+", re.IGNORECASE)


@dataclass(frozen=True)
class RowGroup:
    """Tracks that become one. tracks: their numbers; ids: the slices to show."""

    tracks: list[int]
    ids: Index


def without_frames(timeline: Timeline) -> list[RowGroup]:
    """Each track that has frames of Python, without them."""
    frame = timeline.category_code(words.PYTHON_FUNCTION)
    found = []
    for track in timeline.tracks_of("slices") if frame >= 0 else ():
        low, high = _bounds(timeline, track)
        is_shown = timeline.category[low:high] != frame
        if not is_shown.all():
            found.append(RowGroup([track], low + np.flatnonzero(is_shown)))
    return found


def merged_streams(timeline: Timeline) -> list[RowGroup]:
    """The streams of each device that has several."""
    devices: dict[str, list[int]] = {}
    for track in timeline.tracks_of("slices"):
        shown = timeline.tracks[track]
        if _STREAM.fullmatch(shown["name"].strip()):
            devices.setdefault(shown["pid"], []).append(track)
    return [
        RowGroup(tracks, np.concatenate([np.arange(*_bounds(timeline, track)) for track in tracks]))
        for tracks in devices.values()
        if len(tracks) > 1
    ]


def _bounds(timeline: Timeline, track: int) -> tuple[int, int]:
    """Slices [first, end) of a track."""
    rows = timeline.rows
    return int(rows.first[rows.track_row[track]]), int(rows.first[rows.track_row[track + 1]])


class PackedRows:
    """Slices of a trace in other rows. ids: their numbers in the trace; rows: the row table, without times. Its tracks are numbered
    as those of the trace.

    The files of the levels are removed at once: what is mapped stays readable.
    """

    def __init__(self, trace: Timeline, ids: Index, rows: RowTable) -> None:
        self._trace, self.ids = trace, ids.astype(np.int32)
        self.rows = RowTable(trace.rows.start[ids], trace.rows.dur[ids], rows.first, rows.track_row)
        self.name, self.category = trace.name[ids], trace.category[ids]
        busy = np.append(0, np.cumsum(self.rows.dur))
        waits = trace.slice_columns.waits
        columns = SliceColumns(self.rows.start, self.rows.dur, busy, self.name, self.category, waits)
        self.slice_columns = columns
        with tempfile.TemporaryDirectory(dir=scratch()) as path:
            self.levels = Levels(Path(path), save_levels(Path(path), columns, self.rows), columns)
        self.slice_count = len(ids)
        self.searched: dict[str, Any] = {}
        self.base_ns, self.tracks = trace.base_ns, trace.tracks
        self.names, self.curves = trace.names, trace.curves
        self.category_name, self.open_args = trace.category_name, trace.open_args

    def numbers_of(self, ids: Index) -> Index:
        """Numbers in the trace."""
        return self.ids[ids].astype(np.int64)

    def args_bounds(self, ids: Index) -> tuple[Index, Index]:
        """See Timeline."""
        return self._trace.args_bounds(self.numbers_of(ids))


@dataclass(frozen=True)
class Repacked(Layer):
    """Other rows of a trace. Its slices have the numbers of the trace.

    Attributes:
        groups: What was packed.
        packed: The slices in these rows.
        by_id: Indices that sort `packed.ids`.
    """

    groups: list[RowGroup]
    packed: PackedRows
    by_id: Index

    @property
    def drawn(self) -> Drawn:
        return self.packed

    def find(self, slice_ids: Index) -> Index:
        """Index in `timeline` of slices of the trace; -1 where one is not shown."""
        if not len(self.packed.ids):
            return np.full(len(slice_ids), -1)
        at = np.searchsorted(self.packed.ids, slice_ids, sorter=self.by_id)
        found = self.by_id[np.minimum(at, len(self.packed.ids) - 1)]
        return np.where(self.packed.ids[found] == slice_ids, found, -1)

    def neighbours(self, slice_id: int) -> tuple[int | None, int | None] | None:
        """(previous, next) slice of the row that shows a slice of the trace; None if it is not shown."""
        found = int(self.find(np.array([slice_id]))[0])
        if found < 0:
            return None
        first, end = self.packed.rows.bounds(int(self.packed.rows.row_of(np.array([found]))[0]))
        return (
            int(self.packed.ids[found - 1]) if found > first else None,
            int(self.packed.ids[found + 1]) if found + 1 < end else None,
        )

    @property
    def size(self) -> int:
        return len(self.packed.ids)

    def replaced_json(self) -> list[ReplacedTracksJson]:
        rows = self.packed.rows
        return [
            {
                "tracks": group.tracks,
                "rows": int(rows.track_row[group.tracks[0] + 1] - rows.track_row[group.tracks[0]]),
                "slices": len(group.ids),
            }
            for group in self.groups
        ]


def places_of(timeline: Timeline, ids: Index, shown: Sequence[Repacked]) -> tuple[Index, Index]:
    """(track, depth) at which a page shows slices of a trace.

    Args:
        shown: Rows in place of those of the trace. A slice that is not in them gets a depth that no row has, HIDDEN.
    """
    track, depth = _places(timeline.rows, ids)
    recorded = track.copy()
    for other in shown:
        found = other.find(ids)
        is_shown = found >= 0
        track[is_shown], depth[is_shown] = _places(other.packed.rows, found[is_shown])
        for group in other.groups:
            is_hidden = ~is_shown & np.isin(recorded, group.tracks)
            track[is_hidden], depth[is_hidden] = group.tracks[0], HIDDEN
    return track, depth


def _places(rows: RowTable, ids: Index) -> tuple[Index, Index]:
    row = rows.row_of(ids)
    track = rows.track_of_row(row)
    return track, row - rows.track_row[track]


def _pack(timeline: Timeline, groups: list[RowGroup]) -> tuple[Index, RowTable]:
    """(the slices by track, depth and start; the row table, without times)."""
    pack, none = load_packing().pack, np.zeros(0, dtype=np.int64)
    first, track_row, ids = [0], [0], [none]
    own = {group.tracks[0]: group.ids for group in groups}
    for track in range(len(timeline.tracks)):
        chosen = own.get(track, none)
        if len(chosen):
            start, dur = timeline.rows.start[chosen], timeline.rows.dur[chosen]
            sort = by_start(start, dur)
            depth, _ = pack(sort(start), sort(dur))
            final, counts, _ = rows_by_depth(depth, np.array([len(depth)]))
            ids.append(sort(chosen)[final])
            first += (first[-1] + np.cumsum(counts)).tolist()
        track_row.append(len(first) - 1)
    return np.concatenate(ids), RowTable(none, none, np.array(first), np.array(track_row))


def repack(timeline: Timeline, groups: list[RowGroup]) -> Repacked:
    """The rows of these groups."""
    ids, rows = _pack(timeline, groups)
    return Repacked(timeline, groups, PackedRows(timeline, ids, rows), np.argsort(ids, kind="stable").astype(np.int32))
