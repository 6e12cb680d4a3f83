"""Steps on the device. Source: docs/facts/ascend_pt.md, step_trace_time.csv."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.strings import places
from tb_npu_plugin.tables import NULL_INT, IntArray


def step_rows(context: Context, starts: IntArray) -> NDArray[np.int64] | None:
    """For each start on the device, ascending, the row of its step in `context.steps`, -1 for none; None without
    steps.

    A step goes from the first kernel, copy or communication operator that it launched to the last one or its end on the
    host; what several steps could claim belongs to the first.
    """
    steps = context.steps
    if not len(steps):
        return None
    tasks, comm = context.tasks, context.comm
    kernels = places(np.sort(context.compute.ints("id")), tasks.ints("id")) >= 0
    own = np.flatnonzero((kernels & ~context.in_communication) | context.are_copies)
    connection, begins, ends = (
        np.concatenate([tasks.ints(key)[own], comm.ints(key)]) for key in ("connection", "start_ns", "end_ns")
    )
    launched = launch_times(context, connection)
    step_start, step_end = steps.ints("start_ns"), steps.ints("end_ns")
    step = np.searchsorted(step_start, launched, "right") - 1
    inside = (launched != NULL_INT) & (step >= 0) & (launched < step_end[step])
    first = np.full(len(steps), np.iinfo(np.int64).max)
    np.minimum.at(first, step[inside], begins[inside])
    last = step_end.copy()
    np.maximum.at(last, step[inside], ends[inside])
    out = np.full(len(starts), -1, dtype=np.int64)
    for number in range(len(steps) - 1, -1, -1):
        if first[number] <= last[number]:
            out[slice(*np.searchsorted(starts, [first[number], last[number]]))] = number
    return out


def launch_times(context: Context, connections: IntArray) -> IntArray:
    """When what these connections stand for was launched on the host: the operator's start where one is linked, as
    the task queue may run late, else that of the CANN call; NULL_INT for none."""
    calls = context.calls
    call = places(calls.ints("connection"), connections)
    times = np.where(call >= 0, calls.ints("start_ns")[call], NULL_INT) if len(calls) else _none(connections)
    ops = context.torch_of_kind("op")
    row, connection = context.links(ops)
    op = places(connection, connections)
    linked = (op >= 0) & (call >= 0)
    if linked.any():
        times[linked] = ops.ints("start_ns")[row[op[linked]]]
    return times


def _none(like: IntArray) -> IntArray:
    return np.full(len(like), NULL_INT, dtype=np.int64)
