"""What is in a time range."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.tables import IntArray, known


def overlaps(start: IntArray, dur: IntArray, range_start: int, range_end: int) -> NDArray[np.bool_]:
    """Mask of what overlaps [range_start, range_end), or starts in it, as in the statistics of the timeline. What has no
    known start is in no range; an unknown duration counts as 0."""
    until = start + np.where(known(dur), dur, 0)
    return known(start) & (start < range_end) & ((until > range_start) | (start >= range_start))
