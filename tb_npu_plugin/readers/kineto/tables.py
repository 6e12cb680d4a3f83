"""All tables of a trace, from its events in one go."""

from __future__ import annotations

import numpy as np

from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.kineto.communication import read_communication
from tb_npu_plugin.readers.kineto.kernels import read_kernels
from tb_npu_plugin.readers.kineto.memory import read_memory
from tb_npu_plugin.readers.kineto.operators import Operators
from tb_npu_plugin.readers.kineto.picked import Index, Picked, looked_up
from tb_npu_plugin.readers.kineto.steps import Steps, budgets
from tb_npu_plugin.scan import TraceEvents
from tb_npu_plugin.scan.args import ArgsFile
from tb_npu_plugin.schema import kineto
from tb_npu_plugin.tables import NULL_INT, Table


def tables_of(events: TraceEvents, args: ArgsFile | None, log: ProblemLog) -> dict[str, Table]:
    """The logical tables that a trace holds; those without rows are left out."""
    picked = Picked.of(events, args)
    operators = Operators(picked)
    out: dict[str, Table] = {}
    owner = np.zeros(0, dtype=np.int64)
    device_ns = np.zeros(0, dtype=np.int64)
    if len(picked.device):
        steps = Steps.of(picked)
        kernels, rows = read_kernels(picked, steps)
        out["kernels"] = kernels
        out["step_trace"] = budgets(kernels, steps)
        out |= read_communication(picked, kernels, rows)
        owner, device_ns = _owners(picked, operators), events.dur[picked.device]
        lost = int(np.count_nonzero(owner < 0))
        if lost and len(operators.rows):
            log.add(_not_owned(lost))
    if len(operators.rows):
        out["operators"] = operators.table(owner, device_ns)
    return out | read_memory(picked, operators)


def _owners(picked: Picked, operators: Operators) -> Index:
    """The operator that launched each work on the device: that of its external id; else of the call with the same
    correlation, by its external id, or the one that ran on its thread then. -1 for none."""
    correlation, external = picked.integers(picked.device, kineto.CORRELATION, kineto.EXTERNAL_ID)
    calls, calls_external = picked.integers(picked.runtime, kineto.CORRELATION, kineto.EXTERNAL_ID)
    owner = looked_up(operators.id, external)
    call = looked_up(calls, correlation)
    by_call = np.append(looked_up(operators.id, calls_external), -1)[call]
    owner = np.where(owner >= 0, owner, by_call)
    left = np.flatnonzero((owner < 0) & (external == NULL_INT) & (call >= 0))
    rows, events = picked.runtime[call[left]], picked.events
    owner[left] = operators.at(events.ts[rows], events.pid[rows].astype(np.int64) << 32 | events.tid[rows])
    return np.asarray(owner, dtype=np.int64)


def _not_owned(count: int) -> Problem:
    return Problem(
        "no_operator", "", "", "kernels that an operator launched", f"{count} that none did", "Their part of the operators' device time.",
        "Nothing: graphs and libraries launch kernels of their own.", count=count, severity="info",
    )  # fmt: skip
