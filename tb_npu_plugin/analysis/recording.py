"""Finds the time range of a recording and times outside it: one wrong time would stretch every view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.tables import NULL_INT, IntArray, known

#: Longest plausible pause in a recording, ns: a device times out on another one after half an hour, or after a
#: configured few hours. Invalid times (0, counter ticks, time since boot, flipped bits) are off by months or more.
LONGEST_PAUSE = 24 * 3600 * 10**9
#: Limit of plausible times, ns from the epoch (146 years): the sum of two fits int64.
MAX_TIME = 2**62
#: Number of times checked in one go: long columns are stored in files.
_PIECE = 1 << 20
#: Number of times that fit the processor's cache.
_CACHED = 1 << 16


def is_plausible(times: IntArray) -> NDArray[np.bool_]:
    """Mask of the known and plausible times, ns since the epoch."""
    return np.asarray((times > -MAX_TIME) & (times < MAX_TIME))  # NULL_INT is below


@dataclass(frozen=True)
class Window:
    """Time range of a recording from `first` to `last`, ns since the epoch."""

    first: int
    last: int

    def strays(self, times: IntArray) -> NDArray[np.bool_]:
        """Mask of the known times outside the range."""
        return np.asarray(((times < self.first) | (times > self.last)) & known(times))

    def late_ends(self, start: IntArray, dur: IntArray) -> NDArray[np.bool_]:
        """Mask of rows that start inside the range and end after it. Rows without a time or a duration are not
        included."""
        inside = known(start) & known(dur) & ~self.strays(start)
        return np.asarray(inside & (dur > self.last - np.where(inside, start, self.first)))


def window_of(times: Sequence[IntArray]) -> Window | None:
    """The window of a recording with these times, ns, NULL_INT where unknown; None if no time is plausible.

    If pauses above LONGEST_PAUSE split the times, the part with the median time counts.
    """
    extents = [extent for column in times if (extent := _time_range(column)) is not None]
    if not extents:
        return None
    first, last = min(low for low, _ in extents), max(high for _, high in extents)
    if last - first > LONGEST_PAUSE:
        every = np.sort(np.concatenate([column[is_plausible(column)] for column in times]))
        # As floats, since the difference of two int64 may overflow. Their error is far below a day.
        ends = np.flatnonzero(np.diff(every.astype(np.float64)) > LONGEST_PAUSE)
        stretch = int(np.searchsorted(ends, len(every) // 2))
        first = int(every[ends[stretch - 1] + 1]) if stretch else first
        last = int(every[ends[stretch]]) if stretch < len(ends) else last
    return Window(first - LONGEST_PAUSE, last + LONGEST_PAUSE)


def is_short(times: IntArray, dur: IntArray) -> bool:
    """Whether all times (ns, NULL_INT where unknown) lie within LONGEST_PAUSE, and no duration is longer. Then no time
    is a stray; this check is much cheaper than a search for strays."""
    low, high, longest = MAX_TIME, -MAX_TIME, 0
    for begin in range(0, len(times), _CACHED):
        piece, longest = times[begin : begin + _CACHED], max(longest, int(dur[begin : begin + _CACHED].max()))
        if int(piece.min()) == NULL_INT:
            piece = piece[known(piece)]
        if len(piece):
            low, high = min(low, int(piece.min())), max(high, int(piece.max()))
    return low > -MAX_TIME and high < MAX_TIME and max(high - low, longest) <= LONGEST_PAUSE


def _time_range(times: IntArray) -> tuple[int, int] | None:
    """First and last time."""
    low, high = MAX_TIME, -MAX_TIME
    for begin in range(0, len(times), _PIECE):
        piece = times[begin : begin + _PIECE]
        piece = piece[is_plausible(piece)]
        if len(piece):
            low, high = min(low, int(piece.min())), max(high, int(piece.max()))
    return None if high < low else (low, high)
