"""Derives all tables of a trace from its events."""

from __future__ import annotations

import numpy as np

from tb_npu_plugin.analysis.steps.marks import iterations_table, unsure_marks
from tb_npu_plugin.problems import ProblemLog, problem_of
from tb_npu_plugin.readers.kineto.communication import read_communication
from tb_npu_plugin.readers.kineto.kernels import read_kernels
from tb_npu_plugin.readers.kineto.lost_args import report_lost_args
from tb_npu_plugin.readers.kineto.memory import read_memory
from tb_npu_plugin.readers.kineto.operators import Operators
from tb_npu_plugin.readers.kineto.selected_events import Index, SelectedEvents
from tb_npu_plugin.readers.kineto.stacks import threads
from tb_npu_plugin.readers.kineto.steps import budgets, in_graphs, iterations_of, steps_of
from tb_npu_plugin.scan import TraceEvents
from tb_npu_plugin.scan.args import ArgsFile
from tb_npu_plugin.schema import kineto
from tb_npu_plugin.tables import NULL_INT, IntArray, Table, find_rows, known


def derive_tables(events: TraceEvents, args: ArgsFile | None, log: ProblemLog) -> dict[str, Table]:
    """Return the logical tables of a trace; empty tables are left out."""
    selected = SelectedEvents.of(events, args)
    operators = Operators(selected)
    if any(category.startswith(kineto.MTIA) for category in events.categories):
        log.add(problem_of("other_device"))
    out: dict[str, Table] = {}
    owner = np.zeros(0, dtype=np.int64)
    device_ns = np.zeros(0, dtype=np.int64)
    _report_lost_ids(selected, log)
    steps = iterations_of(selected) or steps_of(selected)
    if len(steps.start):
        out["step_marks"] = steps.table()
    log.extend(unsure_marks(steps))
    if len(selected.device):
        kernels, rows = read_kernels(selected, steps, log)
        out["kernels"] = kernels
        out["step_trace"] = budgets(kernels, steps)
        if steps.engine:
            out["engine_iterations"] = iterations_table(
                steps, kernels, in_graphs(selected, kernels.ints("correlation"))
            )
        out |= read_communication(selected, kernels, rows)
        owner, device_ns = _owners(selected, operators), events.dur[selected.device]
        lost = int(np.count_nonzero((owner < 0) & ~in_graphs(selected, selected.correlations(selected.device))))
        if lost and len(operators.rows):
            log.add(problem_of("no_operator", count=lost, times=lost))
    if len(operators.rows):
        out["operators"] = operators.table(owner, device_ns)
    return out | read_memory(selected, operators, log)


def _owners(selected: SelectedEvents, operators: Operators) -> Index:
    """Return the operator that launched each device event, -1 for none. It is the operator with the event's external
    id, or with that of the call with the same correlation, or the operator that ran on the call's thread."""
    correlation, calls = selected.correlations(selected.device), selected.correlations(selected.runtime)
    call = find_rows(calls, correlation)
    owner = find_rows(operators.id, _external(selected, selected.device, correlation))
    by_call = np.append(find_rows(operators.id, _external(selected, selected.runtime, calls)), -1)[call]
    owner = np.where(owner >= 0, owner, by_call)
    left = np.flatnonzero((owner < 0) & (call >= 0))
    rows = selected.runtime[call[left]]
    owner[left] = operators.at(selected.events.ts[rows], threads(selected, rows))
    return np.asarray(owner, dtype=np.int64)


def _external(selected: SelectedEvents, rows: Index, correlation: IntArray) -> IntArray:
    """Return external ids; all unknown if they repeat the correlation, as in PyTorch 1.13: they could match another
    operator."""
    external = selected.external(rows)
    both = known(external) & known(correlation)
    copied = both.any() and bool((external[both] == correlation[both]).all())
    return np.full_like(external, NULL_INT) if copied else external


def _report_lost_ids(selected: SelectedEvents, log: ProblemLog) -> None:
    """Report operators without the id, and calls without the correlation, that most of them have."""
    for key, rows, values in (
        (kineto.EXTERNAL_ID[0], selected.ops, selected.external(selected.ops)),
        (kineto.CORRELATION, selected.runtime, selected.integers(selected.runtime, kineto.CORRELATION)[0]),
    ):
        report_lost_args({key: values}, np.zeros(len(rows), dtype=np.int32), rows, log)
