"""Levels of detail of slices: per row and power-of-two time bin one bar, with its first and longest slice.

Bins of a level nest in those of coarser levels, so each level is built from the one below, and a query reads the
coarsest level that is not coarser than requested. The bars of a row partition its slices.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.store.timeline.columns import ColumnFile
from tb_npu_plugin.store.timeline.files import load
from tb_npu_plugin.store.timeline.rows import Rows

#: Integers of any width: a level is as narrow as its file.
Index = NDArray[Any]

#: Bin sizes of the levels: 2^shift ns. All powers of two, so that a query reads few more bars than it returns.
SHIFTS = tuple(range(10, 50))
#: Columns of the levels: the first slice of each bar, and its longest.
_FILES = {"level_first": np.uint32, "level_longest": np.uint32}
#: A bin of 2^this ns holds all slices: all times lie within 2^62 ns.
EVERYTHING = 62
#: Bars per merge step: a trace has millions.
_PIECE = 1 << 18
#: A level is stored if it has at most this share of the bars of the level below.
_MAX_SHARE = 0.6


@dataclass
class LevelBars:
    """Bars of consecutive slices, sorted by first. first: first slice of each bar; longest: its longest slice."""

    first: Index
    longest: Index


@dataclass
class Spans:
    """Consecutive slices [low, high) of rows, at least one of each."""

    row: Index
    low: Index
    high: Index

    def __len__(self) -> int:
        return len(self.row)


@dataclass
class Pieces:
    """Bars [low, high) of a level for each span; slices [low, high) if `level` is None. end: first slice after them."""

    level: int | None
    low: Index
    high: Index
    end: Index

    def __len__(self) -> int:
        return int((self.high - self.low).sum())


def merge(bars: LevelBars, rows: Rows, row: Index, shift: int, most: float = np.inf) -> LevelBars:
    """Merge the bars of a row whose first slices start in the same bin of 2^shift ns. row: row of each bar.

    Returns the bars unchanged if more than `most` would be left."""
    if not len(bars.first):
        return bars
    heads = _bar_heads(bars.first, rows, row, shift)
    if len(heads) == len(bars.first) or len(heads) > most:
        return bars
    longest = np.empty(len(heads), dtype=bars.longest.dtype)
    ends = np.append(heads, len(bars.first))
    cuts = np.unique(np.searchsorted(heads, np.arange(0, len(bars.first), _PIECE)))
    for low, high in zip(cuts.tolist(), [*cuts[1:].tolist(), len(heads)]):
        longest[low:high] = _longest(bars.longest[ends[low] : ends[high]], rows, ends[low : high + 1] - ends[low])
    return LevelBars(bars.first[heads], longest)


def _bar_heads(first: Index, rows: Rows, row: Index, shift: int) -> Index:
    """Indices of the bars whose row or bin differs from that of the bar before."""
    found = [np.zeros(1, dtype=np.int64)]
    for low in range(0, len(first), _PIECE):
        part = slice(low, low + _PIECE + 1)  # with the first of the next piece
        bins, own = rows.start[first[part]] >> shift, row[part]
        found.append(np.flatnonzero((bins[1:] != bins[:-1]) | (own[1:] != own[:-1])) + low + 1)
    return np.concatenate(found)


def _longest(slices: Index, rows: Rows, ends: Index) -> Index:
    """The longest slice of each group, the first of equally long ones. ends: bounds of the groups."""
    dur = rows.dur[slices]
    most = np.maximum.reduceat(dur, ends[:-1])
    group = np.repeat(np.arange(len(most), dtype=np.int32), np.diff(ends))
    hits = np.flatnonzero(dur == most[group])
    return np.asarray(slices[hits[np.append(True, group[hits[1:]] != group[hits[:-1]])]])


def save_levels(folder: Path, rows: Rows) -> list[tuple[int, int]]:
    """Write the levels, see _MAX_SHARE. Returns (shift, number of bars) of each."""
    every = np.arange(len(rows.start), dtype=np.uint32)
    bars = LevelBars(every, every)
    row = np.repeat(np.arange(len(rows.first) - 1, dtype=np.int32), np.diff(rows.first))
    stored_levels = []
    with ExitStack() as stack:
        first, longest = (
            stack.enter_context(closing(ColumnFile(folder, name, dtype))) for name, dtype in _FILES.items()
        )
        for shift in SHIFTS:
            before = len(bars.first)
            merged = merge(bars, rows, row, shift, most=_MAX_SHARE * before)
            if len(merged.first) == before:
                continue
            bars = merged
            row = rows.row_of(bars.first).astype(np.int32)
            stored_levels.append((shift, len(bars.first)))
            first.append(bars.first)
            longest.append(bars.longest)
    return stored_levels


class Levels:
    """The levels of a timeline folder. stored_levels: what save_levels returned."""

    def __init__(self, folder: Path, stored_levels: Sequence[tuple[int, int]]) -> None:
        first, longest = (load(folder, name) for name in _FILES)
        self._levels: dict[int, tuple[Index, Index]] = {}
        start = 0
        for shift, count in stored_levels:
            self._levels[shift] = first[start : start + count], longest[start : start + count]
            start += count

    def coarser(self, shift: int) -> int:
        """Shift of the next coarser level; EVERYTHING after the last."""
        return min((level for level in self._levels if level > shift), default=EVERYTHING)

    def pieces(self, rows: Rows, spans: Spans, shift: int) -> Pieces:
        """Bars of at most 2^shift ns that hold the slices of the spans.

        They fill complete bins of 2^shift ns, so they may hold more slices."""
        usable = max((level for level in self._levels if level <= shift), default=None)
        low, high = spans.low, spans.high
        if usable != shift:  # otherwise the bars are complete bins
            low, high = _whole_bins(rows, spans, shift)
        if usable is None:
            return Pieces(None, low, high, high)
        firsts, _ = self._levels[usable]
        # With another type, searchsorted would convert the column.
        begin = firsts.searchsorted(low.astype(firsts.dtype), "right") - 1
        end = firsts.searchsorted(high.astype(firsts.dtype))
        following = firsts[np.minimum(end, len(firsts) - 1)].astype(np.int64)
        return Pieces(usable, begin, end, np.where(end < len(firsts), following, len(rows.start)))

    def bars(self, rows: Rows, pieces: Pieces, shift: int) -> tuple[LevelBars, Index]:
        """(bars of 2^shift ns merged from the pieces, index of the span of each)."""
        counts = pieces.high - pieces.low
        span = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(len(span)) + (pieces.high - np.cumsum(counts))[span]
        if pieces.level is None:
            bars = LevelBars(place, place)
        else:
            bars = LevelBars(*(column[place] for column in self._levels[pieces.level]))
        if pieces.level == shift:
            return bars, span
        merged = merge(bars, rows, span, shift)
        return merged, span[np.searchsorted(bars.first, merged.first)] if len(merged.first) < len(span) else span


def _whole_bins(rows: Rows, spans: Spans, shift: int) -> tuple[Index, Index]:
    """Widen the spans to all slices that start in the bins of their first and last slices."""
    begin = rows.start[spans.low] >> shift << shift
    stop = ((rows.start[spans.high - 1] >> shift) + 1) << shift
    low, high = spans.low.copy(), spans.high.copy()
    for index, row in enumerate(spans.row.tolist()):
        first, end = rows.bounds(row)
        starts = rows.start[first:end]
        low[index] = first + starts.searchsorted(begin[index])
        high[index] = first + starts.searchsorted(stop[index])
    return low, high
