"""Communication that could run beside computing, but is not overlapped at all."""

from __future__ import annotations

from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.findings.model import Finding, Rule, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.analysis.findings.transfers import missing_table, transfer_finding
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import Capture
from tb_npu_plugin.schema.communicators import group_hash
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS
from tb_npu_plugin.tables import IntArray, Table

#: Least share of the step.
_LEAST_SHARE = 0.1
#: An operator is overlapped if this part of it is hidden. Collectives that follow it within the gap, ns, are its queue: overlap
#: is in use, and the computing is too short to hide them, as in healthy runs with large gradients.
_OVERLAPPED, _GAP_NS = 0.05, 50_000
#: Groups within a layer: the next operator needs the result, so that nothing can run meanwhile.
_WITHIN_LAYERS = ("tp", "cp", "ep", "tensor", "context", "expert")
_BETWEEN_TWO = COMM_KINDS[0]


def find(run: RunData) -> list[Finding]:
    """The exposed transfer that every rank has, if it is a good part of the step: whether a program overlaps its communication
    is the same on all ranks, while late ranks change what is left to hide it."""
    least, count = None, run.step_count
    for at, line in enumerate(run.communication.lines):
        budgets = [one for one in run.budgets if one.span == line.span.token and one.device_id == line.device_id]
        if line.comm_ops is None or all(one.exposed_waiting is None for one in budgets):
            continue
        start, end = run.communication.transfer_times(at)
        begin = np.minimum(line.comm_ops.ints("start_ns"), start)
        exposed, whole = (run.communication.exposed(at, one, end) for one in (start, begin))
        if exposed is None or whole is None:
            continue
        is_hidden = whole < (1 - _OVERLAPPED) * (end - begin)  # computing hides the wait, too
        time = _not_overlapped(line.comm_ops, line.span.capture, (start, end), exposed, is_hidden)
        bare = sum((one.communication_not_overlapped or 0) - (one.exposed_waiting or 0) for one in budgets)
        hidden = sum((one.computing or 0) - (one.overlapped or 0) for one in budgets)
        cost = min(time, bare, hidden)  # no more than there is computing to hide it
        if least is None or cost < least[0]:
            least = cost, line.span
    if least is None or not run.step_ns or least[0] / count < _LEAST_SHARE * run.step_ns:
        return []
    cost, span = least
    message = Message(
        "finding.exposed_communication", time=duration(cost / count), share=percent(cost / count / run.step_ns)
    )
    return [
        transfer_finding(
            RULE,
            run,
            span,
            message,
            cost / count,
            Message("fix.exposed_communication"),
            Message("check.exposed_communication"),
        )
    ]


def _not_overlapped(
    ops: Table, capture: Capture, times: tuple[IntArray, IntArray], exposed: IntArray, is_hidden: NDArray[np.bool_]
) -> int:
    """Exposed time of collectives that nothing overlaps, without the last of each group and step: no computing is left that
    could hide it. times, exposed: start, end and exposed time of each operator without its wait, ns. is_hidden: whether it is
    overlapped."""
    start, end = times
    blocking = {
        group_hash(name)
        for name, group in capture.groups.items()
        if str(group.get("group_name", "")).lower().startswith(_WITHIN_LAYERS)
    }
    chosen = np.flatnonzero(~ops.text("kind").equals(_BETWEEN_TWO) & ~ops.text("group").isin(blocking))
    groups = Groups([ops.text(key).take(chosen) for key in ("step", "group")], len(chosen))
    total = 0
    for rows in groups.rows():
        rows = chosen[rows]
        rows = rows[np.argsort(start[rows], kind="stable")]
        queues = np.concatenate([[0], np.cumsum(start[rows][1:] - end[rows][:-1] > _GAP_NS)])
        counts = np.bincount(queues, weights=is_hidden[rows]) == 0
        counts = counts[queues]
        counts[-1] = False
        total += int(exposed[rows][counts].sum())
    return total


def missing(run: RunData) -> Optional[Unchecked]:
    """Waiting is known, so that it does not count as transfer."""
    no_table = missing_table(run, RULE.id, "comm_ops")
    if no_table is not None or all(budget.elapse is None for budget in run.budgets):
        return no_table
    if any(budget.exposed_waiting is not None for budget in run.budgets):
        return None
    return Unchecked(RULE.id, Message("unchecked.no_waiting"), "profiler_level=ProfilerLevel.Level1")


RULE = Rule("exposed_communication", "communication", find, missing)
