"""Least and largest waiting in communication operators by what they move, where neither tasks nor other ranks tell it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.communication.statistics import base_names, traffic_of
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS
from tb_npu_plugin.tables import IntArray, Table, known

#: A receive takes at most this many times the time of its link, and this much more, if it does not wait.
_RECEIVE_TIMES, _RECEIVE_MORE_NS = 3, 50_000
#: Waits below this are noise.
_LEAST_WAIT_NS = 50_000
#: Operators that cover less than this share of the communication of a step were cut, and tell nothing of it.
_LEAST_COVERED = 0.99


def bounds_of(
    run: RunCommunication, at: int, rows: IntArray, untold: IntArray, communication: int
) -> Optional[dict[str, tuple[int, int]]]:
    """Least and largest waiting, ns, in the collectives and in the receives of a step, exposed or not, by detail of the entry.

    rows, untold: operators of the step, and those of them that are asked for. communication: its whole communication, ns. None if the operators do not tell.

    An operator waits at least as long as it takes longer than another one of its group and type that moves as much, and at
    most as long as its link does not move data.
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
    link = np.where(known(link) & (link != elapse), link, 0)  # Kineto has no links: it gives the time of the operator
    is_p2p = ops.text("kind").equals(COMM_KINDS[0]) if ops.has("kind") else np.zeros(len(ops), dtype=bool)
    receives = is_p2p & (size > 0)
    peers = np.array([max(1, run.group_size(group) - 1) for group in ops.text("group").tolist()])
    high = np.maximum(elapse - link // np.where(is_p2p, 1, peers), 0)
    low = np.where(receives, elapse - _RECEIVE_TIMES * link - _RECEIVE_MORE_NS, 0)
    low = np.maximum(np.where(is_p2p, low, elapse - _shortest(ops, elapse, size)), 0)
    is_untold = np.isin(rows, untold)
    found = {"collective": is_untold & ~is_p2p, "p2p": is_untold & is_p2p}
    bounds = {detail: (int(low[of].sum()), int(high[of].sum())) for detail, of in found.items()}
    return {detail: one for detail, one in bounds.items() if one[1] >= _LEAST_WAIT_NS}


def _shortest(ops: Table, elapse: IntArray, size: IntArray) -> IntArray:
    """The least time that an operator of the same group and type would take for as many bytes, by row, ns. Its own time where
    the bytes are unknown."""
    out = elapse.copy()
    for rows in Groups([ops.text("group"), base_names(ops.text("name"))], len(ops)).rows():
        rows = rows[known(size[rows])]
        moved = rows[size[rows] > 0]
        for row in rows.tolist():
            if size[row]:
                out[row] = (elapse[moved] * np.maximum(1, size[row] / size[moved])).min()
            else:
                out[row] = elapse[rows].min()
    return out


def exposed_bounds(
    bounds: Mapping[str, tuple[int, int]], exposed_ns: int, hidden_ns: int
) -> dict[str, tuple[int, int]]:
    """The bounds of waiting that nothing hides. exposed_ns, hidden_ns: communication of the step that computing does not and
    does hide, which may be waiting or not."""
    out = {}
    for detail, (low, high) in sorted(bounds.items(), key=lambda one: -one[1][0]):
        out[detail] = max(0, low - hidden_ns), min(high, exposed_ns)
        hidden_ns = max(0, hidden_ns - low)
    return out
