"""Finds the longest stretch in which nothing ran on a device, by step."""

from __future__ import annotations

from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.tables import IntArray, Table, known


def longest_idle(kernels: Table) -> dict[Optional[str], int]:
    """By step: the longest stretch before one of its kernels in which the device neither computed nor communicated, ns.

    The time between two steps belongs to the later one. There is none before the first kernel: what ran before the
    capture is unknown.
    """
    rows, idle = _idle(kernels)
    steps = kernels.text("step").take(rows)
    groups = Groups([steps], len(rows))
    return dict(zip(steps.take(groups.first).tolist(), groups.max(idle).tolist()))


def nth_longest_idle(kernels: Table, nth: int) -> Optional[int]:
    """The nth longest of these stretches in all steps, ns; None if there are fewer."""
    return nth_largest(_idle(kernels)[1], nth)


def nth_largest(values: IntArray, nth: int) -> Optional[int]:
    """The nth largest known value, from 1; None if there are fewer."""
    certain = values[known(values)]
    return None if len(certain) < nth else int(np.partition(certain, len(certain) - nth)[len(certain) - nth])


def _idle(kernels: Table) -> tuple[IntArray, IntArray]:
    """Rows with known times, and the idle time before each, ns."""
    start, took = kernels.ints("start_ns"), kernels.ints("dur_ns")
    rows = np.flatnonzero(known(start) & known(took))
    devices = kernels.ints("device_id")[rows]
    idle = np.zeros(len(rows), dtype=np.int64)
    for device in np.unique(devices):
        own = np.flatnonzero(devices == device)
        own = own[np.argsort(start[rows[own]], kind="stable")]
        starts = start[rows[own]]
        ends = np.maximum.accumulate(starts + took[rows[own]])
        idle[own[1:]] = np.maximum(starts[1:] - ends[:-1], 0)
    return rows, idle
