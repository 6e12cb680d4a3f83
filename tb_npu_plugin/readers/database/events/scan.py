"""Reads the trace events of a database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import numpy as np

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.events import device
from tb_npu_plugin.readers.database.events.communication import CommunicationEvents
from tb_npu_plugin.readers.database.events.counters import add_counters
from tb_npu_plugin.readers.database.events.host import add_host
from tb_npu_plugin.readers.database.events.processes import Processes, thread_of
from tb_npu_plugin.readers.database.events.sink import EventSink, json_texts
from tb_npu_plugin.readers.database.events.tasks import TaskEvents
from tb_npu_plugin.readers.database.opening import open_database
from tb_npu_plugin.readers.database.progress import DatabaseProgress
from tb_npu_plugin.readers.database.source import Source
from tb_npu_plugin.readers.database.strings import Strings
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.spool import Spool
from tb_npu_plugin.scan import MEMORY, ScanSink
from tb_npu_plugin.scan.columns import Columns, SpooledColumns
from tb_npu_plugin.scan.events import TraceEvents
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema import trace, trace_events
from tb_npu_plugin.schema.torch_npu_db import NO_ID
from tb_npu_plugin.tables import NULL_INT, find_rows

# Events of mstx marks and ranges, on the host and on the device.
# Source: docs/facts/ascend_pt.md, Flows of the trace; docs/facts/databases.md, ascend_pytorch_profiler.db.


def add_marks(processes: Processes, tasks: TaskEvents) -> None:
    """Add the marks by thread, and flows to their device tasks."""
    context, sink = processes.context, processes.sink
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
    processes.name(trace_events.MSTX, pid)
    processes.name_threads(pid, threads, trace_events.THREAD)
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


#: Long tables, which progress counts.
_LONG = (
    schema.TASK,
    schema.COMPUTE_TASK,
    schema.COMMUNICATION_SCHEDULE,
    schema.COMMUNICATION_OP,
    schema.COMMUNICATION_TASK,
    schema.CANN_API,
    schema.PYTORCH_API,
    schema.CONNECTIONS,
    schema.CALL_CHAINS,
)


def scan_database(path: Path, log: ProblemLog, progress: Callable[[int], None], into: ScanSink = MEMORY) -> TraceEvents:
    """Return the events that trace_view.json of the same run has. See scan.scan_trace. Databases lack ids and parents
    of Python functions and modes of CANN calls; older ones also lack kinds and sizes of copies. A flow from a CANN call
    begins at the start of the call."""
    report = FileReport(log, path.name)
    with closing(Columns() if into.spool is None else SpooledColumns(into.spool)) as columns:
        sink = EventSink(columns, into.blob, report)
        complete = True
        with open_database(path, report) as connection:
            if connection is not None:
                database_progress = DatabaseProgress(path.stat().st_size, progress)
                source = Source(connection, report, Spool(into.spool), database_progress.count_rows)
                database_progress.total_rows = source.rows(_LONG)
                complete = _add(Context(source), sink, report, database_progress)
        return sink.events("sqlite", path.stat().st_size if path.exists() else 0, complete)


def _add(context: Context, sink: EventSink, report: FileReport, progress: DatabaseProgress) -> bool:
    """Add all events; an unreadable part is skipped and reported. Returns whether all parts were read."""
    processes = Processes(context, sink)
    tasks = TaskEvents(processes)
    operations = CommunicationEvents(processes, tasks)
    parts: tuple[Callable[[], None], ...] = (
        lambda: add_host(processes),
        lambda: device.add_calls(processes),
        lambda: add_marks(processes, tasks),
        tasks.add,
        operations.add,
        lambda: device.add_overlap(processes, tasks, operations),
        lambda: add_counters(processes),
        lambda: device.add_launches(processes, tasks, operations),
    )
    complete = True
    for number, part in enumerate(parts, 1):
        try:
            part()
        except sqlite3.DatabaseError as error:
            report.table_damaged("", error)
            complete = False
        progress.set_built(number / len(parts))
    return complete
