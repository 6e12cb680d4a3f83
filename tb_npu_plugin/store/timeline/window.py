"""Bars of slices in a window of the timeline, at most one per pixel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.store.timeline.levels import EVERYTHING
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.tables import IntArray

Index = NDArray[np.int64]
#: Approximate maximum of compressed bytes of the bars in a response.
BUDGET = 290_000
#: Compressed bytes of a bar, at most, and compression ratio of names.
BAR_BYTES = 16
NAME_SHARE = 0.4
#: With is_exact, a single row may take this many times the budget: a wide screen has many pixels.
ONE_ROW_FACTOR = 6


@dataclass
class WindowBars:
    """Bars of a window, sorted by row, then start; all columns int64. Times are ns after the timeline's base.

    Attributes:
        id, name, dur: Of the longest slice of the bar; name: index into `used`.
        used: Distinct names, as indices into the timeline's names.
        start, end: Start of the first slice, end of the last.
        count, busy: Number of slices, and sum of their durations.
        parts: (row number of the request, first bar, number of bars) per row.
        bin: Width of a bin in ns.
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
    """Exponent of the bin width: the largest power of two of ns that is at most one pixel."""
    return max(0, int(px).bit_length() - 1)


def bars(
    timeline: Timeline,
    requested: Sequence[tuple[int, int]],
    t0: int,
    t1: int,
    px: float,
    budget: int = BUDGET,
    is_exact: bool = False,
) -> WindowBars:
    """Bars of all slices of the rows that overlap [t0, t1). Slices that start in the same bin share a bar.

    Bins are aligned powers of two of ns, so that bars do not depend on the window; a bar may hold slices of its bin
    that end before t0. Bins are at most one pixel wide, or wider if the bars would exceed `budget` bytes.

    Args:
        requested: (index in the row table, row number of the request) of each row.
        px: ns per pixel.
        is_exact: Return fewer rows, the first of `requested`, instead of wider bins. Only a single row that exceeds
            ONE_ROW_FACTOR times the budget gets wider bins.
    """
    rows, levels = timeline.rows, timeline.levels
    shift = shift_of(px)
    overlapping = [(row, number, *rows.overlapping(row, t0, t1)) for row, number in requested]
    if is_exact:
        overlapping = _rows_in_budget(timeline, overlapping, shift, budget)
        budget *= ONE_ROW_FACTOR if len(overlapping) == 1 else 1
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
    return WindowBars(
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
    """WindowBars.parts. counts: number of bars of each non-empty row."""
    parts, total, left = [], 0, iter(counts)
    for _, number, low, high in overlapping:
        count = next(left) if low < high else 0
        parts.append((number, total, count))
        total += count
    return parts


def _rows_in_budget(
    timeline: Timeline, overlapping: list[tuple[int, int, int, int]], shift: int, budget: int
) -> list[tuple[int, int, int, int]]:
    """The first rows, at least one, whose bars of 2^shift ns fit the budget."""
    left = budget // BAR_BYTES
    for place, (row, _, low, high) in enumerate(overlapping):
        left -= len(timeline.levels.pieces(timeline.rows, [(row, low, high)], shift)) if low < high else 0
        if left < 0:
            return overlapping[: max(place, 1)]
    return overlapping


def _next_bars(
    timeline: Timeline, spans: Sequence[tuple[int, int, int]], span: Index, first: Index, shift: int
) -> Index:
    """The first slice after each bar. span: index of the span of each bar."""
    following = np.append(first[1:], 0)
    lasts = np.flatnonzero(np.append(span[1:] != span[:-1], True)) if len(span) else span
    for last, (row, *_) in zip(lasts.tolist(), spans):
        following[last] = _bin_end(timeline, row, int(first[last]), shift)
    return following[: len(first)]


def _bin_end(timeline: Timeline, row: int, first: int, shift: int) -> int:
    """Index after the last slice that starts in the same bin as slice `first`."""
    begin, end = timeline.rows.bounds(row)
    stop = ((int(timeline.rows.start[first]) >> shift) + 1) << shift
    return begin + int(timeline.rows.start[begin:end].searchsorted(stop))
