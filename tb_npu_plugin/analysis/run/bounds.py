"""Bounds of waiting by the bytes that operators move, for waits that neither tasks nor other ranks show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.communication.statistics import base_names, traffic_of
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS
from tb_npu_plugin.tables import IntArray, Table, known

#: A receive that does not wait takes at most (factor x time of its link + extra time).
_RECEIVE_FACTOR, _RECEIVE_EXTRA_NS = 3, 50_000
#: Waits below this are noise.
_LEAST_WAIT_NS = 50_000
#: Least share of the communication of a step that its operators cover. Below it, the recording was cut: no bounds.
_LEAST_COVERED = 0.99


def bounds_of(
    run: RunCommunication, at: int, rows: IntArray, unknown: IntArray, communication: int
) -> Optional[dict[str, tuple[int, int]]]:
    """Bounds of the waiting in a step, exposed or hidden.

    Lower bound: by how much longer an operator takes than another one of its group and type for as many bytes.
    Upper bound: the time in which its links move no data.

    Args:
        rows: Operators of the step.
        unknown: Operators of `rows` with unknown waits; the bounds are of these.
        communication: Communication of the step, exposed and hidden, ns.

    Returns:
        Detail of the entry, "collective" or "p2p" -> (lower, upper), ns. None if times are missing or were cut.
    """
    line, table = run.lines[at], run.collectives[at]
    bandwidth = line.span.table("comm_bandwidth")
    if table is None or line.comm_ops is None or bandwidth is None or not len(rows):
        return None
    ops = table.take(rows)
    elapse = ops.ints("elapse_ns")
    if not known(elapse).all() or elapse.sum() < _LEAST_COVERED * communication:
        return None
    size, link = traffic_of(ops, bandwidth)
    link = np.where(known(link) & (link != elapse), link, 0)  # Kineto: the operator's time, not a link's
    is_p2p = ops.text("kind").equals(COMM_KINDS[0]) if ops.has("kind") else np.zeros(len(ops), dtype=bool)
    receives = is_p2p & (size > 0)
    peers = np.array([max(1, run.group_size(group) - 1) for group in ops.text("group").tolist()])
    high = np.maximum(elapse - link // np.where(is_p2p, 1, peers), 0)
    low = np.where(receives, elapse - _RECEIVE_FACTOR * link - _RECEIVE_EXTRA_NS, 0)
    low = np.maximum(np.where(is_p2p, low, elapse - _shortest(ops, elapse, size)), 0)
    is_unknown = np.isin(rows, unknown)
    chosen = {"collective": is_unknown & ~is_p2p, "p2p": is_unknown & is_p2p}
    bounds = {detail: (int(low[own].sum()), int(high[own].sum())) for detail, own in chosen.items()}
    return {detail: (lower, upper) for detail, (lower, upper) in bounds.items() if upper >= _LEAST_WAIT_NS}


def whole_times(ops: Table, rows: IntArray) -> dict[str, tuple[int, int]]:
    """Bounds of the waiting of some operators of which only the times are known: nothing, or all of it."""
    elapse = np.maximum(ops.ints("elapse_ns")[rows], 0)
    is_p2p = ops.text("kind").equals(COMM_KINDS[0])[rows] if ops.has("kind") else np.zeros(len(rows), dtype=bool)
    chosen = {"collective": ~is_p2p, "p2p": is_p2p}
    bounds = {detail: (0, int(elapse[own].sum())) for detail, own in chosen.items()}
    return {detail: one for detail, one in bounds.items() if one[1] >= _LEAST_WAIT_NS}


def not_covered(ops: Table, communication: int) -> int:
    """Communication of a step that its operators do not cover, since the recording was cut, ns."""
    elapse = ops.ints("elapse_ns")
    covered = int(elapse[known(elapse)].sum())
    return communication - covered if covered < _LEAST_COVERED * communication else 0


def _shortest(ops: Table, elapse: IntArray, size: IntArray) -> IntArray:
    """Least time that an operator of the same group and type takes for as many bytes, by row, ns.

    The time of a larger operator counts as it is. The time of a smaller one is scaled up by the bytes. An operator with
    unknown bytes keeps its own time.
    """
    out = elapse.copy()
    for rows in Groups([ops.text("group"), base_names(ops.text("name"))], len(ops)).rows():
        rows = rows[known(size[rows])]
        out[rows[size[rows] == 0]] = elapse[rows].min(initial=np.iinfo(np.int64).max)
        moved = rows[size[rows] > 0]
        moved = moved[np.argsort(size[moved], kind="stable")]
        if len(moved):
            slowness = elapse[moved] / size[moved]
            fastest = np.minimum.accumulate(slowness)  # of those that move as many bytes or fewer
            larger = np.minimum.accumulate(elapse[moved][::-1])[::-1]
            out[moved] = np.minimum(larger, np.round(fastest * size[moved], 3))
    return out


def exposed_bounds(
    bounds: Mapping[str, tuple[int, int]], exposed_ns: int, hidden_ns: int
) -> dict[str, tuple[int, int]]:
    """Bounds of exposed waiting. exposed_ns, hidden_ns: communication of the step that may be waiting."""
    out = {}
    for detail, (low, high) in sorted(bounds.items(), key=lambda one: -one[1][0]):
        out[detail] = max(0, low - hidden_ns), min(high, exposed_ns)
        hidden_ns = max(0, hidden_ns - low)
    return out
