"""Flow arrows with levels of detail.

A level of 2^shift ns merges the arrows of one flow kind that start in the same row and bin and end in the same row and
bin. An arrow connects the starts of its two slices. Each level is sorted by source and has an index sorted by target.
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
from tb_npu_plugin.store.timeline.flows import Flows
from tb_npu_plugin.store.timeline.levels import EVERYTHING
from tb_npu_plugin.store.timeline.rows import RowTable

Index = NDArray[Any]

#: Bin sizes of the levels above the unmerged arrows: 2^shift ns.
SHIFTS = tuple(range(12, 50, 2))
#: A level is stored if it has at most this share of the arrows of the level below.
_MAX_SHARE = 0.6
#: Maximum number of arrows of a response.
MAX_ARROWS = 10_000
#: A response reads at most this many times MAX_ARROWS from one level; beyond, it uses a coarser level.
_READ_FACTOR = 8
_FILES = {
    "arrow_from": np.uint32,
    "arrow_to": np.uint32,
    "arrow_count": np.uint32,
    "arrow_by_to": np.uint32,
    "arrow_from_time": np.int64,
    "arrow_to_time": np.int64,
}


@dataclass
class Arrows:
    """Arrows of one flow kind, sorted by source, then target.

    Attributes:
        source, target: Slice ids.
        count: Number of merged arrows.
        bin: Width in ns of the bins of both ends.
        left_out: Number of arrows omitted to keep the limit.
    """

    source: Index
    target: Index
    count: Index
    bin: int = 1
    left_out: int = 0


def _merge(arrows: Arrows, rows: RowTable, shift: int) -> Arrows:
    """Merge arrows whose ends are in the same rows and bins of 2^shift ns. The first arrow represents them."""
    from_bin, to_bin = _bins(rows, arrows.source, shift), _bins(rows, arrows.target, shift)
    key = from_bin * (int(to_bin.max(initial=0)) + 1) + to_bin
    order = np.argsort(key, kind="stable")
    heads = np.flatnonzero(np.append(True, np.diff(key[order]) > 0)) if len(key) else order
    first = order[heads]
    count = np.add.reduceat(arrows.count[order], heads, dtype=np.uint32) if len(heads) else arrows.count
    return Arrows(arrows.source[first], arrows.target[first], count, 1 << shift)


def _bins(rows: RowTable, ids: Index, shift: int) -> NDArray[np.int64]:
    """For each slice the rank of its (row, bin) among all that occur."""
    distinct, place = np.unique(ids, return_inverse=True)
    row, start = rows.row_of(distinct), rows.start[distinct] >> shift
    fresh = np.append(False, (row[1:] != row[:-1]) | (start[1:] != start[:-1]))[: len(distinct)]
    return np.asarray(np.cumsum(fresh)[place])


def save_arrows(folder: Path, flows: Flows, rows: RowTable) -> list[list[tuple[int, int]]]:
    """Write the levels of every kind. Returns per kind (shift, number of arrows) of each level; shift 0: unmerged."""
    with ExitStack() as stack:
        files = [stack.enter_context(closing(ColumnFile(folder, name, dtype))) for name, dtype in _FILES.items()]
        return [_save_kind(files, flows, kind, rows) for kind in np.unique(flows.kind).tolist()]


def _save_kind(files: Sequence[ColumnFile], flows: Flows, kind: int, rows: RowTable) -> list[tuple[int, int]]:
    mine = np.flatnonzero(flows.kind == kind)
    source, target = flows.source[mine].astype(np.uint32), flows.target[mine].astype(np.uint32)
    arrows = Arrows(source, target, np.ones(len(mine), dtype=np.uint32))
    stored_levels = []
    for shift in (0, *SHIFTS):
        if shift:
            most = _MAX_SHARE * len(arrows.source)
            if _sources(rows, arrows.source, shift) > most:
                continue
            merged = _merge(arrows, rows, shift)
            if len(merged.source) > most:
                continue
            arrows = merged
        stored_levels.append((shift, len(arrows.source)))
        for file, column in zip(files, _columns(arrows, rows)):
            file.append(column)
    return stored_levels


def _sources(rows: RowTable, ids: Index, shift: int) -> int:
    """Lower bound for the number of merged arrows: distinct consecutive bins of ascending ids."""
    start = rows.start[ids] >> shift
    return int(np.count_nonzero(start[1:] != start[:-1]))


def _columns(arrows: Arrows, rows: RowTable) -> tuple[Index, ...]:
    """The columns of _FILES."""
    from_time, to_time = rows.start[arrows.source], rows.start[arrows.target]
    order = np.argsort(from_time, kind="stable")
    by_to = np.argsort(to_time[order], kind="stable")
    ids = (arrows.source[order], arrows.target[order], arrows.count[order], by_to)
    return (*ids, from_time[order], to_time[order][by_to])


@dataclass
class _Level:
    """Columns of a level as _FILES names them."""

    source: Index
    target: Index
    count: Index
    by_to: Index
    from_time: NDArray[np.int64]
    to_time: NDArray[np.int64]

    def within(self, t0: int, t1: int) -> tuple[slice, slice]:
        """(range by source, range by target) of the arrows that start, or end, in [t0, t1)."""
        by_from = np.searchsorted(self.from_time, [t0, t1])
        by_to = np.searchsorted(self.to_time, [t0, t1])
        return slice(int(by_from[0]), int(by_from[1])), slice(int(by_to[0]), int(by_to[1]))

    def read(self, by_from: slice, by_to: slice) -> Arrows:
        """The arrows of these ranges, each once."""
        places = np.unique(np.concatenate([np.arange(by_from.start, by_from.stop), self.by_to[by_to]]))
        source, target, count = self.source[places], self.target[places], self.count[places]
        order = np.lexsort((target, source))
        return Arrows(source[order], target[order], count[order])


class ArrowLevels:
    """The arrows of a timeline folder. stored_levels: what save_arrows returned."""

    def __init__(self, folder: Path, stored_levels: Sequence[Sequence[tuple[int, int]]]) -> None:
        columns = [load(folder, name) for name in _FILES]
        self._levels: list[dict[int, _Level]] = []
        start = 0
        for levels in stored_levels:
            self._levels.append({})
            for shift, count in levels:
                self._levels[-1][shift] = _Level(*(column[start : start + count] for column in columns))
                start += count

    def arrows(self, rows: RowTable, kind: int, t0: int, t1: int, shift: int, most: int = MAX_ARROWS) -> Arrows:
        """Arrows of a kind that start or end in [t0, t1), merged by bins of 2^shift ns.

        Merged arrows include those of the same bins that start and end outside the window. Bins get wider until at most
        `most` arrows are left; if the widest bins leave more, those with the highest count are returned.
        """
        levels = self._levels[kind]
        while True:
            level = max(one for one in levels if one <= shift)
            coarser = min((one for one in levels if one > shift), default=EVERYTHING)
            spans = levels[level].within(t0 >> shift << shift, -(-t1 >> shift) << shift)
            if sum(span.stop - span.start for span in spans) <= _READ_FACTOR * most or shift >= EVERYTHING:
                found = _merge(levels[level].read(*spans), rows, shift)
                if len(found.source) <= most or shift >= EVERYTHING:
                    return _limit(found, most)
            shift = coarser


def _limit(arrows: Arrows, most: int) -> Arrows:
    """The `most` arrows with the highest count."""
    if len(arrows.source) <= most:
        return arrows
    chosen = np.sort(np.argsort(-arrows.count.astype(np.int64), kind="stable")[:most])
    left_out = int(arrows.count.sum(dtype=np.int64) - arrows.count[chosen].sum(dtype=np.int64))
    return Arrows(arrows.source[chosen], arrows.target[chosen], arrows.count[chosen], arrows.bin, left_out)
