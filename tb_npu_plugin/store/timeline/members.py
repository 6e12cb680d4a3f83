"""The slices behind a row of the statistics of a range, or a search: sorted, a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.store.timeline.matches import matcher
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.store.timeline.stats import check_client, slices_of_rows
from tb_npu_plugin.tables import IntArray, StringColumn, Table
from tb_npu_plugin.texts import natural_order

Index = NDArray[np.int64]

MEMBER_COLUMNS = columns_of("slices")
_FIGURES = ("start", "dur", "self", "clipped")
#: What a list can be sorted by; "row" is the track.
SORTS = (*_FIGURES, "name", "row")
#: Last row that a page can hold: memory grows with it.
MAX_ROW = 1 << 20


def name_ranks(names: Sequence[str]) -> Index:
    """Place of each of these distinct names in natural order."""
    ranks = np.empty(len(names), dtype=np.int64)
    ranks[natural_order(names)] = np.arange(len(names))
    return ranks


class Members:
    """Slices of some tracks that overlap [t0, t1); with `name`, only those of exactly this name.

    Args:
        search: The slices must match this search; "": all do.
        is_gone: Whether the client closed the connection; called for each piece. Then ClientGone is raised.
    """

    def __init__(
        self,
        timeline: Timeline,
        tracks: Sequence[int],
        t0: int,
        t1: int,
        name: str = "",
        search: str = "",
        is_gone: Callable[[], bool] = lambda: False,
    ) -> None:
        self._timeline, self._t0, self._t1, self._is_gone = timeline, t0, t1, is_gone
        self._name = timeline.names.equal(name) if name else None
        self._matching = matcher(timeline, search, is_gone) if search.strip() else None
        table = timeline.rows.track_row
        self._rows = [row for track in tracks for row in range(int(table[track]), int(table[track + 1]))]

    def page(self, sort: str, desc: bool, offset: int, limit: int) -> tuple[Table, int]:
        """(rows [offset, offset + limit) of the slices in an order of SORTS, then by id; number of all). Columns:
        MEMBER_COLUMNS."""
        ids, total = self.first(sort, desc, min(offset + limit, MAX_ROW))
        return self.table(ids[offset:]), total

    def first(self, sort: str, desc: bool, most: int) -> tuple[Index, int]:
        """(the first `most` slices in an order of SORTS, then by id; number of all)."""
        kept = key = np.zeros(0, dtype=np.int64)
        total = 0
        for ids in self._pieces():
            total += len(ids)
            value = self.column(sort, ids)
            kept, key = np.concatenate([kept, ids]), np.concatenate([key, -value if desc else value])
            if len(kept) > most:
                first = np.lexsort((kept, key))[:most]
                kept, key = kept[first], key[first]
        return kept[np.lexsort((kept, key))][:most], total

    def tables(self) -> Iterator[Table]:
        """All slices in pieces, in the order of their rows."""
        return map(self.table, self._pieces())

    def _pieces(self) -> Iterator[Index]:
        for _, ids in slices_of_rows(self._timeline, self._rows, self._t0, self._t1):
            check_client(self._is_gone)
            if self._matching is not None:
                ids = self._matching.ids(int(ids[0]), int(ids[-1]) + 1)
            yield ids if self._name is None else ids[self._name[self._timeline.name[ids]]]

    def column(self, key: str, ids: Index) -> IntArray:
        """What the slices are sorted by (SORTS), as numbers."""
        timeline = self._timeline
        if key == "row":
            return timeline.rows.track_of_row(timeline.rows.row_of(ids))
        if key == "name":
            return np.asarray(self._name_ranks[timeline.name[ids]])
        start, dur = timeline.rows.start[ids], timeline.rows.dur[ids]
        if key == "start":
            return np.asarray(start)
        if key == "dur":
            return np.asarray(dur)
        if key == "self":
            return np.asarray(timeline.self_time[ids])
        return np.asarray(np.maximum(np.minimum(start + dur, self._t1) - np.maximum(start, self._t0), 0))

    @cached_property
    def _name_ranks(self) -> Index:
        """Place of each name in natural order."""
        return name_ranks([self._timeline.names[code] for code in range(len(self._timeline.names))])

    def table(self, ids: Index) -> Table:
        """These slices. Columns: MEMBER_COLUMNS."""
        timeline = self._timeline
        used, code = np.unique(timeline.name[ids], return_inverse=True)
        columns = {key: self.column(key, ids) for key in _FIGURES}
        return Table(
            MEMBER_COLUMNS,
            {
                **columns,
                "start": timeline.base_ns + columns["start"],
                "id": ids,
                "name": StringColumn(code.astype(np.int32), [timeline.names[one] for one in used.tolist()]),
                "track": self.column("row", ids),
            },
        )
