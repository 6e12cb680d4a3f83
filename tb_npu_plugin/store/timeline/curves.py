"""Counter curves with levels of detail: per bin the time of the first point, minimum, maximum and last value."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.store.timeline.columns import ColumnFile
from tb_npu_plugin.store.timeline.files import load
from tb_npu_plugin.store.timeline.levels import EVERYTHING
from tb_npu_plugin.tables import IntArray

Floats = NDArray[np.float64]
Index = NDArray[Any]

#: Bin sizes of the levels: 2^shift ns.
SHIFTS = tuple(range(10, 50))
#: A level is stored if it has at most this share of the points of the level below.
_MAX_SHARE = 0.6
#: Approximate maximum of points per series in a response.
MAX_POINTS = 8_000
#: Points per piece of a summary.
PIECE = 1 << 17
_FILES = {"curve_first": np.int64, "curve_low": np.float64, "curve_high": np.float64, "curve_series": np.int64}


@dataclass
class _Bins:
    """Merged consecutive points. first: index of the first point of each bin; low, high: its extremes."""

    first: Index
    low: Floats
    high: Floats

    def part(self, start: int, stop: int) -> _Bins:
        return _Bins(self.first[start:stop], self.low[start:stop], self.high[start:stop])


def _merge(bins: _Bins, time: IntArray, shift: int, fresh: Index | None = None, most: float = np.inf) -> _Bins:
    """Merge bins that start in the same 2^shift ns, unless more than `most` are left. fresh: first points of series."""
    if not len(bins.first):
        return bins
    number = time[bins.first] >> shift
    starts = np.append(True, number[1:] != number[:-1])
    if fresh is not None:
        starts[np.searchsorted(bins.first, fresh)] = True
    heads = np.flatnonzero(starts)
    if len(heads) == len(number) or len(heads) > most:
        return bins
    return _Bins(bins.first[heads], np.minimum.reduceat(bins.low, heads), np.maximum.reduceat(bins.high, heads))


def save_curves(folder: Path, time: IntArray, value: Floats, ends: Index) -> list[tuple[int, int]]:
    """Write the levels of all series. Returns (shift, number of bins) of each level.

    Args:
        time, value: Points sorted by series, then time.
        ends: Index after the last point of each series; no series is empty.
    """
    starts = np.append(0, ends[:-1])[: len(ends)]
    bins = _Bins(np.arange(len(time)), value, value)
    stored_levels = []
    with ExitStack() as stack:
        files = [stack.enter_context(closing(ColumnFile(folder, name, dtype))) for name, dtype in _FILES.items()]
        for shift in SHIFTS:
            before = len(bins.first)
            merged = _merge(bins, time, shift, starts, _MAX_SHARE * before)
            if len(merged.first) == before:
                continue
            bins = merged
            stored_levels.append((shift, len(bins.first)))
            bounds = np.searchsorted(bins.first, np.append(starts, len(time)))
            for file, column in zip(files, (bins.first, bins.low, bins.high, bounds)):
                file.append(column)
    return stored_levels


@dataclass
class Curve:
    """One counter series in a window: per non-empty bin the time of its first point, minimum, maximum, last value."""

    name: str
    time: IntArray
    low: Floats
    high: Floats
    last: Floats


@dataclass
class CurveSummary:
    """A counter series in a range. mean: by time, over the part of the range in which the value is known. None: no
    value."""

    name: str
    least: Optional[float]
    mean: Optional[float]
    most: Optional[float]


class Curves:
    """The counters of a timeline folder. stored_levels: what save_curves returned."""

    def __init__(self, folder: Path, stored_levels: Sequence[tuple[int, int]]) -> None:
        self.time, self.value = load(folder, "counter_time"), load(folder, "counter_value")
        first, low, high, bounds = (load(folder, name) for name in _FILES)
        width = len(bounds) // max(len(stored_levels), 1)
        self._levels: dict[int, tuple[_Bins, Index]] = {}
        start = 0
        for number, (shift, count) in enumerate(stored_levels):
            bins = _Bins(first, low, high).part(start, start + count)
            self._levels[shift] = bins, bounds[number * width : (number + 1) * width]
            start += count

    def curves(
        self, series: Sequence[tuple[str, int, int, int]], t0: int, t1: int, shift: int, most: int = MAX_POINTS
    ) -> tuple[list[Curve], int]:
        """(curves, shift of their bins) of series in [t0, t1).

        Args:
            series: (name, number, first point, end) of each.
            shift: Bins of 2^shift ns; wider if a series would have more than `most` bins.

        Each curve starts with the value in force at t0.
        """
        while True:
            found = [self._bins(one, t0, t1, shift, 2 * most) for one in series]
            if all(bins is not None and len(bins.first) <= most for bins in found) or shift >= EVERYTHING:
                break
            shift = min((level for level in self._levels if level > shift), default=EVERYTHING)
        return [self._curve(one, bins, t1) for one, bins in zip(series, found) if bins is not None], shift

    def summary(self, series: tuple[str, int, int, int], t0: int, t1: int) -> CurveSummary:
        """Least, mean and most of a series in [t0, t1), from all its points: a value holds until the next one."""
        name, _, start, end = series
        times = self.time[start:end]
        first = start + max(int(np.searchsorted(times, t0, side="right")) - 1, 0)  # the value in force at t0
        stop = start + int(np.searchsorted(times, t1, side="left"))
        if first >= stop:
            return CurveSummary(name, None, None, None)
        least, most, area = np.inf, -np.inf, 0.0
        for begin in range(first, stop, PIECE):
            last = min(begin + PIECE, stop)
            value, time = self.value[begin:last], np.maximum(self.time[begin : last + 1], t0)
            until = time[1:] if last < stop else np.append(time[1 : last - begin], t1)
            least, most = min(least, float(value.min())), max(most, float(value.max()))
            area += float((value * (until - time[: last - begin])).sum())
        return CurveSummary(name, least, area / (t1 - max(int(self.time[first]), t0)), most)

    def _curve(self, series: tuple[str, int, int, int], bins: _Bins, t1: int) -> Curve:
        name, _, start, end = series
        stop = start + int(np.searchsorted(self.time[start:end], t1, side="left"))
        last = np.append(bins.first[1:], stop)[: len(bins.first)] - 1
        return Curve(name, self.time[bins.first], bins.low, bins.high, self.value[last])

    def _bins(self, series: tuple[str, int, int, int], t0: int, t1: int, shift: int, most: int) -> _Bins | None:
        """The bins of a series in a window, after a separate bin for the value in force at t0. None if far more than
        `most`, unless `shift` is EVERYTHING."""
        _, number, start, end = series
        times = self.time[start:end]
        force = start + int(np.searchsorted(times, t0, side="right")) - 1
        first, stop = force + 1, start + int(np.searchsorted(times, t1, side="left"))
        parts = [self._raw_bins(force, min(force + 1, stop))] if force >= start else []
        if first < stop:
            # The window cuts the first and the last bin: these are built from their points.
            inner = min(start + self._index_at(times, ((int(self.time[first]) >> shift) + 1) << shift), stop)
            outer = max(start + self._index_at(times, int(self.time[stop - 1]) >> shift << shift), inner)
            whole = self._whole_bins(number, inner, outer, shift)
            if len(whole.first) > most and shift < EVERYTHING:
                return None
            parts += [
                _merge_all(self._raw_bins(first, inner)),
                _merge(whole, self.time, shift),
                _merge_all(self._raw_bins(outer, stop)),
            ]
        if not parts:
            return self._raw_bins(start, start)
        return _Bins(*(np.concatenate([getattr(part, key) for part in parts]) for key in ("first", "low", "high")))

    @staticmethod
    def _index_at(times: IntArray, time: int) -> int:
        return int(np.searchsorted(times, time, side="left"))

    def _raw_bins(self, start: int, stop: int) -> _Bins:
        value = self.value[start:stop]
        return _Bins(np.arange(start, max(start, stop)), value, value)

    def _whole_bins(self, number: int, start: int, stop: int, shift: int) -> _Bins:
        """Bins of at most 2^shift ns of the points [start, stop), which must fill complete bins of 2^shift ns."""
        level = max((one for one in self._levels if one <= shift), default=None)
        if level is None or start >= stop:
            return self._raw_bins(start, stop)
        bins, bounds = self._levels[level]
        low, high = int(bounds[number]), int(bounds[number + 1])
        part = bins.part(low, high)
        return part.part(*np.searchsorted(part.first, [start, stop]).tolist())


def _merge_all(bins: _Bins) -> _Bins:
    """All bins merged into one; unchanged if empty."""
    if not len(bins.first):
        return bins
    return _Bins(bins.first[:1], bins.low.min(keepdims=True), bins.high.max(keepdims=True))
