"""When a span was recorded, and which times cannot be right: one row that is years off would stretch every view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.tables import NULL_INT, IntArray, known

#: A recording does not pause for longer, ns: a device that waits for another one gives up after half an hour, or the few
#: hours that it was set to. Times that are broken (0, ticks of a counter, time since the start of the machine, flipped
#: bits) are months off and more.
LONGEST_PAUSE = 24 * 3600 * 10**9
#: Times further from the epoch than this, 146 years in ns, are no times: no sum of two leaves int64.
FAR = 2**62
#: Times that are looked at at once: long columns lie in files.
_PIECE = 1 << 20
#: As many as the processor's cache holds.
_CACHED = 1 << 16


def in_time(times: IntArray) -> NDArray[np.bool_]:
    """Mask of the times, ns since the epoch, that are known and can be."""
    return np.asarray((times > -FAR) & (times < FAR))  # NULL_INT is below


@dataclass(frozen=True)
class Window:
    """From `first` to `last`, ns since the epoch: times beyond are none of the recording."""

    first: int
    last: int

    def strays(self, times: IntArray) -> NDArray[np.bool_]:
        """Mask of the known times that lie outside."""
        return np.asarray(((times < self.first) | (times > self.last)) & known(times))

    def late_ends(self, start: IntArray, dur: IntArray) -> NDArray[np.bool_]:
        """Mask of what starts inside and ends beyond; what lacks a time or a duration does not."""
        inside = known(start) & known(dur) & ~self.strays(start)
        return np.asarray(inside & (dur > self.last - np.where(inside, start, self.first)))


def window_of(times: Sequence[IntArray]) -> Window | None:
    """The window of a recording with these times, ns, NULL_INT where unknown; None where none is known and can be.

    Of times that a longer pause than LONGEST_PAUSE parts, those around the one in the middle count.
    """
    extents = [extent for column in times if (extent := _extent(column)) is not None]
    if not extents:
        return None
    first, last = min(low for low, _ in extents), max(high for _, high in extents)
    if last - first > LONGEST_PAUSE:
        every = np.sort(np.concatenate([column[in_time(column)] for column in times]))
        # As floats: the difference of two int64 may be none. They are exact enough for a day.
        ends = np.flatnonzero(np.diff(every.astype(np.float64)) > LONGEST_PAUSE)
        stretch = int(np.searchsorted(ends, len(every) // 2))
        first = int(every[ends[stretch - 1] + 1]) if stretch else first
        last = int(every[ends[stretch]]) if stretch < len(ends) else last
    return Window(first - LONGEST_PAUSE, last + LONGEST_PAUSE)


def is_short(times: IntArray, dur: IntArray) -> bool:
    """Whether all times, ns, NULL_INT where unknown, lie within LONGEST_PAUSE, and no duration is longer: then none of
    them is a stray. Much cheaper than to look for strays."""
    low, high, longest = FAR, -FAR, 0
    for begin in range(0, len(times), _CACHED):
        piece, longest = times[begin : begin + _CACHED], max(longest, int(dur[begin : begin + _CACHED].max()))
        if int(piece.min()) == NULL_INT:
            piece = piece[known(piece)]
        if len(piece):
            low, high = min(low, int(piece.min())), max(high, int(piece.max()))
    return low > -FAR and high < FAR and max(high - low, longest) <= LONGEST_PAUSE


def _extent(times: IntArray) -> tuple[int, int] | None:
    """First and last time."""
    low, high = FAR, -FAR
    for begin in range(0, len(times), _PIECE):
        piece = times[begin : begin + _PIECE]
        piece = piece[in_time(piece)]
        if len(piece):
            low, high = min(low, int(piece.min())), max(high, int(piece.max()))
    return None if high < low else (low, high)
