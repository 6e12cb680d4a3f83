"""Bars of slices in a window of the timeline, at most one per pixel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.store.timeline.drawn import Drawn
from tb_npu_plugin.store.timeline.levels import EVERYTHING, Spans
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
        id, name, category, dur: Of the longest slice of the bar; name: index into `used`; category: as in the timeline.
        work_name, work_category: Of the longest slice that does not wait, else of the longest.
        used: Distinct names, as indices into the timeline's names.
        start, end: Start of the first slice, end of the last.
        count, busy, wait: Number of slices, sum of their durations, and of those of slices that wait.
        parts: (row, first bar, number of bars) per row.
        bin: Width of a bin in ns.
    """

    id: Index
    used: Index
    name: Index
    category: NDArray[Any]
    work_name: Index
    work_category: NDArray[Any]
    start: IntArray
    dur: IntArray
    end: IntArray
    count: Index
    busy: IntArray
    wait: IntArray
    parts: list[tuple[int, int, int]]
    bin: int


def shift_of(px: float) -> int:
    """Exponent of the bin width: the largest power of two of ns that is at most one pixel."""
    return max(0, int(px).bit_length() - 1)


def bars(
    drawn: Drawn, requested: Sequence[int], t0: int, t1: int, px: float, budget: int = BUDGET, is_exact: bool = False
) -> WindowBars:
    """Bars of all slices of the rows that overlap [t0, t1). Slices that start in the same bin share a bar.

    Bins are aligned powers of two of ns, so that bars do not depend on the window; a bar may hold slices of its bin
    that end before t0. Bins are at most one pixel wide, or wider if the bars would exceed `budget` bytes.

    Args:
        requested: Rows of the row table.
        px: ns per pixel.
        is_exact: Return fewer rows, the first of `requested`, instead of wider bins. Only a single row that exceeds
            ONE_ROW_FACTOR times the budget gets wider bins.
    """
    rows, levels = drawn.rows, drawn.levels
    shift = shift_of(px)
    row = np.array(requested, dtype=np.int64)
    overlapping = [rows.overlapping(one, t0, t1) for one in row.tolist()]
    low, high = np.array(overlapping, dtype=np.int64).reshape(-1, 2).T
    shown = len(row)  # number of rows of the answer
    if is_exact:
        shown = _rows_in_budget(drawn, row, low, high, shift, budget)
        budget *= ONE_ROW_FACTOR if shown == 1 else 1
    most = budget // BAR_BYTES
    while True:
        filled = np.flatnonzero(low[:shown] < high[:shown])
        pieces = levels.pieces(rows, Spans(row[filled], low[filled], high[filled]), shift)
        if len(pieces) <= (most if pieces.is_final else 2 * most) or shift >= EVERYTHING:
            found = levels.bars(pieces, shift)
            used, name, work_name = names_used(
                found.level.of_longest("name", found.longest), found.level.of_work("name", found.work), found.wait
            )
            size = BAR_BYTES * len(name) + NAME_SHARE * drawn.names.size_of(used)
            if size <= budget or shift >= EVERYTHING:
                break
        if is_exact and shown > 1:  # long names
            shown //= 2
            continue
        shift = levels.coarser(shift)
    counts = np.zeros(shown, dtype=np.int64)
    counts[filled] = np.bincount(found.span, minlength=len(filled))
    level, first = found.level, found.level.first(found.head)
    return WindowBars(
        level.longest(found.longest),
        used,
        name,
        level.of_longest("category", found.longest),
        work_name,
        level.of_work("category", found.work),
        level.start(found.head),
        level.of_longest("dur", found.longest),
        level.end(found.after - 1),
        level.first(found.after) - first,
        level.busy(found.after) - level.busy(found.head),
        found.wait,
        list(zip(requested, (np.cumsum(counts) - counts).tolist(), counts.tolist())),
        1 << shift,
    )


def names_used(longest: Index, work: Index, wait: IntArray) -> tuple[Index, Index, Index]:
    """(distinct names, indices of those of the longest slices, of those of the longest that do not wait) of bars."""
    if not wait.any():
        used, name = np.unique(longest, return_inverse=True)
        return used, name, name
    other = np.flatnonzero(work != longest)
    used, both = np.unique(np.concatenate([longest, work[other]]), return_inverse=True)
    name = both[: len(longest)]
    work_name = name.copy()
    work_name[other] = both[len(longest) :]
    return used, name, work_name


def _rows_in_budget(drawn: Drawn, row: Index, low: Index, high: Index, shift: int, budget: int) -> int:
    """Number of the first rows, at least one, whose bars of 2^shift ns fit the budget."""
    counts = np.zeros(len(row), dtype=np.int64)
    filled = np.flatnonzero(low < high)
    pieces = drawn.levels.pieces(drawn.rows, Spans(row[filled], low[filled], high[filled]), shift)
    counts[filled] = pieces.high - pieces.low
    return max(1, int(np.count_nonzero(np.cumsum(counts) <= budget // BAR_BYTES)))
