"""Other rows of a timeline: slices of its tracks, packed again. The slices keep their numbers."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tb_npu_plugin.schema import trace as words
from tb_npu_plugin.store.temporary import scratch
from tb_npu_plugin.store.timeline.layer import Layer, ReplacedTracksJson
from tb_npu_plugin.store.timeline.layout import Index, by_start, load_packing, rows_by_depth
from tb_npu_plugin.store.timeline.levels import Levels, save_levels
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.store.timeline.rows import Rows

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


@dataclass(frozen=True)
class Repacked(Layer):
    """Other rows of a timeline.

    Attributes:
        timeline: The slices in these rows: what bars need. Its tracks are numbered as those of the trace.
        groups: What was packed.
        ids: Number in the trace of each slice of `timeline`.
        by_id: Indices that sort `ids`.
    """

    groups: list[RowGroup]
    ids: Index
    by_id: Index

    def find(self, slice_ids: Index) -> Index:
        """Index in `timeline` of slices of the trace; -1 where one is not shown."""
        if not len(self.ids):
            return np.full(len(slice_ids), -1)
        at = np.searchsorted(self.ids, slice_ids, sorter=self.by_id)
        found = self.by_id[np.minimum(at, len(self.ids) - 1)]
        return np.where(self.ids[found] == slice_ids, found, -1)

    def neighbours(self, slice_id: int) -> tuple[int | None, int | None] | None:
        """(previous, next) slice of the row that shows a slice of the trace; None if it is not shown."""
        found = int(self.find(np.array([slice_id]))[0])
        if found < 0:
            return None
        first, end = self.timeline.rows.bounds(int(self.timeline.rows.row_of(np.array([found]))[0]))
        return (
            int(self.ids[found - 1]) if found > first else None,
            int(self.ids[found + 1]) if found + 1 < end else None,
        )

    @property
    def size(self) -> int:
        return len(self.ids)

    def replaced_json(self) -> list[ReplacedTracksJson]:
        rows = self.timeline.rows
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
    track, depth = _places(timeline, ids)
    recorded = track.copy()
    for other in shown:
        found = other.find(ids)
        is_shown = found >= 0
        track[is_shown], depth[is_shown] = _places(other.timeline, found[is_shown])
        for group in other.groups:
            is_hidden = ~is_shown & np.isin(recorded, group.tracks)
            track[is_hidden], depth[is_hidden] = group.tracks[0], HIDDEN
    return track, depth


def _places(timeline: Timeline, ids: Index) -> tuple[Index, Index]:
    row = timeline.rows.row_of(ids)
    track = timeline.rows.track_of_row(row)
    return track, row - timeline.rows.track_row[track]


def _pack(timeline: Timeline, groups: list[RowGroup]) -> tuple[Index, Rows]:
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
    return np.concatenate(ids), Rows(none, none, np.array(first), np.array(track_row))


def repack(timeline: Timeline, groups: list[RowGroup]) -> Repacked:
    """The rows of these groups. The files of their levels are removed at once: what is mapped stays readable."""
    ids, rows = _pack(timeline, groups)
    out = copy(timeline)
    out.rows = Rows(timeline.rows.start[ids], timeline.rows.dur[ids], rows.first, rows.track_row)
    out.busy = np.append(0, np.cumsum(out.rows.dur))
    out.name, out.category = timeline.name[ids], timeline.category[ids]
    with tempfile.TemporaryDirectory(dir=scratch()) as path:
        slices = out.slice_columns
        out.levels = Levels(Path(path), save_levels(Path(path), slices, out.rows), slices)
    out.slice_count, out.searched = len(ids), {}
    out.trace_ids = ids.astype(np.int32)
    return Repacked(out, groups, out.trace_ids, np.argsort(ids, kind="stable").astype(np.int32))
