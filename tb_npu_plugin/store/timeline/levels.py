"""Levels of detail of slices: per row and power-of-two time bin one bar, with its first and its longest slice, the longest
one that does not wait, and the time of those that wait.

Bins of a level nest in those of coarser levels, so each level is built from the one below, and a query reads the
coarsest level that is not coarser than requested. The bars of a row partition its slices. Coarse levels also hold
the times, names and categories of their bars. Otherwise each bar would read another page of the files of the slices.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.schema.trace_events import WAITS
from tb_npu_plugin.store.timeline.columns import ColumnFile
from tb_npu_plugin.store.timeline.files import Texts, load
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
#: More columns where slices of the trace wait.
_WAITING = {"work": np.uint32, "wait": np.int64}
_WAITING_VALUES = {"work_dur": np.int64, "work_name": np.int32, "work_category": np.int32}
#: A level holds values if it has at most one bar for this many slices.
VALUES_FROM = 8
#: A bin of 2^this ns holds all slices: all times lie within 2^62 ns.
EVERYTHING = 62
#: No slice is as long, ns.
_MOST = 1 << 62
#: Bars per merge step: a trace has millions.
_PIECE = 1 << 18
#: A level is stored if it has at most this share of the bars of the level below.
_MAX_SHARE = 0.6


@dataclass(frozen=True)
class SliceColumns:
    """What is drawn of slices, by id. busy: see Timeline.busy; waits: whether slices with a value of `name` wait; the last also for
    all larger values."""

    start: Index
    dur: Index
    busy: Index
    name: Index
    category: Index
    waits: NDArray[np.bool_]

    @staticmethod
    def load(folder: Path) -> SliceColumns:
        """The columns of a timeline folder."""
        return SliceColumns(*(load(folder, name) for name in ("start", "dur", "busy", "name", "category", "waits")))

    @property
    def has_waits(self) -> bool:
        """Whether any of the slices waits."""
        return len(self.waits) > 1

    def wait(self, ids: Index) -> Index:
        """ns that slices wait: all of their time, or nothing."""
        return self.dur[ids] * self._waits(ids)

    def work_dur(self, ids: Index) -> Index:
        """Durations; of slices that wait negative ones, in the same order."""
        dur = self.dur[ids]
        return dur - self._waits(ids) * np.int64(_MOST)

    def _waits(self, ids: Index) -> NDArray[np.bool_]:
        return self.waits.take(self.name[ids], mode="clip")


def waiting_names(names: Texts) -> NDArray[np.bool_]:
    """SliceColumns.waits of these names."""
    found = names.with_match([re.compile(rb"(?i)wait")]).tolist()
    codes = [one for one in found if WAITS.match(names[one])]
    waits = np.zeros(max(codes, default=-1) + 2, dtype=np.bool_)
    waits[codes] = True
    return waits


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

    @property
    def has_waits(self) -> bool:
        """Whether slices of the trace wait."""
        return self._slices.has_waits

    def work(self, at: Index) -> Index:
        """Longest slice that does not wait, else the longest."""
        return self._columns["work"][at] if "work" in self._columns else self.longest(at)

    def of_work(self, column: str, at: Index) -> Index:
        """name or category of this slice."""
        if f"work_{column}" in self._columns:
            return self._columns[f"work_{column}"][at]
        values: Index = getattr(self._slices, column)[self.work(at)]
        return values

    def work_dur(self, at: Index) -> Index:
        """SliceColumns.work_dur of this slice."""
        return self._columns["work_dur"][at] if "work_dur" in self._columns else self._slices.work_dur(self.work(at))

    def wait(self, at: Index) -> Index:
        """ns of the slices that wait."""
        return self._columns["wait"][at] if "wait" in self._columns else self._slices.wait(self.first(at))

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
    """Bars made of consecutive bars of `level`: the first of them, those with the longest slice and with the longest one that
    does not wait, and that after the last. wait: ns of the slices that wait; span: index of the span of each."""

    level: Level
    head: Index
    longest: Index
    work: Index
    wait: Index
    after: Index
    span: Index


@dataclass
class _LevelBars:
    """Bars of consecutive slices, sorted by first: see Level. wait: None: of the slices themselves."""

    first: Index
    longest: Index
    work: Index
    wait: Index | None = None


def _merge(bars: _LevelBars, slices: SliceColumns, row: Index, shift: int) -> _LevelBars:
    """Merge the bars of a row whose first slices start in the same bin of 2^shift ns. row: row of each bar.

    Returns the bars unchanged if more than _MAX_SHARE of them would be left."""
    if not len(bars.first):
        return bars
    heads = _bar_heads(bars.first, slices, row, shift)
    if len(heads) > _MAX_SHARE * len(bars.first):
        return bars
    longest = np.empty(len(heads), dtype=bars.longest.dtype)
    has_waits = slices.has_waits
    work, wait = (np.empty_like(longest), np.empty(len(heads), dtype=np.int64)) if has_waits else (longest, None)
    ends = np.append(heads, len(bars.first))
    cuts = np.unique(np.searchsorted(heads, np.arange(0, len(bars.first), _PIECE)))
    for low, high in zip(cuts.tolist(), [*cuts[1:].tolist(), len(heads)]):
        part, groups = slice(ends[low], ends[high]), ends[low : high + 1] - ends[low]
        candidates = bars.longest[part]
        longest[low:high] = candidates[longest_of(slices.dur[candidates], groups)]
        if wait is not None:
            candidates = bars.work[part]
            work[low:high] = candidates[longest_of(slices.work_dur(candidates), groups)]
            waits = slices.wait(bars.first[part]) if bars.wait is None else bars.wait[part]
            wait[low:high] = np.add.reduceat(waits, groups[:-1])
    return _LevelBars(bars.first[heads], longest, work, wait)


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


def longest_of(dur: Index, ends: Index) -> Index:
    """Index of the longest of each group, the first of equally long ones. ends: bounds of the groups."""
    most = np.maximum.reduceat(dur, ends[:-1])
    group = np.repeat(np.arange(len(most), dtype=np.int32), np.diff(ends))
    hits = np.flatnonzero(dur == most[group])
    return np.asarray(hits[np.append(True, group[hits[1:]] != group[hits[:-1]])])


def save_levels(folder: Path, slices: SliceColumns, rows: RowTable) -> list[tuple[int, int]]:
    """Write the levels, see _MAX_SHARE. Returns (shift, number of bars) of each."""
    count = len(slices.start)
    every = np.arange(count, dtype=np.uint32)
    bars = _LevelBars(every, every, every)
    row = np.repeat(np.arange(len(rows.first) - 1, dtype=np.int32), np.diff(rows.first))
    stored_levels = []
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(closing(ColumnFile(folder, f"level_{name}", dtype)))
            for name, dtype in (_COLUMNS | _VALUES | _WAITING | _WAITING_VALUES).items()
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
            if bars.wait is not None:
                columns |= {"work": np.append(bars.work, np.uint32(0)), "wait": np.append(bars.wait, 0)}
            level, all_bars = Level(slices, columns), np.arange(len(bars.first))
            if _has_values(len(all_bars), count):
                columns.update({name: np.append(getattr(level, name)(all_bars), 0) for name in ("start", "end")})
                columns["busy"] = level.busy(np.arange(len(all_bars) + 1))
                for name in ("dur", "name", "category"):
                    columns[name] = np.append(level.of_longest(name, all_bars), 0)
                if bars.wait is not None:
                    columns["work_dur"] = np.append(level.work_dur(all_bars), 0)
                    for name in ("name", "category"):
                        columns[f"work_{name}"] = np.append(level.of_work(name, all_bars), 0)
            for name, values in columns.items():
                files[name].append(values)
    return stored_levels


def _has_values(bars: int, slices: int) -> bool:
    """Whether a level with so many bars holds _VALUES."""
    return bars * VALUES_FROM <= slices


class Levels:
    """The levels of a timeline folder. stored_levels: what save_levels returned."""

    def __init__(self, folder: Path, stored_levels: Sequence[tuple[int, int]], slices: SliceColumns) -> None:
        always, valued = (_COLUMNS | _WAITING, _VALUES | _WAITING_VALUES) if slices.has_waits else (_COLUMNS, _VALUES)
        files = {name: load(folder, f"level_{name}") for name in (*always, *valued)}
        left = dict.fromkeys(files, 0)
        self._slices = Level(slices)
        self._levels: dict[int, Level] = {}
        for shift, count in stored_levels:
            columns = {}
            for name in (*always, *(valued if _has_values(count, len(slices.start)) else ())):
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
        wait = level.wait(at) if level.has_waits else np.zeros_like(at)
        if len(heads) == len(at):
            return Bars(level, at, at, at, wait, at + 1, span)
        ends = np.append(heads, len(at))
        longest = work = at[longest_of(level.of_longest("dur", at), ends)]
        if level.has_waits:
            work = at[longest_of(level.work_dur(at), ends)]
            wait = np.add.reduceat(wait, heads)
        return Bars(level, at[heads], longest, work, wait[: len(heads)], at[ends[1:] - 1] + 1, span[heads])


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
