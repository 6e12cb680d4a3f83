"""Slices of several timelines as one sorted list, a page at a time: the hits of a search, or what a range holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.store.timeline.matches import Placed
from tb_npu_plugin.store.timeline.members import MAX_ROW, SORTS, Members, name_ranks
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.store.timeline.tracks import kind_of
from tb_npu_plugin.tables import Data, StringColumn, Table

Index = NDArray[np.int64]

LIST_COLUMNS = columns_of("slice_list")
#: What the list can be sorted by; "rank" is the order of the request, then the start.
LIST_SORTS = (*SORTS, "rank")


class SliceList:
    """Slices of several timelines. members: those of each."""

    def __init__(self, placed: Sequence[Placed], members: Sequence[Members]) -> None:
        self._placed, self._members = placed, members

    def page(self, sort: str, desc: bool, offset: int, limit: int) -> tuple[Table, int]:
        """(rows [offset, offset + limit) in an order of LIST_SORTS, then by timeline and id; number of all that a page can
        show: up to MAX_ROW / timelines). Columns: LIST_COLUMNS; `start` is the time on the common axis, ns."""
        last = MAX_ROW // max(len(self._placed), 1)
        most = min(offset + limit, last)
        local = ("start", False) if sort == "rank" else (sort, desc)
        found = [members.first(*local, most) for members in self._members]
        ids = _joined([some for some, _ in found])
        part = np.repeat(np.arange(len(found)), [len(some) for some, _ in found])
        key = self._key(local[0], [some for some, _ in found])
        groups, key = (part, key) if sort == "rank" else (key, part)
        order = np.lexsort((ids, key, -groups if desc else groups))[offset:most]
        return self._table(part[order], ids[order]), min(sum(total for _, total in found), last)

    def tables(self) -> Iterator[Table]:
        """All slices in pieces, of one timeline after the other, in the order of their rows. Columns:
        LIST_COLUMNS; `start` is that of the timeline's own clock, ns since the epoch."""
        for number, members in enumerate(self._members):
            for table in members.tables():
                yield self._extended(number, table)

    def _key(self, sort: str, found: Sequence[Index]) -> Index:
        """What the slices are sorted by, comparable between the timelines."""
        if sort == "name":
            names = [one.timeline.names for one in self._placed]
            used = [np.unique(one.timeline.name[ids], return_inverse=True) for one, ids in zip(self._placed, found)]
            texts = [own.take(codes) for own, (codes, _) in zip(names, used)]
            distinct = list(dict.fromkeys(text for own in texts for text in own))
            rank = dict(zip(distinct, name_ranks(distinct).tolist()))
            return _joined(
                [np.array([rank[text] for text in own], dtype=np.int64)[at] for own, (_, at) in zip(texts, used)]
            )
        keys = [members.column(sort, ids) for members, ids in zip(self._members, found)]
        if sort == "start":
            keys = [key + one.offset for key, one in zip(keys, self._placed)]
        return _joined(keys)

    def _table(self, part: Index, ids: Index) -> Table:
        """These slices in this order."""
        tables, places = [], []
        for number, members in enumerate(self._members):
            own = np.flatnonzero(part == number)
            table = self._extended(number, members.table(ids[own]))
            start = table.ints("start") - self._placed[number].zero
            tables.append(Table(table.columns, {**table.data, "start": start}))
            places.append(own)
        order = np.argsort(_joined(places))
        data = {column.key: _joined_column([table.data[column.key] for table in tables]) for column in LIST_COLUMNS}
        return Table(LIST_COLUMNS, data).take(order)

    def _extended(self, number: int, table: Table) -> Table:
        tracks, track = self._placed[number].timeline.tracks, table.ints("track").astype(np.int32)
        more: dict[str, Data] = {
            "part": np.full(len(table), number),
            "process": StringColumn(track, [one["process"] for one in tracks]),
            "thread": StringColumn(track, [one["name"] or str(one["tid"]) for one in tracks]),
        }
        return Table(LIST_COLUMNS, {**table.data, **more})


def list_hits(
    placed: Sequence[Placed], text: str, kind: str = "", is_gone: Callable[[], bool] = lambda: False
) -> SliceList:
    """The slices of all timelines that match the search `text`. kind: only those in tracks of this kind; "": all. is_gone: see
    Members."""
    return SliceList(placed, [_hits_of(one.timeline, text, kind, is_gone) for one in placed])


def _hits_of(timeline: Timeline, text: str, kind: str, is_gone: Callable[[], bool]) -> Members:
    start, end = timeline.slice_bounds or (0, 0)
    tracks = [track for track in timeline.tracks_of("slices") if kind in ("", kind_of(timeline.tracks[track]))]
    return Members(timeline, tracks, start, end + 1, search=text, is_gone=is_gone)


def _joined(parts: Sequence[Index]) -> Index:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def _joined_column(parts: Sequence[Data]) -> Data:
    if not all(isinstance(part, StringColumn) for part in parts) or not parts:
        return _joined([np.asarray(part) for part in parts])
    return StringColumn.of(text for part in parts if isinstance(part, StringColumn) for text in part.tolist())
