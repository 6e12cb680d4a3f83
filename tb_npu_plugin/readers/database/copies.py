"""Finds the operators that launched copies. Databases link kernels and communication to operators, but not copies; these
are matched in the same way as by text exports.
Source: docs/facts/ascend_pt.md, operator_details.csv; docs/facts/databases.md, Joins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.operators.tree import OperatorEvents, launched_by
from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.source import Rows
from tb_npu_plugin.schema import trace_events
from tb_npu_plugin.schema.torch_npu_db import CONNECTION_OFFSET
from tb_npu_plugin.tables import NULL_INT, IntArray, StringColumn, find_rows

# The framework's task queue. Source: docs/facts/databases.md, ascend_pytorch_profiler.db.


def entries(context: Context, queue: Rows, names: StringColumn) -> tuple[NDArray[np.bool_], IntArray]:
    """Return a mask of the enqueue calls (the others dequeue) and each call's entry number, NULL_INT for none. queue:
    calls of kind "queue"; names: their names."""
    enters = np.array([name.startswith(trace_events.ENQUEUES) for name in names.values] + [False])[names.codes]
    row, connection = context.links(queue)
    number = np.full(len(queue), NULL_INT, dtype=np.int64)
    number[row] = np.where(connection >= CONNECTION_OFFSET, connection - CONNECTION_OFFSET, connection)
    return enters, number


Index = NDArray[np.int64]


@dataclass(frozen=True)
class Copies:
    """Copies that operators launched. parent: parent of each operator, -1 at the top; task: row in TASK of each copy;
    op: its operator."""

    parent: Index
    task: Index
    op: Index


def find_copies(context: Context, ops: Rows) -> Copies:
    """Return the copies of operators, which must be ordered by start. A copy belongs to the operator that enqueued its
    CANN call, or, without a task queue, to the operator that ran during the call. Only the first of several copies of
    one call counts."""
    calls, tasks = context.calls, context.tasks
    rows = np.flatnonzero(context.are_copies)
    rows = rows[np.argsort(tasks.ints("start_ns")[rows], kind="stable")]
    call = find_rows(calls.ints("connection"), tasks.ints("connection")[rows])
    rows, call = rows[call >= 0], call[call >= 0]
    call, first = np.unique(call, return_index=True)
    rows = rows[first]
    queue = context.torch_of_kind("queue") if len(rows) else Rows(0, {})
    enters, number = entries(context, queue, context.strings.names(queue.ints("name")))
    begin, end = np.flatnonzero(enters), np.flatnonzero(~enters)
    start, thread = queue.ints("start_ns"), queue.ints("thread")
    zeros = np.zeros(len(rows), dtype=np.int64)
    parent, op = launched_by(
        OperatorEvents(
            ops.ints("start_ns"),
            ops.ints("end_ns") - ops.ints("start_ns"),
            ops.ints("thread"),
            start[begin],
            thread[begin],
            number[begin],
            start[end],
            (queue.ints("end_ns") - start)[end],
            number[end],
            calls.ints("start_ns")[call],
            zeros,
            zeros > 0,
        )
    )
    return Copies(parent, rows[op >= 0], op[op >= 0])
