"""What a window of the timeline shows: bars of slices and points of counters, one per pixel at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.store.timeline_levels import EVERYTHING
from tb_npu_plugin.store.timeline_open import Timeline
from tb_npu_plugin.tables import IntArray

Index = NDArray[np.int64]
#: Bytes that the bars of one answer take when they are compressed, about, whatever the client asks.
BUDGET = 290_000
#: What a bar takes of them, and how much of its bytes a name does.
BAR_BYTES = 16
NAME_SHARE = 0.4


@dataclass
class Bars:
    """Bars of a window by row, then start; all int64. start, dur, end: ns after the timeline's base.

    used: the names that occur, as indices of the timeline's; name: index into `used`. id, name and dur are those of the
    longest slice of the bar, start of its first, end of its last; count: slices in it.
    parts: (row number of the request, first bar, count) per row asked for. bin: ns that one bin is wide.
    """

    id: Index
    used: Index
    name: Index
    start: IntArray
    dur: IntArray
    end: IntArray
    count: Index
    parts: list[tuple[int, int, int]]
    bin: int


def shift_of(px: float) -> int:
    """Bins are the largest power of two of ns that is no wider than a pixel: 2^this."""
    return max(0, int(px).bit_length() - 1)


def bars(
    timeline: Timeline, wanted: Sequence[tuple[int, int]], t0: int, t1: int, px: float, budget: int = BUDGET
) -> Bars:
    """Every slice of the rows that overlaps [t0, t1), those that start in one bin joined. wanted: (row of the row
    table, row number of the request). Bins are powers of two of ns, so a bar is the same whatever the window; it may
    hold slices that end before t0 and share its bin. They are no wider than a pixel, unless the bars would take more
    than `budget` bytes: then as wide as it takes, but one bar for each row there always is.
    """
    rows, levels = timeline.rows, timeline.levels
    shift, most = shift_of(px), budget // BAR_BYTES
    overlapping = [(row, number, *rows.overlapping(row, t0, t1)) for row, number in wanted]
    spans = [(row, low, high) for row, _, low, high in overlapping if low < high]
    while True:
        pieces = levels.pieces(rows, spans, shift)
        if len(pieces) <= 2 * most or shift >= EVERYTHING:
            found, span = levels.bars(rows, spans, pieces, shift)
            if len(found.first) <= most or shift >= EVERYTHING:
                used, name = np.unique(timeline.name[found.longest], return_inverse=True)
                size = BAR_BYTES * len(name) + NAME_SHARE * timeline.names.size_of(used)
                if size <= budget or shift >= EVERYTHING:
                    break
        shift = levels.coarser(shift)
    counts = iter(np.bincount(span, minlength=len(spans)).tolist())
    parts, total = [], 0
    for _, number, low, high in overlapping:
        count = next(counts) if low < high else 0
        parts.append((number, total, count))
        total += count
    last = _next_bars(timeline, spans, span, found.first, shift) - 1
    return Bars(
        found.longest,
        used,
        name,
        rows.start[found.first],
        rows.dur[found.longest],
        rows.start[last] + rows.dur[last],
        last + 1 - found.first,
        parts,
        1 << shift,
    )


def _next_bars(
    timeline: Timeline, spans: Sequence[tuple[int, int, int]], span: Index, first: Index, shift: int
) -> Index:
    """For each bar the first slice behind it. span: number of each bar's span."""
    following = np.append(first[1:], 0)
    lasts = np.flatnonzero(np.append(span[1:] != span[:-1], True)) if len(span) else span
    for last, (row, *_) in zip(lasts.tolist(), spans):
        following[last] = _bin_end(timeline, row, int(first[last]), shift)
    return following[: len(first)]


def _bin_end(timeline: Timeline, row: int, first: int, shift: int) -> int:
    """End of the slices that start in the same bin as slice `first`."""
    begin, end = timeline.rows.bounds(row)
    stop = ((int(timeline.rows.start[first]) >> shift) + 1) << shift
    return begin + int(timeline.rows.start[begin:end].searchsorted(stop))
