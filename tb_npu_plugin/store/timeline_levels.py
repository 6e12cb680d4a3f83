"""Levels of detail: per row and power-of-two time bin, which slices start there and which of them is the longest.

Bins of one level nest in those of every coarser one, so a level is made from the one below, and a query from the
coarsest level that is not coarser than asked. The bars of a row partition its slices.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.store.timeline_files import load, save
from tb_npu_plugin.store.timeline_rows import Rows

Index = NDArray[np.int64]

#: Bin sizes of the levels that are kept: 2^shift ns.
SHIFTS = tuple(range(10, 50, 3))
#: A level is kept when it has at most this share of the bars of the level below.
_WORTH = 0.6


@dataclass
class Bars:
    """Bars of consecutive slices. first: the first slice of each bar; longest: its longest slice. Sorted by first."""

    first: Index
    longest: Index


def merge(bars: Bars, rows: Rows, row: Index, shift: int) -> Bars:
    """Join the bars of one row whose first slices start in the same bin of 2^shift ns. row: row of each bar."""
    if not len(bars.first):
        return bars
    bins = rows.start[bars.first] >> shift
    heads = np.flatnonzero(np.append(True, (bins[1:] != bins[:-1]) | (row[1:] != row[:-1])))
    if len(heads) == len(bins):
        return bars
    dur = rows.dur[bars.longest]
    most = np.maximum.reduceat(dur, heads)
    group = np.zeros(len(bins), dtype=np.int64)
    group[heads] = 1
    group = np.cumsum(group) - 1
    hits = np.flatnonzero(dur == most[group])
    winner = hits[np.append(True, group[hits[1:]] != group[hits[:-1]])]  # of equally long ones the first
    return Bars(bars.first[heads], bars.longest[winner])


def save_levels(folder: Path, rows: Rows) -> list[int]:
    """Write the levels that are worth it; returns their shifts."""
    every = np.arange(len(rows.start))
    bars = Bars(every, every)
    kept = []
    for shift in SHIFTS:
        merged = merge(bars, rows, rows.row_of(bars.first), shift)
        if len(merged.first) > _WORTH * len(bars.first):
            continue
        bars = merged
        kept.append(shift)
        save(folder, f"level{shift}_first", bars.first.astype(np.uint32))
        save(folder, f"level{shift}_longest", bars.longest.astype(np.uint32))
        save(folder, f"level{shift}_rows", np.searchsorted(bars.first, rows.first))
    return kept


class Levels:
    """The levels of a timeline folder."""

    def __init__(self, folder: Path, shifts: list[int]) -> None:
        self._levels = {
            shift: (
                load(folder, f"level{shift}_first"),
                load(folder, f"level{shift}_longest"),
                load(folder, f"level{shift}_rows"),
            )
            for shift in shifts
        }

    def bars(self, rows: Rows, row: int, low: int, high: int, shift: int) -> Bars:
        """Bars of 2^shift ns that hold the slices [low, high) of a row. Whole bars: they may hold more than these."""
        usable = [level for level in self._levels if level <= shift]
        if low >= high:
            return Bars(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
        if not usable:
            low, high = _whole_bins(rows, row, low, high, shift)
            every = np.arange(low, high)
            bars = Bars(every, every)
        else:
            firsts, longests, bounds = self._levels[max(usable)]
            begin, end = int(bounds[row]), int(bounds[row + 1])
            low, high = _whole_bins(rows, row, low, high, shift)
            start = begin + int(np.searchsorted(firsts[begin:end], low, side="right")) - 1
            stop = begin + int(np.searchsorted(firsts[begin:end], high, side="left"))
            bars = Bars(firsts[start:stop].astype(np.int64), longests[start:stop].astype(np.int64))
        return merge(bars, rows, np.full(len(bars.first), row), shift)


def _whole_bins(rows: Rows, row: int, low: int, high: int, shift: int) -> tuple[int, int]:
    """Widen [low, high) to all slices that start in the bins of its first and last one."""
    first, end = rows.bounds(row)
    starts = rows.start[first:end]
    begin = int(rows.start[low]) >> shift << shift
    stop = ((int(rows.start[high - 1]) >> shift) + 1) << shift
    return (
        first + int(np.searchsorted(starts, begin, side="left")),
        first + int(np.searchsorted(starts, stop, side="left")),
    )
