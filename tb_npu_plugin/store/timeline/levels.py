"""Levels of detail of slices: per row and power-of-two time bin one bar, with its first and longest slice.

Bins of a level nest in those of coarser levels, so each level is built from the one below, and a query reads the
coarsest level that is not coarser than requested. The bars of a row partition its slices. Coarse levels also hold
the times, names and categories of their bars. Otherwise each bar would read another page of the files of the slices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.store.timeline.columns import ColumnFile
from tb_npu_plugin.store.timeline.files import load
from tb_npu_plugin.store.timeline.rows import RowTable

#: Integers of any width: a level is as narrow as its file.
Index = NDArray[Any]

#: Bin sizes of the levels: 2^shift ns. All powers of two, so that a query reads few more bars than it returns.
SHIFTS = tuple(range(10, 50))
#: Columns of all levels, and of those with few bars: see Level. Files: level_<name>.
_COLUMNS = {"first": np.uint32, "longest": np.uint32}
_VALUES = {
    "start": np.int64,
    "end": np.int64,
    "busy": np.int64,
    "dur": np.int64,
    "name": np.int32,
    "category": np.int32,
}
#: A level holds values if it has at most one bar for this many slices.
VALUES_FROM = 8
#: A bin of 2^this ns holds all slices: all times lie within 2^62 ns.
EVERYTHING = 62
#: Bars per merge step: a trace has millions.
_PIECE = 1 << 18
#: A level is stored if it has at most this share of the bars of the level below.
_MAX_SHARE = 0.6


@dataclass(frozen=True)
class SliceColumns:
    """What is drawn of slices, by id. busy: see Timeline.busy."""

    start: Index
    dur: Index
    busy: Index
    name: Index
    category: Index

    @staticmethod
    def load(folder: Path) -> SliceColumns:
        """The columns of a timeline folder."""
        return SliceColumns(*(load(folder, name) for name in ("start", "dur", "busy", "name", "category")))


class Level:
    """The bars of a level, sorted by first slice; without columns, the slices, a bar each. Methods take indices of bars; a
    level has one more at its end, without slices."""

    def __init__(self, slices: SliceColumns, columns: Mapping[str, Index] | None = None) -> None:
        self._slices, self._columns = slices, columns or {}

    def find(self, first: Index) -> Index:
        """The bar that begins with each of these slices, or the next one."""
        if not self._columns:
            return first
        firsts = self._columns["first"]
        return np.asarray(firsts.searchsorted(first.astype(firsts.dtype)))  # another type would convert the column

    def first(self, at: Index) -> Index:
        """First slice; of the last index, the number of slices."""
        return self._columns["first"][at] if self._columns else at

    def longest(self, at: Index) -> Index:
        """Longest slice."""
        return self._columns["longest"][at] if self._columns else at

    def of_longest(self, column: str, at: Index) -> Index:
        """dur, name or category of the longest slice."""
        if column in self._columns:
            return self._columns[column][at]
        values: Index = getattr(self._slices, column)[self.longest(at)]
        return values

    def start(self, at: Index) -> Index:
        """Start of the first slice."""
        return self._columns["start"][at] if "start" in self._columns else self._slices.start[self.first(at)]

    def end(self, at: Index) -> Index:
        """End of the last slice."""
        if "end" in self._columns:
            return self._columns["end"][at]
        last = self.first(at + 1) - 1
        return np.asarray(self._slices.start[last] + self._slices.dur[last])

    def busy(self, at: Index) -> Index:
        """Sum of the durations of all slices before the bar."""
        return self._columns["busy"][at] if "busy" in self._columns else self._slices.busy[self.first(at)]


@dataclass
class Spans:
    """Consecutive slices [low, high) of rows, at least one of each."""

    row: Index
    low: Index
    high: Index


@dataclass
class Pieces:
    """Bars [low, high) of `level` for each span. is_final: they are as wide as requested."""

    level: Level
    is_final: bool
    low: Index
    high: Index

    def __len__(self) -> int:
        return int((self.high - self.low).sum())


@dataclass
class Bars:
    """Bars made of consecutive bars of `level`: the first of them, the one with the longest slice, and that after the last.
    span: index of the span of each."""

    level: Level
    head: Index
    longest: Index
    after: Index
    span: Index


@dataclass
class _LevelBars:
    """Bars of consecutive slices, sorted by first. first: first slice of each bar; longest: its longest slice."""

    first: Index
    longest: Index


def _merge(bars: _LevelBars, slices: SliceColumns, row: Index, shift: int) -> _LevelBars:
    """Merge the bars of a row whose first slices start in the same bin of 2^shift ns. row: row of each bar.

    Returns the bars unchanged if more than _MAX_SHARE of them would be left."""
    if not len(bars.first):
        return bars
    heads = _bar_heads(bars.first, slices, row, shift)
    if len(heads) > _MAX_SHARE * len(bars.first):
        return bars
    longest = np.empty(len(heads), dtype=bars.longest.dtype)
    ends = np.append(heads, len(bars.first))
    cuts = np.unique(np.searchsorted(heads, np.arange(0, len(bars.first), _PIECE)))
    for low, high in zip(cuts.tolist(), [*cuts[1:].tolist(), len(heads)]):
        candidates = bars.longest[ends[low] : ends[high]]
        longest[low:high] = candidates[_longest(slices.dur[candidates], ends[low : high + 1] - ends[low])]
    return _LevelBars(bars.first[heads], longest)


def _bar_heads(first: Index, slices: SliceColumns, row: Index, shift: int) -> Index:
    """Indices of the bars whose row or bin differs from that of the bar before."""
    found = [np.zeros(1, dtype=np.int64)]
    for low in range(0, len(first), _PIECE):
        part = slice(low, low + _PIECE + 1)  # with the first of the next piece
        found.append(_heads(slices.start[first[part]], row[part], shift) + low)
    return np.concatenate(found)


def _heads(start: Index, row: Index, shift: int) -> Index:
    """Indices of the bars, without the first, whose row or bin differs from that of the bar before."""
    bins = start >> shift
    return np.flatnonzero((bins[1:] != bins[:-1]) | (row[1:] != row[:-1])) + 1


def _longest(dur: Index, ends: Index) -> Index:
    """Index of the longest of each group, the first of equally long ones. ends: bounds of the groups."""
    most = np.maximum.reduceat(dur, ends[:-1])
    group = np.repeat(np.arange(len(most), dtype=np.int32), np.diff(ends))
    hits = np.flatnonzero(dur == most[group])
    return np.asarray(hits[np.append(True, group[hits[1:]] != group[hits[:-1]])])


def save_levels(folder: Path, slices: SliceColumns, rows: RowTable) -> list[tuple[int, int]]:
    """Write the levels, see _MAX_SHARE. Returns (shift, number of bars) of each."""
    count = len(slices.start)
    every = np.arange(count, dtype=np.uint32)
    bars = _LevelBars(every, every)
    row = np.repeat(np.arange(len(rows.first) - 1, dtype=np.int32), np.diff(rows.first))
    stored_levels = []
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(closing(ColumnFile(folder, f"level_{name}", dtype)))
            for name, dtype in (_COLUMNS | _VALUES).items()
        }
        for shift in SHIFTS:
            merged = _merge(bars, slices, row, shift)
            if merged is bars:
                continue
            bars = merged
            row = rows.row_of(bars.first).astype(np.int32)
            stored_levels.append((shift, len(bars.first)))
            columns = {
                "first": np.append(bars.first, np.uint32(count)),
                "longest": np.append(bars.longest, np.uint32(0)),
            }
            level, all_bars = Level(slices, columns), np.arange(len(bars.first))
            if _has_values(len(all_bars), count):
                columns.update({name: np.append(getattr(level, name)(all_bars), 0) for name in ("start", "end")})
                columns["busy"] = level.busy(np.arange(len(all_bars) + 1))
                for name in ("dur", "name", "category"):
                    columns[name] = np.append(level.of_longest(name, all_bars), 0)
            for name, values in columns.items():
                files[name].append(values)
    return stored_levels


def _has_values(bars: int, slices: int) -> bool:
    """Whether a level with so many bars holds _VALUES."""
    return bars * VALUES_FROM <= slices


class Levels:
    """The levels of a timeline folder. stored_levels: what save_levels returned."""

    def __init__(self, folder: Path, stored_levels: Sequence[tuple[int, int]], slices: SliceColumns) -> None:
        files = {name: load(folder, f"level_{name}") for name in (*_COLUMNS, *_VALUES)}
        left = dict.fromkeys(files, 0)
        self._slices = Level(slices)
        self._levels: dict[int, Level] = {}
        for shift, count in stored_levels:
            columns = {}
            for name in (*_COLUMNS, *(_VALUES if _has_values(count, len(slices.start)) else ())):
                columns[name] = files[name][left[name] : left[name] + count + 1]
                left[name] += count + 1
            self._levels[shift] = Level(slices, columns)

    def coarser(self, shift: int) -> int:
        """Shift of the next coarser level; EVERYTHING after the last."""
        return min((level for level in self._levels if level > shift), default=EVERYTHING)

    def pieces(self, rows: RowTable, spans: Spans, shift: int) -> Pieces:
        """Bars of at most 2^shift ns that hold the slices of the spans.

        They fill complete bins of 2^shift ns, so they may hold more slices."""
        usable = max((level for level in self._levels if level <= shift), default=-1)
        level = self._levels.get(usable, self._slices)
        low, high = spans.low, spans.high
        if usable != shift:  # otherwise the bars are complete bins
            low, high = _whole_bins(rows, spans, shift)
        return Pieces(level, usable == shift, level.find(low + 1) - 1, level.find(high))

    def bars(self, pieces: Pieces, shift: int) -> Bars:
        """Bars of 2^shift ns merged from the pieces."""
        level, counts = pieces.level, pieces.high - pieces.low
        span = np.repeat(np.arange(len(counts)), counts)
        at = np.arange(len(span)) + (pieces.high - np.cumsum(counts))[span]
        heads = np.append(0, _heads(level.start(at), span, shift)) if len(at) and not pieces.is_final else at
        if len(heads) == len(at):
            return Bars(level, at, at, at + 1, span)
        ends = np.append(heads, len(at))
        longest = at[_longest(level.of_longest("dur", at), ends)]
        return Bars(level, at[heads], longest, at[ends[1:] - 1] + 1, span[heads])


def _whole_bins(rows: RowTable, spans: Spans, shift: int) -> tuple[Index, Index]:
    """Widen the spans to all slices that start in the bins of their first and last slices."""
    begin = rows.start[spans.low] >> shift << shift
    stop = ((rows.start[spans.high - 1] >> shift) + 1) << shift
    low, high = spans.low.copy(), spans.high.copy()
    for index, row in enumerate(spans.row.tolist()):
        first, end = rows.bounds(row)
        starts = rows.start[first:end]
        low[index] = first + starts.searchsorted(begin[index])
        high[index] = first + starts.searchsorted(stop[index])
    return low, high
