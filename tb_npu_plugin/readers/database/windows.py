"""Steps on the device. Source: docs/facts/ascend_pt.md, step_trace_time.csv."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.steps.windows import StepWindows
from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.strings import find_rows
from tb_npu_plugin.tables import NULL_INT, IntArray


def assign_steps(context: Context, starts: IntArray) -> NDArray[np.int64] | None:
    """Return the row in `context.steps` for each device start (ascending), -1 for none; None without steps. Kernels, copies
    and communication operators bound a step."""
    steps = context.steps
    if not len(steps):
        return None
    tasks, comm = context.tasks, context.comm
    kernels = find_rows(np.sort(context.compute.ints("id")), tasks.ints("id")) >= 0
    own = np.flatnonzero((kernels & ~context.in_communication) | context.are_copies)
    connection, begins, ends = (
        np.concatenate([tasks.ints(key)[own], comm.ints(key)]) for key in ("connection", "start_ns", "end_ns")
    )
    windows = StepWindows.of(
        (steps.ints("start_ns"), steps.ints("end_ns")), launch_times(context, connection), begins, ends
    )
    return windows.at(starts)


def launch_times(context: Context, connections: IntArray) -> IntArray:
    """Return the host launch time of each connection: the start of its operator, as the task queue may run late, or else
    of its CANN call; NULL_INT for none."""
    calls = context.calls
    call = find_rows(calls.ints("connection"), connections)
    times = np.where(call >= 0, calls.ints("start_ns")[call], NULL_INT) if len(calls) else _unknown_like(connections)
    ops = context.torch_of_kind("op")
    row, connection = context.links(ops)
    op = find_rows(connection, connections)
    linked = (op >= 0) & (call >= 0)
    if linked.any():
        times[linked] = ops.ints("start_ns")[row[op[linked]]]
    return times


def _unknown_like(like: IntArray) -> IntArray:
    return np.full(len(like), NULL_INT, dtype=np.int64)
