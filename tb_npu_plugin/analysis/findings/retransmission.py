"""A collective that all ranks take seconds for: RDMA sends its packets again."""

from __future__ import annotations

from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.communication.waiting import RDMA
from tb_npu_plugin.analysis.findings.model import Finding, Rule, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration
from tb_npu_plugin.analysis.findings.transfers import missing_table, transfer_finding
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.tables import Table, known

#: Least elapsed time on each rank, and RDMA time on one of them, ns: the time after which RDMA sends
#: again.
_LEAST_NS = 4_000_000_000


def find(run: RunData) -> list[Finding]:
    """One finding for all such collectives, about the longest."""
    found = run.communication.matched
    tables = [line.comm_ops for line in run.communication.lines]
    spans = [line.span for line in run.communication.lines]
    numbers = Groups([np.where(found.number >= 0, found.number, -1 - np.arange(len(found.number)))], len(found.number))
    least = numbers.min(found.rows.ints("elapse_ns"))
    averaged = run.is_averaged(found.rows)
    long = [at for at in np.flatnonzero(least >= _LEAST_NS).tolist() if averaged[numbers.rows_of(at)].all()]
    rdma = [_rdma_times(span, ops) for span, ops in zip(spans, tables)] if long else []
    slow = []
    for rows in map(numbers.rows_of, long):
        times = [rdma[found.owner[row]].get(int(found.row[row]), 0) for row in rows.tolist()]
        if max(times) > _LEAST_NS:
            row = int(rows[int(np.argmax(times))])
            slow.append((int(found.rows.ints("elapse_ns")[rows].min()), row, max(times)))
    if not slow:
        return []
    longest, row, time = max(slow)
    name = found.rows.text("name")[row] or ""
    message = Message(
        "finding.retransmission", operator=name, time=duration(longest), rdma=duration(time), count=len(slow)
    )
    cost = min(sum(one for one, _, _ in slow) / run.step_count, run.step_ns)
    return [
        transfer_finding(
            RULE,
            run,
            spans[found.owner[row]],
            message,
            cost,
            (Message("fix.retransmission"),),
            Message("check.retransmission"),
            name,
        )
    ]


def _rdma_times(span: SpanData, ops: Optional[Table]) -> dict[int, int]:
    """Row of comm_ops -> time of its transfers by RDMA, ns."""
    bandwidth = span.table("comm_bandwidth")
    if ops is None or bandwidth is None:
        return {}
    keys = ("step", "kind", "name", "group")
    bandwidth = bandwidth.take(bandwidth.text("transport").equals(RDMA) & known(bandwidth.ints("time_ns")))
    places = zip(*(bandwidth.text(key).tolist() for key in keys))
    times = dict(zip(places, bandwidth.ints("time_ns").tolist()))
    if not times:
        return {}
    return {
        row: times[place] for row, place in enumerate(zip(*(ops.text(key).tolist() for key in keys))) if place in times
    }


def missing(run: RunData) -> Optional[Unchecked]:
    """Transports of the operators."""
    return missing_table(run, RULE.id, "comm_bandwidth")


RULE = Rule("retransmission", "communication", find, missing, device="NPU", needs_ranks=True)
