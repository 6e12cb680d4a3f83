"""Percentiles of the durations of groups of slices: exact, in memory that does not grow with the number of slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]
#: Maximum number of counters; a step of the search divides them among the groups.
COUNTERS = 1 << 20
_MOST_BINS = 1024


def percentiles(
    pieces: Callable[[], Iterable[tuple[Index, Index]]],
    count: Index,
    least: Index,
    most: Index,
    percents: Sequence[int],
) -> list[Index]:
    """For each percent p the smallest duration of each group that at least p % of its slices do not exceed.

    Counts the durations in bins between known bounds, and repeats that inside the bin of the percentile until it is one
    value wide.

    Args:
        pieces: Gives (group, duration in ns) of all slices in pieces; called several times. A group of -1 is skipped.
        count, least, most: Number of slices, shortest and longest duration of each group.
    """
    groups = len(count)
    low, high = np.tile(least, len(percents)), np.tile(most, len(percents))
    before = np.zeros(len(low), dtype=np.int64)  # slices of the group that are shorter than `low`
    rank = np.concatenate([-(-count * percent // 100) for percent in percents] or [before])
    bins = int(np.clip(COUNTERS // max(len(low), 1), 2, _MOST_BINS))
    while (low < high).any():
        width = (high - low) // bins + 1
        counts = np.zeros(len(low) * bins, dtype=np.int64)
        for group, dur in pieces():
            for number in range(len(percents)):
                target = group + number * groups
                counted = (group >= 0) & (dur >= low[target]) & (dur <= high[target])
                target, own = target[counted], dur[counted]
                np.add.at(counts, target * bins + (own - low[target]) // width[target], 1)
        total = before[:, None] + np.cumsum(counts.reshape(-1, bins), axis=1)
        found = (total < rank[:, None]).sum(axis=1)  # the bin of the percentile
        before = np.where(found > 0, np.take_along_axis(total, np.maximum(found - 1, 0)[:, None], 1)[:, 0], before)
        low = low + found * width
        high = np.minimum(low + width - 1, high)
    return np.split(low, len(percents)) if percents else []
