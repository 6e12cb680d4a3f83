"""Assigns depths to the slices of a track: a nested slice below the slice around it, an overlapping one on the first
free row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.tables import IntArray

Int32 = NDArray[np.int32]

#: Maximum rows of a track. A slice that would need more gets depth -1.
MAX_DEPTH = 4096


def sort_order(start: IntArray, dur: IntArray) -> NDArray[np.int64]:
    """The order required by `pack`: by start, longer first, else as given."""
    return np.lexsort((-dur, start))


def pack(start: IntArray, dur: IntArray) -> tuple[Int32, Int32]:
    """(depth, parent) of the slices of one track in `sort_order`; both int32.

    parent: index of the innermost enclosing slice, which has a smaller depth; -1 without one.
    No two slices of one depth overlap. A slice without duration counts as 1 ns, so that two at the same
    time do not hide each other; of two equal slices the later one is nested in the earlier.
    """
    count = len(start)
    end = start + np.maximum(dur, 1)
    depth, parent = _pack_nested(start, end)
    inside = parent >= 0
    broken = np.zeros(count, dtype=bool)
    broken[inside] = end[inside] > end[parent[inside]]
    broken |= depth >= MAX_DEPTH
    if broken.any():
        heads = np.flatnonzero(_open_before(start, end) == 0)  # slices that start when no other is open
        group = np.searchsorted(heads, np.arange(count), side="right") - 1
        bounds = np.append(heads, count)
        for number in np.unique(group[broken]).tolist():
            first, last = int(bounds[number]), int(bounds[number + 1])
            depth[first:last], parents = _greedy(start[first:last].tolist(), end[first:last].tolist())
            parent[first:last] = np.where(parents >= 0, parents + first, -1)
    return depth, parent


def _open_before(start: IntArray, end: IntArray) -> NDArray[np.int64]:
    """Number of earlier slices still open at each start."""
    return np.arange(len(start)) - np.searchsorted(np.sort(end), start, side="right")


def _pack_nested(start: IntArray, end: IntArray) -> tuple[Int32, Int32]:
    """Depth and parent of properly nested slices: the depth is the number of open slices."""
    depth = _open_before(start, end).astype(np.int32)
    parent = np.full(len(start), -1, dtype=np.int32)
    if not len(start):
        return depth, parent
    by_depth = np.argsort(depth, kind="stable").astype(np.int32)
    bounds = np.searchsorted(depth[by_depth], np.arange(int(depth.max()) + 2))
    above = by_depth[bounds[0] : bounds[1]]
    for level in range(1, len(bounds) - 1):
        here = by_depth[bounds[level] : bounds[level + 1]]
        before = np.searchsorted(above, here) - 1
        parent[here] = np.where(before >= 0, above[np.maximum(before, 0)], -1) if len(above) else -1
        above = here
    return depth, parent


def _greedy(start: list[int], end: list[int]) -> tuple[Int32, Int32]:
    """Depth and parent of arbitrary slices: the first free row below all enclosing slices."""
    rows_end: list[int] = []
    rows_slice: list[int] = []
    depths = np.empty(len(start), dtype=np.int32)
    parents = np.full(len(start), -1, dtype=np.int32)
    for index, (begin, finish) in enumerate(zip(start, end)):
        lowest = -1
        for row in range(len(rows_end) - 1, -1, -1):
            if rows_end[row] > begin and rows_end[row] >= finish:
                lowest = row
                parents[index] = rows_slice[row]
                break
        row = lowest + 1
        while row < len(rows_end) and rows_end[row] > begin:
            row += 1
        if row >= MAX_DEPTH:
            depths[index] = -1
            continue
        if row == len(rows_end):
            rows_end.append(finish)
            rows_slice.append(index)
        else:
            rows_end[row] = finish
            rows_slice[row] = index
        depths[index] = row
        while rows_end and rows_end[-1] <= begin:
            rows_end.pop()
            rows_slice.pop()
    return depths, parents


def self_time(start: IntArray, dur: IntArray, parent: Int32) -> IntArray:
    """Duration minus the time in which direct children run, ns. Slices in `sort_order`."""
    child = np.flatnonzero(parent >= 0)
    if not len(child):
        return dur.copy()
    owner = parent[child]
    order = np.argsort(owner, kind="stable")
    child, owner = child[order], owner[order]
    begin, end = start[child], start[child] + dur[child]
    out = dur.copy()
    same = np.flatnonzero((owner[1:] == owner[:-1]) & (begin[1:] < end[:-1]))
    crossing = np.unique(owner[1:][same])  # parents whose children overlap each other
    simple = ~np.isin(owner, crossing)
    heads = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
    out[owner[heads]] -= np.add.reduceat(np.where(simple, end - begin, 0), heads)
    for row in crossing.tolist():
        first, last = np.searchsorted(owner, [row, row + 1])
        reach = np.maximum.accumulate(end[first:last])
        previous = np.append(begin[first], reach[:-1])
        out[row] -= int(np.maximum(0, end[first:last] - np.maximum(begin[first:last], previous)).sum())
    return out
