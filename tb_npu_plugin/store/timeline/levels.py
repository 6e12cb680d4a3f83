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
#: Columns of the levels: the first slice of each bar, its longest, and the first bar of each row.
_FILES = {"level_first": np.uint32, "level_longest": np.uint32, "level_rows": np.int64}
#: A bin of 2^this ns holds all slices: all times lie within 2^62 ns.
EVERYTHING = 62
_NONE = np.zeros(0, dtype=np.int64)
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
class Pieces:
    """Bars [first, end) of a level for each span; slices [first, end) if `level` is None."""

    level: int | None
    bounds: list[tuple[int, int]]

    def __len__(self) -> int:
        return sum(high - low for low, high in self.bounds)


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
        first, longest, bounds = (
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
            bounds.append(np.searchsorted(bars.first, rows.first.astype(np.uint32)))
    return stored_levels


class Levels:
    """The levels of a timeline folder. stored_levels: what save_levels returned."""

    def __init__(self, folder: Path, stored_levels: Sequence[tuple[int, int]]) -> None:
        first, longest, bounds = (load(folder, name) for name in _FILES)
        width = len(bounds) // max(len(stored_levels), 1)
        self._levels: dict[int, tuple[Index, Index, Index]] = {}
        start = 0
        for number, (shift, count) in enumerate(stored_levels):
            part = slice(start, start + count)
            self._levels[shift] = first[part], longest[part], bounds[number * width : (number + 1) * width]
            start += count

    def coarser(self, shift: int) -> int:
        """Shift of the next coarser level; EVERYTHING after the last."""
        return min((level for level in self._levels if level > shift), default=EVERYTHING)

    def pieces(self, rows: Rows, spans: Sequence[tuple[int, int, int]], shift: int) -> Pieces:
        """Bars of at most 2^shift ns that hold the slices of non-empty (row, first, end) spans.

        They fill complete bins of 2^shift ns, so they may hold more slices."""
        usable = max((level for level in self._levels if level <= shift), default=None)
        found = []
        for row, low, high in spans:
            if usable != shift:  # otherwise the bars are complete bins
                low, high = _whole_bins(rows, row, low, high, shift)
            if usable is not None:
                firsts, _, bounds = self._levels[usable]
                begin, end = int(bounds[row]), int(bounds[row + 1])
                part = firsts[begin:end]
                # With another type, searchsorted would convert the column.
                low = begin + int(part.searchsorted(part.dtype.type(low), "right")) - 1
                high = begin + int(part.searchsorted(part.dtype.type(high)))
            found.append((low, high))
        return Pieces(usable, found)

    def bars(
        self, rows: Rows, spans: Sequence[tuple[int, int, int]], pieces: Pieces, shift: int
    ) -> tuple[LevelBars, Index]:
        """(bars of 2^shift ns merged from the pieces of `spans`, index of the span of each)."""
        span = np.repeat(np.arange(len(spans)), [high - low for low, high in pieces.bounds])
        if pieces.level is None:
            first = np.concatenate([_NONE, *(np.arange(low, high) for low, high in pieces.bounds)])
            bars = LevelBars(first, first)
        else:
            firsts, longests, _ = self._levels[pieces.level]
            bars = LevelBars(
                *(
                    np.concatenate([_NONE, *(column[low:high] for low, high in pieces.bounds)])
                    for column in (firsts, longests)
                )
            )
        if pieces.level == shift:
            return bars, span
        merged = merge(bars, rows, span, shift)
        return merged, span[np.searchsorted(bars.first, merged.first)] if len(merged.first) < len(span) else span


def _whole_bins(rows: Rows, row: int, low: int, high: int, shift: int) -> tuple[int, int]:
    """Widen [low, high) to all slices that start in the bins of its first and its last slice."""
    first, end = rows.bounds(row)
    starts = rows.start[first:end]
    begin = int(rows.start[low]) >> shift << shift
    stop = ((int(rows.start[high - 1]) >> shift) + 1) << shift
    return (
        first + int(starts.searchsorted(begin)),  # the method is several times faster than np.searchsorted
        first + int(starts.searchsorted(stop)),
    )
