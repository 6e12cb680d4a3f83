"""Host time without the computation of stand-in kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from tb_npu_plugin.capture.simulation.records import Ints


class HostClock:
    """Stands still while the CPU computes in place of the device. begins, ends: of what it computed, by begin, ns."""

    def __init__(self, begins: Ints, ends: Ints) -> None:
        ends = np.maximum.accumulate(ends)
        is_first = np.ones(len(begins), dtype=bool)  # of those that overlap
        is_first[1:] = begins[1:] > ends[:-1]
        self._begins: Ints = begins[is_first]
        self._ends: Ints = ends[np.append(is_first[1:], True)[: len(begins)]]
        self._removed: Ints = np.concatenate([[0], np.cumsum(self._ends - self._begins)])

    def __call__(self, times: Any) -> Any:
        """Times, or one, without what was computed before."""
        if not len(self._begins):
            return np.asarray(times)
        place = np.searchsorted(self._begins, times, "right")
        inside = np.where(place > 0, np.maximum(0, self._ends[np.maximum(place - 1, 0)] - times), 0)
        return np.asarray(times) - self._removed[place] + inside
