"""Events of CANN calls, flows from them to device tasks, and the overlap analysis."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin import intervals
from tb_npu_plugin.readers.database.copies import find_copies
from tb_npu_plugin.readers.database.events.communication import CommunicationEvents
from tb_npu_plugin.readers.database.events.processes import Processes, thread_of
from tb_npu_plugin.readers.database.events.sink import json_int, json_texts
from tb_npu_plugin.readers.database.events.tasks import TaskEvents
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema import trace, trace_events
from tb_npu_plugin.tables import IntArray, StringColumn, find_rows

Index = NDArray[np.int64]


def add_calls(processes: Processes) -> None:
    """Add the CANN calls on the host."""
    context, sink, calls = processes.context, processes.sink, processes.context.calls
    if not len(calls):
        return
    sink.see(schema.CANN_API.table, len(calls))
    names = context.strings.names(calls.ints("name"))
    levels = context.levels.column(calls.ints("level"), raw=True)
    prefixes = [trace_events.CALL_PREFIX.get(level, f"{level}@") for level in levels.values] + [""]
    texts = [prefix + name for prefix in prefixes for name in names.values]
    codes = np.where(names.codes < 0, -1, levels.codes.astype(np.int64) * len(names.values) + names.codes)
    codes = np.where(
        (levels.codes < 0) & (names.codes >= 0), (len(prefixes) - 1) * len(names.values) + names.codes, codes
    )
    text = StringColumn(codes.astype(np.int32), texts)
    threads, level_text, name_text = thread_of(calls), json_texts(levels), json_texts(names)
    columns = (threads, levels.codes, names.codes, calls.ints("connection"))

    def args(first: int, last: int) -> Iterable[str]:
        rows = zip(*(values[first:last].tolist() for values in columns))
        made = trace_events.CALL_ARGS
        return (made % (thread, level_text[a], name_text[b], json_int(connection)) for thread, a, b, connection in rows)

    pid = processes.pid(trace_events.CANN)
    start = calls.ints("start_ns")
    sink.slices(pid, threads, text, start, calls.ints("end_ns") - start, "", args, schema.CANN_API.table)
    processes.name(trace_events.CANN, pid)
    processes.name_threads(pid, threads, trace_events.THREAD)


def add_launches(processes: Processes, tasks: TaskEvents, operations: CommunicationEvents) -> None:
    """Add flows to kernels, copies and communication operators from the CANN calls that launched them and from the
    operators of those calls."""
    context, calls = processes.context, processes.context.calls
    own = np.flatnonzero(((tasks.info >= 0) & ~context.in_communication | context.are_copies) & tasks.shown)
    order = ((own, tasks), (np.arange(len(operations.rows)), operations))
    connection = np.concatenate([tasks.connection[own], operations.rows.ints("connection")])
    pid = np.concatenate([tasks.pid[own], operations.pid])
    thread = np.concatenate([part.thread[rows] for rows, part in order])
    start = np.concatenate([part.start[rows] for rows, part in order])
    call = find_rows(calls.ints("connection"), connection)
    found = np.flatnonzero(call >= 0)
    at, threads = calls.ints("start_ns"), thread_of(calls)
    processes.sink.flows(
        trace.HOST_TO_DEVICE,
        trace.HOST_TO_DEVICE,
        (processes.pid(trace_events.CANN), threads[call[found]], at[call[found]]),
        (pid[found], thread[found], start[found]),
        (False, True),
    )
    _add_owners(processes, own, connection, (pid, thread, start))


def _add_owners(
    processes: Processes, own: Index, connection: IntArray, target: tuple[IntArray, IntArray, IntArray]
) -> None:
    """Add flows from operators to what they launched: the tasks in rows `own`, then all communication operators."""
    context, ops = processes.context, processes.context.torch_of_kind("op")
    row, linked = context.links(ops)
    op = np.append(row, -1)[find_rows(linked, connection)]
    op[np.flatnonzero(context.are_copies[own])] = -1
    copies = find_copies(context, ops)
    place = find_rows(own, copies.task)
    op[place[place >= 0]] = copies.op[place >= 0]
    chosen = np.flatnonzero(op >= 0)
    processes.sink.flows(
        trace.ASYNC_NPU,
        trace_events.TORCH_TO_NPU,
        (processes.system, thread_of(ops)[op[chosen]], ops.ints("start_ns")[op[chosen]]),
        (target[0][chosen], target[1][chosen], target[2][chosen]),
    )


def add_overlap(processes: Processes, tasks: TaskEvents, operations: CommunicationEvents) -> None:
    """Add the overlap rows of each device: computing, communication, exposed communication, free.
    Source: docs/facts/ascend_pt.md, Overlap Analysis."""
    kernels = processes.context.are_computing(tasks.info)
    for device in np.unique(np.concatenate([tasks.device[kernels], operations.device])).tolist():
        own, others = kernels & (tasks.device == device), operations.device == device
        computing = intervals.union(tasks.start[own], (tasks.start + tasks.dur)[own])
        communication = intervals.union(operations.start[others], operations.rows.ints("end_ns")[others])
        _overlap_of(processes, device, computing, communication)


def _overlap_of(
    processes: Processes, device: int, computing: intervals.Intervals, communication: intervals.Intervals
) -> None:
    """Add the overlap rows of one device."""
    busy = intervals.merge(computing, communication)
    if not len(busy.start):
        return
    free = intervals.Intervals(busy.end[:-1], busy.start[1:])
    parts = (computing, communication, intervals.subtract(communication, computing), free)
    start = np.concatenate([part.start for part in parts])
    dur = np.concatenate([part.end - part.start for part in parts])
    kind: IntArray = np.repeat(np.arange(len(parts)), [len(part.start) for part in parts])
    order = np.lexsort((kind, start))
    names = StringColumn(kind[order].astype(np.int32), [*trace_events.OVERLAPS])
    pid = processes.pid(trace_events.OVERLAP, device)
    processes.sink.slices(pid, kind[order], names, start[order], dur[order], "", None)
    processes.name(trace_events.OVERLAP, pid, device)
    for thread, title in enumerate(trace_events.OVERLAPS):
        processes.sink.meta(trace.THREAD_NAME, pid, thread, title)
