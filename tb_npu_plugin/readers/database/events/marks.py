"""Events of mstx marks and ranges, on the host and on the device.
Source: docs/facts/ascend_pt.md, Flows of the trace; docs/facts/databases.md, ascend_pytorch_profiler.db."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.events.processes import Processes, thread_of
from tb_npu_plugin.readers.database.events.sink import EventSink, json_texts
from tb_npu_plugin.readers.database.events.tasks import TaskEvents
from tb_npu_plugin.readers.database.strings import Strings, find_rows
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema import trace, trace_events
from tb_npu_plugin.schema.torch_npu_db import NO_ID
from tb_npu_plugin.tables import NULL_INT


def add_marks(context: Context, sink: EventSink, processes: Processes, tasks: TaskEvents) -> None:
    """Add the marks by thread, and flows to their device tasks."""
    rows = context.source.read(schema.MSTX)
    if not len(rows):
        return
    sink.see(schema.MSTX.table, len(rows))
    kinds = Strings(context.source, schema.MSTX_TYPES).column(rows.ints("type"), raw=True)
    domains = context.strings.column(rows.ints("domain"))
    kind_text, domain_text = json_texts(kinds), json_texts(domains)

    def args(first: int, last: int) -> Iterable[str]:
        codes = zip(kinds.codes[first:last].tolist(), domains.codes[first:last].tolist())
        return (trace_events.MSTX_ARGS.format(kind_text[kind], domain_text[domain]) for kind, domain in codes)

    pid, threads, start = processes.pid(trace_events.MSTX), thread_of(rows), rows.ints("start_ns")
    names = context.strings.names(rows.ints("message"))
    sink.slices(pid, threads, names, start, rows.ints("end_ns") - start, "", args, schema.MSTX.table)
    processes.name(sink, trace_events.MSTX, pid)
    for thread in np.unique(threads).tolist():
        sink.meta(trace.THREAD_NAME, pid, thread, trace_events.THREAD.format(thread))
        sink.meta(trace.THREAD_SORT_INDEX, pid, thread, thread)
    connection = rows.ints("connection")
    task = find_rows(tasks.connection, connection)
    linked = np.flatnonzero((task >= 0) & (connection != NO_ID) & (connection != NULL_INT) & (names.codes >= 0))
    linked = linked[tasks.shown[task[linked]]]
    sink.flows(
        trace.MSTX,
        trace.MSTX,
        (pid, threads[linked], start[linked]),
        (tasks.pid[task[linked]], tasks.thread[task[linked]], tasks.start[task[linked]]),
    )
