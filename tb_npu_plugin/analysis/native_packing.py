"""Depth packing in C: same functions and results as `packing`. Raises ImportError if it was not built."""

from __future__ import annotations

import numpy as np

from tb_npu_plugin.analysis import _packing, packing
from tb_npu_plugin.analysis.packing import Int32
from tb_npu_plugin.tables import IntArray


def pack(start: IntArray, dur: IntArray) -> tuple[Int32, Int32]:
    """See packing.pack."""
    depth, parent = _packing.pack(_column(start), _column(dur), packing.MAX_DEPTH)
    return np.frombuffer(depth, dtype=np.int32), np.frombuffer(parent, dtype=np.int32)


def self_time(start: IntArray, dur: IntArray, parent: Int32) -> IntArray:
    """See packing.self_time."""
    above = np.ascontiguousarray(parent, dtype=np.int32)
    return np.frombuffer(_packing.self_time(_column(start), _column(dur), above), dtype=np.int64)


def _column(values: IntArray) -> IntArray:
    return np.ascontiguousarray(values, dtype=np.int64)
