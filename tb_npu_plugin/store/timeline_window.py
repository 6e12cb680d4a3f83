"""What a window of the timeline shows: bars of slices and points of counters, one per pixel at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.store.timeline_open import Timeline
from tb_npu_plugin.tables import IntArray

Index = NDArray[np.int64]


@dataclass
class Bars:
    """Bars of a window by row, then start; all int64. start, dur, end: ns after the timeline's base.

    id and dur are those of the longest slice of the bar, start of its first, end of its last; count: slices in it.
    parts: (row number of the request, first bar, count) per row asked for.
    """

    id: Index
    start: IntArray
    dur: IntArray
    end: IntArray
    count: Index
    parts: list[tuple[int, int, int]]


def bars(timeline: Timeline, wanted: Sequence[tuple[int, int]], t0: int, t1: int, px: float) -> Bars:
    """Every slice of the rows that overlaps [t0, t1), those that start in one bin joined. wanted: (row of the row
    table, row number of the request). Bins are the largest power of two of ns that is no wider than a pixel, so a bar
    is the same whatever the window; it may hold slices that end before t0 and share its bin.
    """
    shift = max(0, int(px).bit_length() - 1)
    rows = timeline.rows
    firsts, longests, nexts = [], [], []
    parts: list[tuple[int, int, int]] = []
    total = 0
    for row, number in wanted:
        low, high = rows.overlapping(row, t0, t1)
        found = timeline.levels.bars(rows, row, low, high, shift)
        size = len(found.first)
        if size:
            end = _bin_end(timeline, row, int(found.first[-1]), shift)
            firsts.append(found.first)
            longests.append(found.longest)
            nexts.append(np.append(found.first[1:], end))
        parts.append((number, total, size))
        total += size
    empty = np.zeros(0, dtype=np.int64)
    first, longest, following = (np.concatenate([empty, *part]) for part in (firsts, longests, nexts))
    last = following - 1
    return Bars(
        longest,
        rows.start[first],
        rows.dur[longest],
        rows.start[last] + rows.dur[last],
        following - first,
        parts,
    )


def _bin_end(timeline: Timeline, row: int, first: int, shift: int) -> int:
    """End of the slices that start in the same bin as slice `first`."""
    begin, end = timeline.rows.bounds(row)
    stop = ((int(timeline.rows.start[first]) >> shift) + 1) << shift
    return begin + int(np.searchsorted(timeline.rows.start[begin:end], stop, side="left"))


@dataclass
class Curve:
    """One series of a counter: per non-empty bin the time of its first point, and the extremes and last value."""

    name: str
    time: IntArray
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    last: NDArray[np.float64]


def curves(timeline: Timeline, track: int, t0: int, t1: int, px: float) -> list[Curve]:
    """The series of a counter in [t0, t1), each with the value in force at t0 before."""
    shift = max(0, int(px).bit_length() - 1)
    out = []
    for name, start, end in timeline.tracks[track]["series"]:
        times = timeline.counter_time[start:end]
        low = int(np.searchsorted(times, t0, side="right")) - 1
        high = int(np.searchsorted(times, t1, side="left"))
        place = slice(start + max(low, 0), start + max(high, 0))
        time, value = timeline.counter_time[place], timeline.counter_value[place]
        if not len(time):
            out.append(Curve(name, time, value, value, value))
            continue
        bins = time >> shift
        starts = np.append(True, bins[1:] != bins[:-1])
        if low >= 0 and len(time) > 1:
            starts[1] = True  # the value in force at t0 stays a point of its own
        heads = np.flatnonzero(starts)
        lasts = np.append(heads[1:], len(time)) - 1
        out.append(
            Curve(
                name,
                time[heads],
                np.minimum.reduceat(value, heads),
                np.maximum.reduceat(value, heads),
                value[lasts],
            )
        )
    return out
