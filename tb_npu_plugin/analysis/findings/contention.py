"""Collectives that are slow while matrix products compute: both load the memory."""

from __future__ import annotations

from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin import intervals
from tb_npu_plugin.analysis.communication.statistics import base_names
from tb_npu_plugin.analysis.findings.model import Finding, Rule, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData, median_of
from tb_npu_plugin.analysis.findings.text import duration, speed
from tb_npu_plugin.analysis.findings.transfers import (
    EXPECTED,
    LEAST_UNALIGNED,
    exposed_time,
    is_costly,
    missing_table,
    share_of_unaligned,
    transfer_finding,
)
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.kernels.meaning import CLASSES, PRODUCTS, classes
from tb_npu_plugin.analysis.run.devices import RankDevice
from tb_npu_plugin.intervals import Intervals
from tb_npu_plugin.messages import Message
from tb_npu_plugin.tables import FloatArray, IntArray, Table, known

_MATMUL = [CLASSES.index(name) for name in PRODUCTS]
_SDMA = ("HCCS", "SIO", "PCIE")
#: Expected bandwidth of SDMA, 1e9 bytes per second.
_LEAST_BANDWIDTH = EXPECTED["HCCS"]
#: Largest bandwidth of a slow operator, relative to those that run alone.
_SLOW = 0.8


def find(run: RunData) -> list[Finding]:
    """The rank that loses most."""
    found = [(*one, line.span) for at, line in enumerate(run.communication.lines) if (one := _of_line(run, at, line))]
    if not found:
        return []
    cost, time, bandwidth, count, span = max(found, key=lambda one: one[0])
    if not is_costly(run, cost):
        return []
    message = Message("finding.contention", count=count, speed=speed(bandwidth), time=duration(time))
    return [transfer_finding(RULE, run, span, message, cost, (Message("fix.contention"),), Message("check.contention"))]


def _of_line(run: RunData, at: int, line: RankDevice) -> Optional[tuple[float, float, float, int]]:
    """(lost time, transfer time beside matrix products, bandwidth, number of operators) of a rank; ns per step. Only
    operators that are well slower than those of their type that run alone."""
    ops, matmul = line.comm_ops, _matmul(line)
    found = None if ops is None else _bandwidth(ops, line.span.table("comm_bandwidth"))
    if ops is None or matmul is None or found is None:
        return None
    start, end = run.communication.transfer_times(at)
    shared = intervals.covered_until(matmul, end) - intervals.covered_until(matmul, start)
    transit = np.maximum(ops.ints("transit_ns"), 0)
    limit = _limits(ops, line.span.table("comm_packets"), found, shared == 0)
    slow = (found > 0) & (found < _SLOW * limit) & (shared > 0) & run.is_averaged(ops)
    if not slow.any():
        return None
    count = run.step_count
    lost = min((transit * (1 - found / np.maximum(limit, 1e-9)))[slow].sum(), exposed_time(run, at, slow))
    return lost / count, float(transit[slow].sum()) / count, float(np.mean(found[slow])), int(np.count_nonzero(slow))


def _limits(ops: Table, packets: Optional[Table], found: FloatArray, alone: NDArray[np.bool_]) -> FloatArray:
    """Bandwidth of each operator without contention: the median of those of its type that run alone. Where none does, the
    usual one, unless packets are not aligned: that slows them, too. 0 if unknown."""
    alone = alone & (found > 0)
    limits = np.zeros(len(ops))
    names = base_names(ops.text("name"))
    for kind in np.unique(names.codes).tolist():
        own = found[alone & (names.codes == kind)]
        limits[names.codes == kind] = min(_LEAST_BANDWIDTH, median_of(own.tolist())) if len(own) else 0.0
    if not alone.any() and (packets is None or share_of_unaligned(packets, "HCCS") < LEAST_UNALIGNED):
        limits[:] = _LEAST_BANDWIDTH
    return limits


def _matmul(line: RankDevice) -> Optional[Intervals]:
    kernels = line.kernels()
    if kernels is None:
        return None
    kernels = kernels.take(known(kernels.ints("start_ns")) & known(kernels.ints("dur_ns")))
    kernels = kernels.take(np.isin(classes(kernels), _MATMUL))
    start: IntArray = kernels.ints("start_ns")
    return intervals.union(start, start + kernels.ints("dur_ns"))


def _bandwidth(ops: Table, bandwidth: Optional[Table]) -> Optional[FloatArray]:
    """Bandwidth of the SDMA transfers of each operator, 1e9 bytes per second; 0 if unknown."""
    if bandwidth is None:
        return None
    rows = bandwidth.take(bandwidth.text("transport").isin(_SDMA) & (bandwidth.ints("rollup") != 1))
    rows = rows.take(known(rows.ints("size_bytes")) & (rows.ints("time_ns") > 0))
    keys = ("step", "kind", "name", "group")
    groups = Groups([rows.text(key) for key in keys], len(rows))
    speeds = groups.sum(rows.ints("size_bytes")) / np.maximum(groups.sum(rows.ints("time_ns")), 1)
    index = dict(zip(zip(*(rows.text(key).take(groups.first).tolist() for key in keys)), speeds.tolist()))
    return np.array([index.get(place, 0.0) for place in zip(*(ops.text(key).tolist() for key in keys))])


def missing(run: RunData) -> Optional[Unchecked]:
    """Transports of the operators."""
    return missing_table(run, RULE.id, "comm_bandwidth")


RULE = Rule("contention", "communication", find, missing, device="NPU", needs_ranks=True)
