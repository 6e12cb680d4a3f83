"""Gradients are reduced while computing stands still, although what follows could run meanwhile."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Optional

import numpy as np

from tb_npu_plugin import intervals
from tb_npu_plugin.analysis.communication.statistics import base_names, traffic_of
from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Rule, Subject, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.analysis.findings.transfers import is_costly, missing_table
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.run.devices import RankDevice
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS
from tb_npu_plugin.tables import FloatArray, IntArray, Table

#: Groups of data parallel ranks: a step needs their results at its end only. Within a layer (tensor, context, expert
#: parallel) the next operator needs them at once.
_DATA_PARALLEL, _WHOLE = ("dp", "data"), "default_group"
#: From this share of their transfer on that computing hides, collectives run beside it.
_BESIDE = 0.05
#: Collectives that send more are in no buckets: Megatron's hold 40 million gradients in FP32, which an all-reduce sends twice.
_MOST_SENT = 160_000_000
#: Bytes that are reduced when all else is computed: the default bucket of DistributedDataParallel.
_LAST_BUCKET = 25 << 20
_ALL_REDUCE = re.compile("all_?reduce", re.IGNORECASE)
_FIX = Fix(
    "fix.exposed_communication",
    torch="fix.exposed_communication.torch",
    megatron="fix.exposed_communication.megatron",
    mindspore="fix.exposed_communication.mindspore",
)


def find(run: RunData) -> list[Finding]:
    """The rank that would save most, if no rank computes beside such collectives."""
    found: list[tuple[int, SpanData]] = []
    for at, line in enumerate(run.communication.lines):
        computing = line.computing()
        rows = _of_gradients(run, line)
        if computing is None or not rows:
            continue
        start, end = run.communication.transfer_times(at)
        busy = intervals.covered_until(computing, end) - intervals.covered_until(computing, start)
        every = np.concatenate(rows)
        if busy[every].sum() >= _BESIDE * (end - start)[every].sum():
            return []
        early, most = _early(line, end - start), computing.total // run.step_count
        saved = (max(_saved(start[one], end[one], computing), min(int(early[one].sum()), most)) for one in rows)
        found.append((sum(saved), line.span))
    cost, span = max(found, key=lambda one: one[0], default=(0, None))
    cost //= run.step_count
    if span is None or not is_costly(run, cost):
        return []
    return [
        Finding(
            rule=RULE.id,
            category=RULE.category,
            subject=Subject.of(span),
            message=Message("finding.exposed_communication", time=duration(cost), share=percent(cost / run.step_ns)),
            cost_ns=cost,
            part="communication",
            confidence=Confidence("confirmed" if len(found) > 1 else "measured", len(found)),
            evidence=(Evidence("distributed"), Evidence("trace", span.token)),
            fix=_FIX.of(run),
            check=Message("check.exposed_communication"),
        )
    ]


def _of_gradients(run: RunData, line: RankDevice) -> list[IntArray]:
    """Rows of comm_ops that are collectives of data parallel ranks in the averaged steps, by step, group and type."""
    ops, groups = line.comm_ops, run.communication.ranks
    if ops is None:
        return []
    is_collective = ops.text("kind").equals(COMM_KINDS[1]) & run.is_averaged(ops)
    used = set(ops.text("group").take(is_collective).tolist())
    roles = {group: groups.role(group).lower() for group in used}
    chosen = {group for group in used if roles[group].startswith(_DATA_PARALLEL)}
    if len(used) == 1 and set(roles.values()) == {_WHOLE}:
        chosen = used
    rows = np.flatnonzero(is_collective & ops.text("group").isin({group for group in chosen if group}))
    return list(_by_place(ops, rows))


def _by_place(ops: Table, rows: IntArray) -> Iterator[IntArray]:
    """The rows by step, group and type, in order of time."""
    keys = [ops.text("step"), ops.text("group"), base_names(ops.text("name"))]
    groups = Groups([one.take(rows) for one in keys], len(rows))
    for one in groups.rows():
        chosen = rows[one]
        yield chosen[np.argsort(ops.ints("start_ns")[chosen], kind="stable")]


def _early(line: RankDevice, transfer: IntArray) -> FloatArray:
    """Part of each transfer, ns, that could begin before the last gradient is computed: all but the last bucket of those that
    are in none."""
    ops = line.comm_ops
    assert ops is not None
    size, _ = traffic_of(ops, line.span.table("comm_bandwidth"))
    is_whole = size > np.where(ops.text("name").matching(_ALL_REDUCE.search), 2, 1) * _MOST_SENT
    return np.asarray(np.where(is_whole, transfer * (1 - _LAST_BUCKET / np.maximum(size, _LAST_BUCKET)), 0))


def _saved(start: IntArray, end: IntArray, computing: intervals.Intervals) -> int:
    """Time that the collectives of a step would save beside the kernels behind them, ns. start, end: of their transfer.

    Each begins when what precedes it is computed, as it does now, and when the one before it is done.
    """
    behind = intervals.covered_until(computing, start[1:]) - intervals.covered_until(computing, end[:-1])
    computed, done = 0, 0
    for took, following in zip((end - start).tolist(), [*behind.tolist(), 0]):
        done = max(done, computed) + took
        computed += following
    now = int((end - start).sum()) + computed
    return now - max(done, computed)


def missing(run: RunData) -> Optional[Unchecked]:
    """Collectives with their times."""
    return missing_table(run, RULE.id, "comm_ops")


RULE = Rule("exposed_communication", "communication", find, missing, needs_ranks=True)
