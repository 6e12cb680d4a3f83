"""Search for slices by name: hits around a time, marks of all hits, and bars of the hits in a window."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.store.timeline.levels import EVERYTHING
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.store.timeline.window import BAR_BYTES, BUDGET, NAME_SHARE, ONE_ROW_FACTOR, WindowBars, shift_of

Index = NDArray[np.int64]
#: Slices per step of the search.
_CHUNK = 1 << 18
#: Maximum number of marks; a screen has fewer pixels.
MAX_MARKS = 4_000


@dataclass
class Hits:
    """Some of the hits of a search, sorted by start.

    Attributes:
        total: Number of all hits.
        first: Number of the first hit given here.
        name: Index into `names`.
        marks: Start of the first hit in each of MAX_MARKS equal parts of the timeline, of all hits.
    """

    total: int
    first: int
    names: list[str]
    id: Index
    track: Index
    depth: Index
    name: Index
    marks: Index


def names_with(timeline: Timeline, text: str) -> NDArray[np.bool_]:
    """Mask of the names that contain each word of `text`, ignoring case."""
    known = timeline.searched.get(text)
    if known is not None:
        return known
    mask = np.ones(len(timeline.names), dtype=np.bool_)
    for word in text.split():
        mask &= timeline.names.containing(word)
    timeline.searched.clear()  # cache the last search only: every window repeats it
    timeline.searched[text] = mask
    return mask


def search(timeline: Timeline, text: str, limit: int, track: int | None = None, near: int = 0) -> Hits:
    """Slices whose name contains each word of `text`, ignoring case. Returns `limit` hits around the first that starts
    at `near` or later. track: search this track only."""
    mask = names_with(timeline, text)
    rows = timeline.rows
    low, high = (0, len(timeline.name)) if track is None else _track_bounds(timeline, track)
    ids = low + np.flatnonzero(mask[timeline.name[low:high]])
    total = len(ids)
    starts = rows.start[ids]
    order = np.argsort(starts, kind="stable")  # equal starts stay sorted by id
    place = int(np.count_nonzero(starts < near))
    first = max(0, min(place - limit // 2, total - limit))
    marks = _marks(timeline, starts[order])
    ids = ids[order[first : first + limit]]
    row = rows.row_of(ids)
    tracks = rows.track_of_row(row)
    used, code = np.unique(timeline.name[ids], return_inverse=True)
    names = [timeline.names[index] for index in used.tolist()]
    return Hits(total, first, names, ids, tracks, row - rows.track_row[tracks], code, marks)


def _marks(timeline: Timeline, starts: Index) -> Index:
    """Of ascending starts the first in each of MAX_MARKS equal parts of the timeline."""
    begin, end = timeline.slice_bounds or (0, 1)
    part = (starts - begin) // max(1, -(-(end - begin) // MAX_MARKS))
    return starts[np.flatnonzero(np.append(True, part[1:] != part[:-1]))] if len(starts) else starts


def matching_bars(
    timeline: Timeline,
    requested: Sequence[tuple[int, int]],
    t0: int,
    t1: int,
    px: float,
    text: str,
    budget: int = BUDGET,
    is_exact: bool = False,
) -> WindowBars:
    """As window.bars, for slices whose names contain each word of `text`."""
    mask, rows = names_with(timeline, text), timeline.rows
    shift = shift_of(px)
    while True:
        parts: list[tuple[int, int, int]] = []
        found = _Found()
        for row, number in requested:
            before = found.count
            low, high = rows.overlapping(row, t0, t1)
            for ids in _matching_ids(timeline, mask, low, high):
                found.add(timeline, ids, shift, before)
            if is_exact and parts and found.size(timeline) > budget:
                found.cut(before)
                break
            parts.append((number, before, found.count - before))
        excess = found.size(timeline) / (budget * ONE_ROW_FACTOR if is_exact else budget)
        if excess <= 1 or shift >= EVERYTHING:
            return found.bars(timeline, parts, shift)
        shift += math.ceil(math.log2(excess)) or 1  # bins of double width give at least half as many bars


def _matching_ids(timeline: Timeline, mask: NDArray[np.bool_], low: int, high: int) -> Iterator[Index]:
    for start in range(low, high, _CHUNK):
        ids = start + np.flatnonzero(mask[timeline.name[start : min(start + _CHUNK, high)]])
        if len(ids):
            yield ids


class _Found:
    """Collects bars of matching slices. columns: first, last and longest slice, count and ns of each bar."""

    def __init__(self) -> None:
        self.columns = [np.zeros(0, dtype=np.int64) for _ in range(5)]

    @property
    def count(self) -> int:
        return len(self.columns[0])

    def size(self, timeline: Timeline) -> float:
        names = np.unique(timeline.name[self.columns[2]])
        return BAR_BYTES * self.count + NAME_SHARE * timeline.names.size_of(names)

    def cut(self, count: int) -> None:
        self.columns = [column[:count] for column in self.columns]

    def add(self, timeline: Timeline, ids: Index, shift: int, own: int) -> None:
        """Add slices of one row, sorted by start. own: index of the first bar of this row."""
        bins, dur = timeline.rows.start[ids] >> shift, timeline.rows.dur[ids]
        heads = np.flatnonzero(np.append(True, bins[1:] != bins[:-1]))
        ends = np.append(heads[1:], len(ids))
        most = np.maximum.reduceat(dur, heads)
        group = np.repeat(np.arange(len(heads)), ends - heads)
        tops = np.flatnonzero(dur == most[group])
        longest = ids[tops[np.append(True, group[tops[1:]] != group[tops[:-1]])]]
        new = [ids[heads], ids[ends - 1], longest, ends - heads, np.add.reduceat(dur, heads)]
        if self.count > own and int(timeline.rows.start[self.columns[0][-1]]) >> shift == int(bins[0]):
            # Continue the last bin of the previous chunk.
            before = [int(column[-1]) for column in self.columns]
            new[0][0], new[3][0], new[4][0] = before[0], new[3][0] + before[3], new[4][0] + before[4]
            if timeline.rows.dur[before[2]] >= most[0]:
                new[2][0] = before[2]
            self.cut(self.count - 1)
        self.columns = [np.concatenate(pair) for pair in zip(self.columns, new)]

    def bars(self, timeline: Timeline, parts: list[tuple[int, int, int]], shift: int) -> WindowBars:
        first, last, longest, count, busy = self.columns
        used, name = np.unique(timeline.name[longest], return_inverse=True)
        start, dur = timeline.rows.start, timeline.rows.dur
        end = start[last] + dur[last]
        return WindowBars(longest, used, name, start[first], dur[longest], end, count, busy, parts, 1 << shift)


def _track_bounds(timeline: Timeline, track: int) -> tuple[int, int]:
    rows = timeline.rows
    return int(rows.first[rows.track_row[track]]), int(rows.first[rows.track_row[track + 1]])
