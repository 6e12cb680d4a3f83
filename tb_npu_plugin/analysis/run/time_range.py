"""The ranks of a run in a time range, by the clock of each rank."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tb_npu_plugin.analysis.communication import statistics as communication
from tb_npu_plugin.analysis.run.budgets import RankBudget, rank_budget
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.analysis.run.step_waits import waiting_in
from tb_npu_plugin.analysis.run.strips import PARTS, coverage_of, device_times, exposed_waits, part_times
from tb_npu_plugin.analysis.steps.parts import UNKNOWN_PARTS, StepParts
from tb_npu_plugin.tables import Table

_KEYS = ("step", "kind", "name", "group")


def budgets_in(run: RunCommunication, start: int, end: int) -> list[RankBudget]:
    """One for each line of the run. Communication is that of the operators that overlap [start, end), ns since the epoch, each
    as a whole; `parts` are those of the range itself. What is recorded for whole steps is unknown."""
    return [_budget(run, at, start, end) for at in range(len(run.lines))]


def _budget(run: RunCommunication, at: int, start: int, end: int) -> RankBudget:
    line, rows = run.lines[at], run.rows_in(at, start, end)
    split = communication.UNKNOWN_SPLIT if line.comm_ops is None else communication.split(line.comm_ops.take(rows))
    waiting = waiting_in(run, at, rows)
    budget = rank_budget(line, None, None, split, waiting)
    budget.parts = _parts(run, at, start, end, waiting.waiting is not None)
    return budget


def _parts(run: RunCommunication, at: int, start: int, end: int, has_waiting: bool) -> StepParts:
    """What the device did in the range; unknown without task times, and for a rank of several devices."""
    line = run.lines[at]
    times = None if sum(one.span is line.span for one in run.lines) > 1 else device_times(line)
    if times is None:
        return UNKNOWN_PARTS
    waits = coverage_of(exposed_waits(run, at, times))
    found = part_times(times, waits, np.array([start, end], dtype=np.int64))
    parts = StepParts(**dict(zip(PARTS, found[:, 0].tolist())))
    return parts if has_waiting else replace(parts, waiting=None)


def of_operators(bandwidth: Table, operators: Table) -> Table:
    """The rows of comm_bandwidth of some rows of comm_ops."""
    chosen = set(zip(*(operators.text(key).tolist() for key in _KEYS)))
    keys = zip(*(bandwidth.text(key).tolist() for key in _KEYS))
    return bandwidth.take(np.array([key in chosen for key in keys], dtype=bool))
