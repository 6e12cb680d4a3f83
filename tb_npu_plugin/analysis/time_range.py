"""Rows of a table in a time range."""

from __future__ import annotations

import numpy as np

from tb_npu_plugin.tables import Table, known


def in_range(table: Table, start_ns: int, end_ns: int) -> Table:
    """Rows with `start_ns` and `dur_ns` that overlap [start_ns, end_ns), or start in it; whole rows, as in the statistics
    of the timeline. Times are ns since the epoch. A row without a known start is in no range; an unknown duration counts
    as 0."""
    start, dur = table.ints("start_ns"), table.ints("dur_ns")
    until = start + np.where(known(dur), dur, 0)
    return table.take(known(start) & (start < end_ns) & ((until > start_ns) | (start >= start_ns)))
