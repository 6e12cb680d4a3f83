"""Sets of half-open intervals [start, end) of integers: sorted, disjoint, not adjacent, none empty.

Every function takes and returns `Intervals` in this normal form; `union` creates it from arbitrary intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.tables import IntArray, known


@dataclass(frozen=True)
class Intervals:
    """Starts and ends of equal length, ns."""

    start: IntArray
    end: IntArray

    @property
    def total(self) -> int:
        """Sum of the lengths."""
        return int((self.end - self.start).sum())


EMPTY = Intervals(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


def union(start: IntArray, end: IntArray) -> Intervals:
    """Normal form of arbitrary intervals; empty and inverted ones are dropped."""
    real = end > start
    if not real.all():
        start, end = start[real], end[real]
    if not len(start):
        return Intervals(start, end)
    if (start[1:] < start[:-1]).any():
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
    reach = np.maximum.accumulate(end)
    opens = np.concatenate([[True], start[1:] > reach[:-1]])
    closes = np.concatenate([opens[1:], [True]])
    return Intervals(start[opens], reach[closes])


class Coverage:
    """Lengths of the parts of a set before given times. Keeps the sums, for many requests."""

    def __init__(self, times: Intervals) -> None:
        self._start = times.start
        self._ends = np.concatenate([[np.iinfo(np.int64).min], times.end])
        self._before = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(times.end - times.start)])

    def until(self, moments: IntArray) -> IntArray:
        """Length of the part before each time, ns."""
        count = np.searchsorted(self._start, moments, side="right")
        last_end = self._ends[count]
        return np.asarray(self._before[count] - np.where(last_end > moments, last_end - moments, 0))


def covered_until(a: Intervals, moments: IntArray) -> IntArray:
    """Length of the part of `a` before each time, ns."""
    return Coverage(a).until(moments)


def merge(a: Intervals, b: Intervals) -> Intervals:
    """Union of a and b."""
    return union(np.concatenate([a.start, b.start]), np.concatenate([a.end, b.end]))


def subtract(a: Intervals, b: Intervals) -> Intervals:
    """a without b."""
    if not len(a.start):
        return a
    low, high = int(a.start[0]), int(a.end[-1])
    inside = (b.end > low) & (b.start < high)
    edges_start = np.concatenate([[low], b.end[inside]])
    edges_end = np.concatenate([b.start[inside], [high]])
    real = edges_end > edges_start
    return overlap(a, Intervals(edges_start[real], edges_end[real]))


def overlap(a: Intervals, b: Intervals) -> Intervals:
    """Intersection of a and b."""
    if not len(a.start) or not len(b.start):
        nothing = np.zeros(0, dtype=np.int64)
        return Intervals(nothing, nothing)
    # Interval i of a intersects first[i]..last[i]-1 of b; expand these pairs.
    first = np.searchsorted(b.end, a.start, side="right")
    last = np.searchsorted(b.start, a.end, side="left")
    counts = np.maximum(last - first, 0)
    owner = np.repeat(np.arange(len(counts)), counts)
    partner = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts) + first[owner]
    return Intervals(np.maximum(a.start[owner], b.start[partner]), np.minimum(a.end[owner], b.end[partner]))


# What is in a time range.


def overlaps(start: IntArray, dur: IntArray, range_start: int, range_end: int) -> NDArray[np.bool_]:
    """Mask of what overlaps [range_start, range_end), or starts in it, as in the statistics of the timeline. What has no
    known start is in no range; an unknown duration counts as 0."""
    until = start + np.where(known(dur), dur, 0)
    return known(start) & (start < range_end) & ((until > range_start) | (start >= range_start))
