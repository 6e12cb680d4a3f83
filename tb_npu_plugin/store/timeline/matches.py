"""Search for slices: hits of several timelines around a time, marks of all hits, and bars of the hits in a window."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.store.timeline.args_search import slices_with_arg
from tb_npu_plugin.store.timeline.contract import TrackKind
from tb_npu_plugin.store.timeline.drawn import Drawn
from tb_npu_plugin.store.timeline.levels import EVERYTHING, longest_of
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.store.timeline.rows import RowTable
from tb_npu_plugin.store.timeline.slice_query import names_matching, parse_slice_query
from tb_npu_plugin.store.timeline.stats import check_client
from tb_npu_plugin.store.timeline.tracks import KINDS, kind_of
from tb_npu_plugin.store.timeline.window import BAR_BYTES, NAME_SHARE, ONE_ROW_FACTOR, WindowBars, names_used, shift_of

Index = NDArray[np.int64]
#: Whether the client closed the connection.
IsGone = Callable[[], bool]
#: Slices per step of the search.
_CHUNK = 1 << 18
#: Maximum number of marks of a timeline; a screen has fewer pixels. And of all timelines of a search.
MAX_MARKS, MAX_ALL_MARKS = 4_000, 64_000
#: Number of searches that a timeline keeps.
_KEPT = 4
_NONE = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Placed:
    """A timeline on a time axis of several. zero: where the axis begins by the clock of this timeline, ns since the epoch."""

    timeline: Timeline
    zero: int

    @property
    def offset(self) -> int:
        """What is added to the times of the timeline, ns."""
        return self.timeline.base_ns - self.zero


@dataclass
class Hits:
    """Some of the hits of a search, sorted by start. Times are those of the common axis.

    Attributes:
        first: Number of the first hit given here, among all.
        part: Number of the timeline of each hit.
        name: Index into `names`.
        totals: Number of all hits of each timeline.
        by_kind: Number of all hits by kind of their track, kernels first.
        marks: For each timeline, the start of the first hit in each of MAX_MARKS or fewer equal parts of it, of all hits.
    """

    first: int
    names: list[str]
    part: Index
    id: Index
    start: Index
    dur: Index
    track: Index
    depth: Index
    name: Index
    totals: list[int]
    by_kind: dict[TrackKind, int]
    marks: list[Index]


class Matcher:
    """The slices of a timeline that match a search.

    Args:
        is_gone: Whether the client closed the connection; then ClientGone is raised. Also raises what `parse_slice_query`,
            `names_matching` and `slices_with_arg` raise.
    """

    def __init__(self, timeline: Drawn, text: str, is_gone: IsGone) -> None:
        query = parse_slice_query(text)
        self._timeline, self._least, self._most = timeline, query.least, query.most
        self._names = np.ones(len(timeline.names), dtype=np.bool_)
        for word in query.words:
            self._names &= timeline.names.containing(word)
        for pattern in query.patterns:
            self._names &= names_matching(timeline.names, pattern)
        self._found: Index | None = None
        for key, value in query.args:
            pieces = self.pieces(0, timeline.slice_count, is_gone)
            self._found = slices_with_arg(timeline, key, value, pieces, is_gone)

    def ids(self, low: int, high: int) -> Index:
        """Matching slices of [low, high), ascending."""
        if self._found is not None:
            return self._found[slice(*self._found.searchsorted([low, high]).tolist())]
        matches = self._names[self._timeline.name[low:high]]
        if self._least is not None:
            matches &= self._timeline.rows.dur[low:high] >= self._least
        if self._most is not None:
            matches &= self._timeline.rows.dur[low:high] <= self._most
        return low + np.flatnonzero(matches)

    def pieces(self, low: int, high: int, is_gone: IsGone) -> Iterator[Index]:
        """Matching slices of [low, high) in pieces."""
        for start in range(low, high, _CHUNK):
            check_client(is_gone)
            found = self.ids(start, min(start + _CHUNK, high))
            if len(found):
                yield found


def matcher(timeline: Drawn, text: str, is_gone: IsGone = lambda: False) -> Matcher:
    """The matcher of a search; the newest ones are kept, since every window repeats the search."""
    known = timeline.searched.get(text)
    if isinstance(known, Matcher):
        return known
    made = Matcher(timeline, text, is_gone)
    while len(timeline.searched) >= _KEPT:
        timeline.searched.pop(next(iter(timeline.searched), ""), None)
    timeline.searched[text] = made
    return made


def search(placed: Sequence[Placed], text: str, limit: int, near: int = 0, is_gone: IsGone = lambda: False) -> Hits:
    """Slices that match `text` (`parse_slice_query`): `limit` hits around the first that starts at `near` or later. Memory
    grows with `limit` and the number of timelines, not with the hits."""
    marks = min(MAX_MARKS, MAX_ALL_MARKS // max(len(placed), 1))
    found = [_around(one.timeline, text, limit, near - one.offset, marks, is_gone) for one in placed]
    total, place = sum(one.total for one in found), sum(one.place for one in found)
    before = _merged(placed, [one.before for one in found])[-limit:]
    after = _merged(placed, [one.after for one in found])[:limit]
    first = max(0, min(place - limit // 2, total - limit))
    skipped = first - (place - len(before))
    part, ids = np.concatenate([before, after])[skipped : skipped + limit].T
    start, dur, track, depth, name = np.zeros((5, len(ids)), dtype=np.int64)
    names: dict[str, int] = {}
    for number, one in enumerate(placed):
        own, timeline = part == number, one.timeline
        chosen, rows = ids[own], timeline.rows
        row_of = rows.row_of(chosen)
        start[own], dur[own] = rows.start[chosen] + one.offset, rows.dur[chosen]
        track[own] = rows.track_of_row(row_of)
        depth[own] = row_of - rows.track_row[track[own]]
        used, code = np.unique(timeline.name[chosen], return_inverse=True)
        codes = [names.setdefault(text, len(names)) for text in timeline.names.take(used)]
        name[own] = np.array(codes, dtype=np.int64)[code]
    starts = [one.marks + placed[number].offset for number, one in enumerate(found)]
    by_kind = {kind: total for kind in KINDS if (total := sum(one.by_kind[kind] for one in found))}
    totals = [one.total for one in found]
    return Hits(first, list(names), part, ids, start, dur, track, depth, name, totals, by_kind, starts)


@dataclass
class _Around:
    """Hits of one timeline around a time: `total` in all, `place` before it; the nearest before and after it, by start."""

    total: int
    by_kind: Counter[TrackKind]
    place: int
    before: Index
    after: Index
    marks: Index


def _around(timeline: Timeline, text: str, limit: int, near: int, most_marks: int, is_gone: IsGone) -> _Around:
    found, rows = matcher(timeline, text, is_gone), timeline.rows
    before = after = np.zeros(0, dtype=np.int64)
    total, place, by_kind = 0, 0, Counter[TrackKind]()
    marks = _Marks(timeline, most_marks)
    tracks = rows.track_of_row(np.arange(len(rows.first) - 1)).tolist()
    for row, track in enumerate(tracks):
        for ids in found.pieces(*rows.bounds(row), is_gone):
            start = rows.start[ids]
            split = int(start.searchsorted(near))
            total, place = total + len(ids), place + split
            by_kind[kind_of(timeline.tracks[track])] += len(ids)
            before = _by_start(rows, before, ids[max(split - limit, 0) : split])[-limit:]
            after = _by_start(rows, after, ids[split : split + limit])[:limit]
            marks.add(start)
    return _Around(total, by_kind, place, before, after, marks.starts())


def _merged(placed: Sequence[Placed], ids: Sequence[Index]) -> Index:
    """(number of the timeline, slice) of all these slices, by start; equal starts by number and id."""
    if not placed:
        return np.zeros((0, 2), dtype=np.int64)
    part = np.repeat(np.arange(len(ids)), [len(one) for one in ids])
    start = np.concatenate([one.timeline.rows.start[some] + one.offset for one, some in zip(placed, ids)])
    number = np.concatenate(ids)
    return np.stack([part, number], axis=1)[np.lexsort((number, part, start))]


def _by_start(rows: RowTable, some: Index, more: Index) -> Index:
    """Slices of both, by start; equal starts by id."""
    ids = np.concatenate([some, more])
    return ids[np.lexsort((ids, rows.start[ids]))] if len(more) else ids


class _Marks:
    """The first hit in each of `most` equal parts of the timeline."""

    def __init__(self, timeline: Timeline, most: int) -> None:
        self._begin, end = timeline.slice_bounds or (0, 1)
        self._width = max(1, -(-(end - self._begin) // most))
        self._first = np.full(most + 1, _NONE)

    def add(self, start: Index) -> None:
        """Add hits, by start."""
        part = (start - self._begin) // self._width
        heads = np.flatnonzero(np.append(True, part[1:] != part[:-1]))
        self._first[part[heads]] = np.minimum(self._first[part[heads]], start[heads])

    def starts(self) -> Index:
        """Starts of the first hits, ascending."""
        return self._first[self._first < _NONE]


def matching_bars(
    timeline: Drawn,
    requested: Sequence[int],
    t0: int,
    t1: int,
    px: float,
    text: str,
    budget: int,
    is_exact: bool,
    is_gone: IsGone,
) -> WindowBars:
    """As window.bars, for slices that match `text` (`parse_slice_query`)."""
    matching, rows = matcher(timeline, text, is_gone), timeline.rows
    shift = shift_of(px)
    while True:
        parts: list[tuple[int, int, int]] = []
        found = _Found()
        for row in requested:
            before = found.count
            low, high = rows.overlapping(row, t0, t1)
            for ids in matching.pieces(low, high, is_gone):
                found.add(timeline, ids, shift, before)
            if is_exact and parts and found.size(timeline) > budget:
                found.cut(before)
                break
            parts.append((row, before, found.count - before))
        excess = found.size(timeline) / (budget * ONE_ROW_FACTOR if is_exact else budget)
        if excess <= 1 or shift >= EVERYTHING:
            return found.bars(timeline, parts, shift)
        shift += math.ceil(math.log2(excess)) or 1  # bins of double width give at least half as many bars


class _Found:
    """Collects bars of matching slices. columns: first, last and longest slice, longest one that does not wait, count, ns, and ns of
    waits of each bar."""

    def __init__(self) -> None:
        self.columns = [np.zeros(0, dtype=np.int64) for _ in range(7)]

    @property
    def count(self) -> int:
        return len(self.columns[0])

    def size(self, timeline: Drawn) -> float:
        names = np.unique(timeline.name[self.columns[2]])
        return BAR_BYTES * self.count + NAME_SHARE * timeline.names.size_of(names)

    def cut(self, count: int) -> None:
        self.columns = [column[:count] for column in self.columns]

    def add(self, timeline: Drawn, ids: Index, shift: int, own: int) -> None:
        """Add slices of one row, sorted by start. own: index of the first bar of this row."""
        bins, dur = timeline.rows.start[ids] >> shift, timeline.rows.dur[ids]
        heads = np.flatnonzero(np.append(True, bins[1:] != bins[:-1]))
        ends, slices = np.append(heads, len(ids)), timeline.slice_columns
        longest = ids[longest_of(dur, ends)]
        work = ids[longest_of(slices.work_dur(ids), ends)] if slices.has_waits else longest.copy()
        busy, wait = (np.add.reduceat(ns, heads) for ns in (dur, slices.wait(ids)))
        new = [ids[heads], ids[ends[1:] - 1], longest, work, np.diff(ends), busy, wait]
        if self.count > own and int(timeline.rows.start[self.columns[0][-1]]) >> shift == int(bins[0]):
            # Continue the last bin of the previous chunk.
            before = [int(column[-1]) for column in self.columns]
            new[0][0] = before[0]
            for column in (4, 5, 6):
                new[column][0] += before[column]
            for column, key in ((2, slices.dur.__getitem__), (3, slices.work_dur)):
                if key(np.array([before[column]]))[0] >= key(new[column][:1])[0]:
                    new[column][0] = before[column]
            self.cut(self.count - 1)
        self.columns = [np.concatenate(pair) for pair in zip(self.columns, new)]

    def bars(self, timeline: Drawn, parts: list[tuple[int, int, int]], shift: int) -> WindowBars:
        first, last, longest, work, count, busy, wait = self.columns
        used, name, work_name = names_used(timeline.name[longest], timeline.name[work], wait)
        start, dur = timeline.rows.start, timeline.rows.dur
        end = start[last] + dur[last]
        category, work_category = timeline.category[longest], timeline.category[work]
        return WindowBars(
            longest,
            used,
            name,
            category,
            work_name,
            work_category,
            start[first],
            dur[longest],
            end,
            count,
            busy,
            wait,
            parts,
            1 << shift,
        )
