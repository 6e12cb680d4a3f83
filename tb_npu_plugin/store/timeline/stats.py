"""Finds the slice of a table row, and computes statistics of a time range: of slices by name and row, and of counters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.errors import ClientGone
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.store.timeline.layout import load_packing
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.store.timeline.quantiles import percentiles
from tb_npu_plugin.tables import Data, StringColumn, Table

Index = NDArray[np.int64]
#: Maximum number of slices in memory.
TILE = 1 << 17

STATS_COLUMNS = columns_of("slice_stats")
#: What the statistics of a range are grouped by, and the columns that identify a group.
GROUPINGS: dict[str, tuple[str, ...]] = {
    "name_row": ("part", "name", "track", "process", "thread"),
    "name": ("name",),
    "row": ("part", "track", "process", "thread"),
    "rank": ("part",),
}
PERCENTS = (50, 95)


def find(timeline: Timeline, name: str, time: int) -> int | None:
    """The slice with exactly this name that a table row describes: the one that starts at `time` (within 1 ns, the
    rounding of the files), else the last started one that is open then, else the nearest. None without one."""
    ids = np.flatnonzero(timeline.names.equal(name)[timeline.name])
    if not len(ids):
        return None
    start = timeline.rows.start[ids]
    away = np.abs(start - time)
    is_open = (start <= time) & (time <= start + timeline.rows.dur[ids])
    rank = np.where(away <= 1, 0, np.where(is_open, 1, 2))
    return int(ids[np.lexsort((away, rank))[0]])


@dataclass(frozen=True)
class RangePart:
    """The part of a range in one timeline. t0, t1: half open, ns after the base of the timeline. tracks: of slices."""

    timeline: Timeline
    t0: int
    t1: int
    tracks: Sequence[int]

    @cached_property
    def rows(self) -> list[int]:
        """Numbers of the rows of the tracks."""
        table = self.timeline.rows.track_row
        return [row for track in self.tracks for row in range(int(table[track]), int(table[track + 1]))]


@dataclass
class Stats:
    """Statistics of a range. table: rows with the most self time in it; total: number of all rows; slices: number of
    slices that overlap it."""

    table: Table
    total: int
    slices: int


def stats(
    parts: Sequence[RangePart],
    limit: int | None = None,
    is_gone: Callable[[], bool] = lambda: False,
    by: str = "name_row",
) -> Stats:
    """Statistics of the slices of all parts, sorted by self time in the range. Columns: STATS_COLUMNS without those that do not
    identify a group. Memory is bounded: the range is split into tiles of at most TILE slices, whose sums are added;
    percentiles: store.timeline.quantiles.

    Args:
        by: Key of GROUPINGS.
        limit: Maximum number of rows; None for all.
        is_gone: Whether the client closed the connection; called before each tile.

    Raises:
        ClientGone: The client closed the connection.
    """
    groups = _Groups([_SummedPart(part, by, is_gone) for part in parts], by)
    own, total = groups.sums.columns["own"], groups.sums.columns["total"]
    top = np.lexsort((-total, -own))[:limit]
    at_percent = _percentiles(groups, np.sort(top), is_gone)
    place = np.argsort(np.argsort(top))
    found = _table(groups, top, [values[place] for values in at_percent])
    return Stats(found, len(own), int(groups.sums.columns["count"].sum()))


class _SummedPart:
    """Sums of one part by group. Key of a group: track * names + name, only the name, only the track, or 0."""

    def __init__(self, part: RangePart, by: str, is_gone: Callable[[], bool]) -> None:
        self.part, self._by, self.sums = part, by, _Sums()
        for begin, end in _tiles(part.timeline, part.rows, part.t0, part.t1):
            check_client(is_gone)
            track, ids, columns = _tile(part.timeline, part.rows, begin, end, begin == part.t0)
            self.sums.add(self.key(track, ids), columns)
        self.sums.join()

    def key(self, track: Index, ids: Index) -> Index:
        """Key of the group of each slice. track: of each slice."""
        if self._by == "rank":
            return np.zeros(len(ids), dtype=np.int64)
        if self._by == "row":
            return track
        name = self.part.timeline.name[ids].astype(np.int64)
        return name if self._by == "name" else track * self._names + name

    def split(self, key: Index) -> tuple[Index, Index]:
        """(track, name) of groups; 0 for what they are not grouped by."""
        none = np.zeros(len(key), dtype=np.int64)
        if self._by == "rank":
            return none, none
        if self._by == "row":
            return key, none
        if self._by == "name":
            return none, key
        track, name = np.divmod(key, self._names)
        return track, name

    @property
    def _names(self) -> int:
        return max(len(self.part.timeline.names), 1)


class _Groups:
    """The groups of all parts. A name is one group in all of them; rows and ranks belong to one part.

    Attributes:
        number: For each part, the number of the group of each of its keys.
        part, key: The first part that has the group, and its key there.
        sums: By number.
    """

    def __init__(self, parts: Sequence[_SummedPart], by: str) -> None:
        self.parts, self.by = parts, by
        self.number = self._numbers()
        self.sums = _Sums()
        for part, number in zip(parts, self.number):
            self.sums.add(number, part.sums.columns)
        self.sums.join()
        _, first = np.unique(_joined(self.number), return_index=True)
        self.part = np.repeat(np.arange(len(parts)), [len(number) for number in self.number])[first]
        self.key = _joined([part.sums.key for part in parts])[first]

    def _numbers(self) -> list[Index]:
        if self.by == "name":
            known: dict[str, int] = {}
            named = [part.part.timeline.names.take(part.sums.key) for part in self.parts]
            return [np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64) for names in named]
        ends = np.cumsum([len(part.sums.key) for part in self.parts]).tolist()
        return [np.arange(end - len(part.sums.key), end) for part, end in zip(self.parts, ends)]


def check_client(is_gone: Callable[[], bool]) -> None:
    """Raise ClientGone if the client closed the connection."""
    if is_gone():
        raise ClientGone("the client closed the connection", "Ask again.")


def slices_of_rows(timeline: Timeline, rows: Sequence[int], t0: int, t1: int) -> Iterator[tuple[int, Index]]:
    """(track, at most TILE slices of it) of all slices of the rows that overlap [t0, t1)."""
    for row in rows:
        low, high = timeline.rows.overlapping(row, t0, t1)
        track = int(timeline.rows.track_of_row(np.array([row]))[0])
        for first in range(low, high, TILE):
            yield track, np.arange(first, min(first + TILE, high))


def _percentiles(groups: _Groups, chosen: Index, is_gone: Callable[[], bool]) -> list[Index]:
    """For each of PERCENTS the percentile of the durations of the groups `chosen`, ascending numbers."""
    place = np.full(len(groups.sums.key), -1)
    place[chosen] = np.arange(len(chosen))

    def pieces() -> Iterator[tuple[Index, Index]]:
        for summed, number in zip(groups.parts, groups.number):
            part, is_chosen = summed.part, place[number] >= 0
            keys, at = summed.sums.key[is_chosen], place[number[is_chosen]]
            if not len(keys):
                continue
            for track, ids in slices_of_rows(part.timeline, part.rows, part.t0, part.t1):
                check_client(is_gone)
                key = summed.key(np.full(len(ids), track), ids)
                found = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
                yield np.where(keys[found] == key, at[found], -1), part.timeline.rows.dur[ids]

    count, least, most = (groups.sums.columns[key][chosen] for key in ("count", "min", "max"))
    return percentiles(pieces, count, least, most, PERCENTS)


def _tiles(timeline: Timeline, rows: Sequence[int], t0: int, t1: int) -> Iterator[tuple[int, int]]:
    """Consecutive parts of [t0, t1) with at most TILE slices each, where possible."""
    parts = [(t0, t1)]
    while parts:
        begin, end = parts.pop()
        count = sum(high - low for low, high in (timeline.rows.overlapping(row, begin, end) for row in rows))
        if count <= TILE or end - begin < 2 or count <= 2 * len(rows):
            yield begin, end
            continue
        middle = (begin + end) // 2
        parts += [(middle, end), (begin, middle)]


class _Sums:
    """Sums by group. key: see _Groups, ascending."""

    JOINS: tuple[tuple[np.ufunc, tuple[str, ...]], ...] = (
        (np.add, ("count", "total", "self", "clipped", "own")),
        (np.minimum, ("min",)),
        (np.maximum, ("max",)),
    )

    def __init__(self) -> None:
        none = np.zeros(0, dtype=np.int64)
        self.key = none
        self.columns: dict[str, Index] = {name: none for _, names in self.JOINS for name in names}
        self._waiting: list[tuple[Index, dict[str, Index]]] = []

    def add(self, key: Index, columns: dict[str, Index]) -> None:
        """Add slices, or groups. They are joined with the others once they are as many: so each is joined few times."""
        self._waiting.append((key, columns))
        if sum(len(key) for key, _ in self._waiting) >= max(len(self.key), TILE):
            self.join()

    def join(self) -> None:
        """Join what was added."""
        parts = [(self.key, self.columns), *self._waiting]
        self._waiting = []
        key = np.concatenate([key for key, _ in parts])
        order = np.argsort(key)
        key = key[order]
        heads = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: len(key)])
        self.key = key[heads]
        for join, names in self.JOINS:
            for name in names:
                values = np.concatenate([columns[name] for _, columns in parts])[order]
                self.columns[name] = join.reduceat(values, heads) if len(heads) else values


def _tile(
    timeline: Timeline, rows: Sequence[int], begin: int, end: int, is_first: bool
) -> tuple[Index, Index, dict[str, Index]]:
    """(track, slice, columns of _Sums) of each slice in [begin, end). A slice counts in the tile of its start, or the first."""
    spans = [timeline.rows.overlapping(row, begin, end) for row in rows]
    ids = np.concatenate([np.zeros(0, dtype=np.int64), *(np.arange(low, high) for low, high in spans if low < high)])
    start, dur = timeline.rows.start[ids], timeline.rows.dur[ids]
    inside = np.maximum(start, begin)
    clipped = np.maximum(np.minimum(start + dur, end) - inside, 0)
    order = np.argsort(start)
    own = np.empty_like(dur)
    own[order] = load_packing().self_time(inside[order], clipped[order], _parents(timeline, ids, order))
    is_new = (start >= begin) | is_first
    return (
        timeline.rows.track_of_row(timeline.rows.row_of(ids)),
        ids,
        {
            "count": is_new.astype(np.int64),
            "total": np.where(is_new, dur, 0),
            "self": np.where(is_new, timeline.self_time[ids], 0),
            "clipped": clipped,
            "own": own,
            "min": np.where(is_new, dur, np.iinfo(np.int64).max),
            "max": np.where(is_new, dur, 0),
        },
    )


def _table(groups: _Groups, top: Index, at_percent: Sequence[Index]) -> Table:
    """The groups `top`. at_percent: their percentiles."""
    whole = int(groups.sums.columns["own"].sum())
    chosen = {key: column[top] for key, column in groups.sums.columns.items()}
    identity = GROUPINGS[groups.by]
    return Table(
        tuple(column for column in STATS_COLUMNS if column.group != "identity" or column.key in identity),
        {
            **_identity(groups, groups.part[top], groups.key[top]),
            "count": chosen["count"],
            "total": chosen["total"],
            "self": chosen["self"],
            "avg": np.rint(chosen["total"] / np.maximum(chosen["count"], 1)).astype(np.int64),
            "min": chosen["min"],
            "max": chosen["max"],
            "clipped": chosen["clipped"],
            "clipped_self": chosen["own"],
            **{f"p{percent}": values for percent, values in zip(PERCENTS, at_percent)},
            "share": chosen["own"] / whole if whole else np.full(len(top), np.nan),
        },
    )


def _identity(groups: _Groups, part: Index, key: Index) -> dict[str, Data]:
    """What identifies groups: their part, track and name. part, key: of each."""
    track, name = np.zeros_like(key), np.zeros_like(key)
    texts: dict[str, int] = {}
    tracks: list[dict[str, Any]] = []
    thread = np.zeros(len(key), dtype=np.int32)
    for number, summed in enumerate(groups.parts):
        own, timeline = np.flatnonzero(part == number), summed.part.timeline
        track[own], codes = summed.split(key[own])
        used, at = np.unique(codes, return_inverse=True)
        of_text = [texts.setdefault(text, len(texts)) for text in timeline.names.take(used)]
        name[own] = np.array(of_text, dtype=np.int64)[at]
        thread[own] = len(tracks) + track[own]
        tracks += timeline.tracks
    found: dict[str, Data] = {
        "part": part,
        "name": StringColumn(name.astype(np.int32), list(texts)),
        "track": track,
        "process": StringColumn(thread, [one["process"] for one in tracks]),
        "thread": StringColumn(thread, [one["name"] for one in tracks]),
    }
    return {key: found[key] for key in GROUPINGS[groups.by]}


def _joined(parts: Sequence[Index]) -> Index:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def _parents(timeline: Timeline, ids: Index, order: Index) -> NDArray[np.int32]:
    """Index in `ids[order]` of the parent of each of these slices; -1 without one. ids: ascending."""
    parent = timeline.parent[ids]
    # Within `ids`, as the id of a parent is the lower one; quick, as `parent` ascends, too, in each row.
    found = np.searchsorted(ids, parent)
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order))
    return np.where((parent >= 0) & (ids[found] == parent), place[found], np.int32(-1))[order]
