"""Slices in row order: row = (track, depth); within a row by start, never two at a time. A slice's id is its place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.tables import IntArray

Index = NDArray[np.int64]
#: Files of the columns of Rows, in their order.
ROWS = ("start", "dur", "row_first", "track_row")


@dataclass
class Rows:
    """Slice times and the row table.

    start, dur   int64 ns after the timeline's base, per slice
    first        first slice of each row, and the count of all at the end (rows + 1)
    track_row    first row of each track, and the count of all rows at the end (tracks + 1); counters have no rows
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
        """Slices [first, end) of a row that overlap [t0, t1); one without duration does when it starts there."""
        first, end = self.bounds(row)
        starts = self.start[first:end]
        high = first + int(np.searchsorted(starts, t1, side="left"))
        low = first + int(np.searchsorted(starts, t0, side="left"))
        if low > first and self.start[low - 1] + self.dur[low - 1] > t0:
            low -= 1
        return low, max(low, high)

    def find(self, track: Index, time: IntArray, enclosing: NDArray[np.bool_]) -> Index:
        """Slice of a track at a moment: the deepest that starts there, else the deepest that encloses it, else one
        that ends there. Where `enclosing` is False and none is open: the next one to start. -1 without any."""
        out = np.full(len(track), -1, dtype=np.int64)
        order = np.argsort(track, kind="stable")
        sorted_tracks = track[order]
        for number in np.unique(sorted_tracks).tolist():
            if number < 0:
                continue
            low, high = np.searchsorted(sorted_tracks, [number, number + 1])
            chosen = order[low:high]
            out[chosen] = self._find_on(number, time[chosen], enclosing[chosen])
        return out

    def _find_on(self, track: int, time: IntArray, enclosing: NDArray[np.bool_]) -> Index:
        found = np.full(len(time), -1, dtype=np.int64)
        quality = np.zeros(len(time), dtype=np.int64)  # 1 ends there, 2 encloses, 3 starts there
        upcoming = np.full(len(time), -1, dtype=np.int64)
        for row in range(int(self.track_row[track]), int(self.track_row[track + 1])):
            first, end = self.bounds(row)
            starts = self.start[first:end]
            place = np.searchsorted(starts, time, side="right")
            has = place > 0
            candidate = first + np.maximum(place - 1, 0)
            stop = self.start[candidate] + self.dur[candidate]
            rank = np.select([self.start[candidate] == time, stop > time, stop == time], [3, 2, 1], 0)
            better = has & (rank > 0) & (rank >= quality)
            found[better] = candidate[better]
            quality[better] = rank[better]
            after = first + np.minimum(place, len(starts) - 1)
            sooner = (place < len(starts)) & ((upcoming < 0) | (self.start[after] < self.start[upcoming]))
            upcoming[sooner] = after[sooner]
        use_next = ~enclosing & (quality < 2) & (upcoming >= 0)
        found[use_next] = upcoming[use_next]
        return found
