"""Reads the trace events of a database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.events import device
from tb_npu_plugin.readers.database.events.communication import CommunicationEvents
from tb_npu_plugin.readers.database.events.counters import add_counters
from tb_npu_plugin.readers.database.events.host import add_host
from tb_npu_plugin.readers.database.events.marks import add_marks
from tb_npu_plugin.readers.database.events.processes import Processes
from tb_npu_plugin.readers.database.events.sink import EventSink
from tb_npu_plugin.readers.database.events.tasks import TaskEvents
from tb_npu_plugin.readers.database.opening import open_database
from tb_npu_plugin.readers.database.progress import DatabaseProgress
from tb_npu_plugin.readers.database.source import Source
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.spool import Spool
from tb_npu_plugin.scan import MEMORY, ScanSink
from tb_npu_plugin.scan.columns import MemoryColumns, SpooledColumns
from tb_npu_plugin.scan.events import TraceEvents
from tb_npu_plugin.schema import torch_npu_db as schema

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
    with closing(MemoryColumns() if into.spool is None else SpooledColumns(into.spool)) as columns:
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
    processes = Processes(context)
    tasks = TaskEvents(context, processes)
    operations = CommunicationEvents(context, processes, tasks)
    parts: tuple[Callable[[], None], ...] = (
        lambda: add_host(context, sink, processes),
        lambda: device.add_calls(context, sink, processes),
        lambda: add_marks(context, sink, processes, tasks),
        lambda: tasks.add(sink, processes),
        lambda: operations.add(sink, processes),
        lambda: device.add_overlap(context, sink, processes, tasks, operations),
        lambda: add_counters(context, sink, processes),
        lambda: device.add_launches(context, sink, processes, tasks, operations),
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
