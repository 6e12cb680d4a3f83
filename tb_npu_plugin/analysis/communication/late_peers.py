"""For whom a collective operator waited: the tasks that wait for a notification of each peer, in the trace of one rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tb_npu_plugin.tables import IntArray

#: Shorter waits tell nothing, ns; nor do those that are a smaller share of their operator.
LEAST_WAIT, LEAST_SHARE = 200_000, 0.1


@dataclass(frozen=True)
class Tasks:
    """Tasks of a row of the trace by start, ns, and what they are known by."""

    start: IntArray
    dur: IntArray
    id: IntArray


def longest_first_waits(operators: Tasks, planes: Sequence[Tasks]) -> list[tuple[int, int]]:
    """(operator, task), as places in `operators` and as id: of each operator that waited long at its begin, the longest wait.

    planes: the tasks that wait, of each plane of the communicator. Each plane serves one peer, whose notification its first
    task waits for: that the peer has come to the operator, too. Later ones wait for data, whoever is late.
    """
    longest = np.zeros(len(operators.start), dtype=np.int64)
    task = np.full(len(operators.start), -1, dtype=np.int64)
    end = operators.start + operators.dur
    for plane in planes:
        first = np.searchsorted(plane.start, operators.start)
        inside = np.flatnonzero(first < len(plane.start))
        inside = inside[plane.start[first[inside]] < end[inside]]
        waits = plane.dur[first[inside]]
        longer = inside[waits > longest[inside]]
        longest[longer], task[longer] = plane.dur[first[longer]], plane.id[first[longer]]
    found = np.flatnonzero((longest >= LEAST_WAIT) & (longest >= LEAST_SHARE * operators.dur))
    return list(zip(found.tolist(), task[found].tolist()))
