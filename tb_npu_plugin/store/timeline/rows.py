"""Slices in row order. A row is a (track, depth) with disjoint slices sorted by start. A slice id is its index."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.tables import IntArray

Index = NDArray[np.int64]
#: Files of the columns of RowTable, in their order.
ROWS = ("start", "dur", "row_first", "track_row")


@dataclass
class RowTable:
    """Slice times and the row table.

    Attributes:
        start, dur: int64 ns after the timeline's base, per slice.
        first: First slice of each row, then the number of slices (rows + 1 values).
        track_row: First row of each track, then the number of rows (tracks + 1 values); counters have no rows.
    """

    start: IntArray
    dur: IntArray
    first: Index
    track_row: Index

    def bounds(self, row: int) -> tuple[int, int]:
        """Slices [first, end) of a row."""
        return int(self.first[row]), int(self.first[row + 1])

    def row_of(self, ids: Index) -> Index:
        """Row of each slice."""
        return np.searchsorted(self.first, ids, side="right") - 1

    def track_of_row(self, row: Index) -> Index:
        """Track of each row."""
        return np.searchsorted(self.track_row, row, side="right") - 1

    def overlapping(self, row: int, t0: int, t1: int) -> tuple[int, int]:
        """Slices [first, end) of a row that overlap [t0, t1), or start in it if they have no duration."""
        first, end = self.bounds(row)
        starts = self.start[first:end]
        # The method is several times faster than np.searchsorted, and a view calls this for each row.
        high = first + int(starts.searchsorted(t1))
        low = first + int(starts.searchsorted(t0))
        if low > first and self.start[low - 1] + self.dur[low - 1] > t0:
            low -= 1
        return low, max(low, high)

    def place(self, row: int) -> tuple[int, int]:
        """(track, depth) of a row of the table."""
        track = int(self.track_of_row(np.array([row]))[0])
        return track, row - int(self.track_row[track])

    def find(self, track: Index, time: IntArray, enclosing: NDArray[np.bool_]) -> Index:
        """Slice of a track at a time: the deepest that starts then, else the deepest that encloses it, else one that
        ends then. Where `enclosing` is False and no slice is open: the next to start. -1 without one."""
        out = np.full(len(track), -1, dtype=np.int64)
        few = len(self.track_row) < 2**15
        order = np.argsort(track.astype(np.int16) if few else track, kind="stable")  # a radix sort, of few tracks
        ordered = track[order]
        # Start of each track; events without a track (-1) come before the first.
        bounds = np.flatnonzero(np.diff(ordered, prepend=-1, append=len(self.track_row)))
        for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist()):
            chosen, number = order[low:high], int(ordered[low])
            out[chosen] = self._find_on(number, time[chosen], enclosing[chosen])
        return out

    def _find_on(self, track: int, time: IntArray, enclosing: NDArray[np.bool_]) -> Index:
        found = np.full(len(time), -1, dtype=np.int64)
        quality = np.zeros(len(time), dtype=np.int8)  # 1 ends then, 2 encloses, 3 starts then
        waiting = np.flatnonzero(~enclosing)  # usually empty
        upcoming = np.full(len(waiting), -1, dtype=np.int64)
        for row in range(int(self.track_row[track]), int(self.track_row[track + 1])):
            first, end = self.bounds(row)
            starts = self.start[first:end]
            place = starts.searchsorted(time, "right")
            candidate = first + np.maximum(place - 1, 0)
            start = self.start[candidate]
            stop = start + self.dur[candidate]
            rank = (stop >= time).view(np.int8) + (stop > time)
            rank[start == time] = 3
            better = (place > 0) & (rank > 0) & (rank >= quality)
            found[better] = candidate[better]
            quality[better] = rank[better]
            if len(waiting):
                following = place[waiting]
                after = first + np.minimum(following, len(starts) - 1)
                sooner = (following < len(starts)) & ((upcoming < 0) | (self.start[after] < self.start[upcoming]))
                upcoming[sooner] = after[sooner]
        use_next = (quality[waiting] < 2) & (upcoming >= 0)
        found[waiting[use_next]] = upcoming[use_next]
        return found
