"""Framework events: operators, task queue, Python functions, flows from forward to backward."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.copies import entries
from tb_npu_plugin.readers.database.events.processes import Processes, thread_of
from tb_npu_plugin.readers.database.events.sink import EventSink, json_texts
from tb_npu_plugin.readers.database.operators import call_stacks
from tb_npu_plugin.readers.database.source import Rows
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema import trace, trace_events
from tb_npu_plugin.tables import NULL_INT, IntArray, StringColumn

Index = NDArray[np.int64]


def add_host(processes: Processes) -> None:
    """Add the framework events in the order of trace_view.json."""
    context, sink = processes.context, processes.sink
    table, every = schema.PYTORCH_API.table, len(context.torch)
    ops, queue, calls = (context.torch_of_kind(kind) for kind in ("op", "queue", "trace"))
    if not every:
        return
    sink.see(table, every)
    sink.leave_out("unknown_event", table, every - len(ops) - len(queue) - len(calls))
    pid = processes.system
    _add_ops(context, sink, pid, ops)
    dequeues = _add_queue(context, sink, pid, queue)
    _add_threads(processes, thread_of(context.torch), dequeues)
    _add_links(context, sink, pid, ops)
    names = context.strings.names(calls.ints("name"))
    sink.slices(pid, thread_of(calls), names, *_times(calls), trace_events.PYTHON_FUNCTION, None, table)
    _add_collections(processes)


def _times(rows: Rows) -> tuple[IntArray, IntArray]:
    start = rows.ints("start_ns")
    return start, rows.ints("end_ns") - start


def _add_ops(context: Context, sink: EventSink, pid: int, ops: Rows) -> None:
    columns = [
        (trace_events.SHAPE_ARG, context.strings.column(ops.ints("input_shapes"), raw=True)),
        (trace_events.TYPE_ARG, context.strings.column(ops.ints("input_types"), raw=True)),
        (trace_events.STACK_ARG, call_stacks(context, ops.ints("chain"))),
    ]
    written = [([*(key + text for text in json_texts(column)[:-1]), ""], column.codes) for key, column in columns]
    sequence = np.where(ops.ints("sequence") == NULL_INT, -1, ops.ints("sequence"))
    forward = np.where(ops.ints("forward_thread") == NULL_INT, 0, ops.ints("forward_thread"))

    def args(first: int, last: int) -> Iterable[str]:
        rows = zip(*(values[first:last].tolist() for values in (sequence, forward, *(codes for _, codes in written))))
        (shapes, _), (types, _), (frames, _) = written
        begin = trace_events.OP_ARGS.format
        return (f"{begin(number, thread)}{shapes[a]}{types[b]}{frames[c]}}}" for number, thread, a, b, c in rows)

    names = context.strings.names(ops.ints("name"))
    sink.slices(pid, thread_of(ops), names, *_times(ops), trace.CPU_OP, args, schema.PYTORCH_API.table)


def _add_queue(context: Context, sink: EventSink, pid: int, queue: Rows) -> Index:
    """Add the task queue's entries and flows. Returns the threads that dequeue."""
    names = context.strings.names(queue.ints("name"))
    enters, number = entries(context, queue, names)

    def part(rows: Index, category: str) -> None:
        def args(first: int, last: int) -> Iterable[str]:
            return (
                "{}" if value == NULL_INT else trace_events.QUEUE_ARGS.format(value)
                for value in number[rows[first:last]].tolist()
            )

        chosen = Rows(len(rows), {key: values[rows] for key, values in queue.data.items()})
        text = StringColumn(names.codes[rows], names.values)
        sink.slices(pid, thread_of(chosen), text, *_times(chosen), category, args, schema.PYTORCH_API.table)

    begin, end = np.flatnonzero(enters), np.flatnonzero(~enters)
    part(begin, trace.ENQUEUE)
    part(end, trace.DEQUEUE)
    source, target = _pairs(number, begin, end)
    threads, start = thread_of(queue), queue.ints("start_ns")
    sink.flows(
        trace.ASYNC_TASK_QUEUE,
        trace_events.ENQUEUE_TO_DEQUEUE,
        (pid, threads[source], start[source]),
        (pid, threads[target], start[target]),
    )
    return np.unique(threads[end])


def _pairs(number: IntArray, begin: Index, end: Index) -> tuple[Index, Index]:
    """Return the pairs of rows from `begin` and `end` with the same number, which each list has once."""
    begin, end = begin[number[begin] != NULL_INT], end[number[end] != NULL_INT]
    _, a, b = np.intersect1d(number[begin], number[end], return_indices=True)
    order = np.argsort(a, kind="stable")
    return begin[a[order]], end[b[order]]


def _add_links(context: Context, sink: EventSink, pid: int, ops: Rows) -> None:
    """Add flows from forward to backward operators, which share a connection without a CANN call."""
    row, connection = context.links(ops)
    known = np.isin(connection, context.calls.ints("connection"))
    row, connection = row[~known], connection[~known]
    number = np.full(len(ops), NULL_INT, dtype=np.int64)
    number[row] = connection
    backward = ops.ints("forward_thread") > 0
    source, target = _pairs(number, np.flatnonzero(~backward), np.flatnonzero(backward))
    threads, start = thread_of(ops), ops.ints("start_ns")
    sink.flows(
        trace.FORWARD_BACKWARD,
        trace.FORWARD_BACKWARD,
        (pid, threads[source], start[source]),
        (pid, threads[target], start[target]),
    )


def _add_threads(processes: Processes, every: IntArray, dequeues: Index) -> None:
    """Add the threads' names and sort indices; threads that dequeue are sorted last."""
    processes.name(trace_events.PYTHON, processes.system)
    tids = np.unique(every)
    for tid in tids.tolist():
        processes.sink.meta(trace.THREAD_NAME, processes.system, tid, trace_events.THREAD.format(tid))
        last = int(tids.max()) + 1
        processes.sink.meta(trace.THREAD_SORT_INDEX, processes.system, tid, last if tid in dequeues else tid)


def _add_collections(processes: Processes) -> None:
    sink = processes.sink
    rows, table = processes.context.source.read(schema.GC_RECORD), schema.GC_RECORD.table
    if not len(rows):
        return
    sink.see(table, len(rows))
    pid = processes.pid(trace_events.PYTHON_GC)
    names = StringColumn(np.zeros(len(rows), dtype=np.int32), [trace_events.GC])
    sink.slices(pid, thread_of(rows), names, *_times(rows), trace_events.GC, None, table)
    processes.name(trace_events.PYTHON_GC, pid)
