"""What a window of the timeline shows: bars of slices and points of counters, one per pixel at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.store.timeline.levels import EVERYTHING
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.tables import IntArray

Index = NDArray[np.int64]
#: Bytes that the bars of one answer take when they are compressed, about, whatever the client asks.
BUDGET = 290_000
#: What a bar takes of them, and how much of its bytes a name does.
BAR_BYTES = 16
NAME_SHARE = 0.4
#: A row that is asked for exactly may take so many times the budget: a wide screen has many pixels.
ONE_ROW = 6


@dataclass
class Bars:
    """Bars of a window by row, then start; all int64. start, dur, end: ns after the timeline's base.

    used: the names that occur, as indices of the timeline's; name: index into `used`. id, name and dur are those of the
    longest slice of the bar, start of its first, end of its last; count: slices in it; busy: ns of all of them.
    parts: (row number of the request, first bar, count) per row answered. bin: ns that one bin is wide.
    """

    id: Index
    used: Index
    name: Index
    start: IntArray
    dur: IntArray
    end: IntArray
    count: Index
    busy: IntArray
    parts: list[tuple[int, int, int]]
    bin: int


def shift_of(px: float) -> int:
    """Bins are the largest power of two of ns that is no wider than a pixel: 2^this."""
    return max(0, int(px).bit_length() - 1)


def bars(
    timeline: Timeline,
    wanted: Sequence[tuple[int, int]],
    t0: int,
    t1: int,
    px: float,
    budget: int = BUDGET,
    is_exact: bool = False,
) -> Bars:
    """Every slice of the rows that overlaps [t0, t1), those that start in one bin joined. wanted: (row of the row
    table, row number of the request). Bins are powers of two of ns, so a bar is the same whatever the window; it may
    hold slices that end before t0 and share its bin. They are no wider than a pixel, unless the bars would take more
    than `budget` bytes: then as wide as it takes, but one bar for each row there always is.

    is_exact: instead of wider bins fewer rows, the first of those wanted. Only one that alone takes more than
    ONE_ROW times the budget gets wider bins.
    """
    rows, levels = timeline.rows, timeline.levels
    shift = shift_of(px)
    overlapping = [(row, number, *rows.overlapping(row, t0, t1)) for row, number in wanted]
    if is_exact:
        overlapping = _fitting(timeline, overlapping, shift, budget)
        budget *= ONE_ROW if len(overlapping) == 1 else 1
    most = budget // BAR_BYTES
    while True:
        spans = [(row, low, high) for row, _, low, high in overlapping if low < high]
        pieces = levels.pieces(rows, spans, shift)
        if len(pieces) <= 2 * most or shift >= EVERYTHING:
            found, span = levels.bars(rows, spans, pieces, shift)
            used, name = np.unique(timeline.name[found.longest], return_inverse=True)
            size = BAR_BYTES * len(name) + NAME_SHARE * timeline.names.size_of(used)
            if size <= budget or shift >= EVERYTHING:
                break
        if is_exact and len(overlapping) > 1:  # long names
            overlapping = overlapping[: len(overlapping) // 2]
            continue
        shift = levels.coarser(shift)
    last = _next_bars(timeline, spans, span, found.first, shift) - 1
    return Bars(
        found.longest,
        used,
        name,
        rows.start[found.first],
        rows.dur[found.longest],
        rows.start[last] + rows.dur[last],
        last + 1 - found.first,
        timeline.busy[last + 1] - timeline.busy[found.first],
        _parts(overlapping, np.bincount(span, minlength=len(spans)).tolist()),
        1 << shift,
    )


def _parts(overlapping: Sequence[tuple[int, int, int, int]], counts: Sequence[int]) -> list[tuple[int, int, int]]:
    """Bars.parts. counts: bars of each row that has any."""
    parts, total, left = [], 0, iter(counts)
    for _, number, low, high in overlapping:
        count = next(left) if low < high else 0
        parts.append((number, total, count))
        total += count
    return parts


def _fitting(
    timeline: Timeline, overlapping: list[tuple[int, int, int, int]], shift: int, budget: int
) -> list[tuple[int, int, int, int]]:
    """The first rows, one at least, whose bars of 2^shift ns take no more than the budget."""
    left = budget // BAR_BYTES
    for place, (row, _, low, high) in enumerate(overlapping):
        left -= len(timeline.levels.pieces(timeline.rows, [(row, low, high)], shift)) if low < high else 0
        if left < 0:
            return overlapping[: max(place, 1)]
    return overlapping


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
