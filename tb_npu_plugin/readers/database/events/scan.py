"""Reads the events of a database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.events import device
from tb_npu_plugin.readers.database.events.communication import Operations
from tb_npu_plugin.readers.database.events.counters import add_counters
from tb_npu_plugin.readers.database.events.host import add_host
from tb_npu_plugin.readers.database.events.marks import add_marks
from tb_npu_plugin.readers.database.events.processes import Processes
from tb_npu_plugin.readers.database.events.sink import Sink
from tb_npu_plugin.readers.database.events.tasks import Tasks
from tb_npu_plugin.readers.database.opening import opened_database
from tb_npu_plugin.readers.database.progress import Steps
from tb_npu_plugin.readers.database.source import Source
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.spool import Spool
from tb_npu_plugin.scan import MEMORY, ScanSink
from tb_npu_plugin.scan.columns import MemoryColumns, SpooledColumns
from tb_npu_plugin.scan.events import TraceEvents
from tb_npu_plugin.schema import torch_npu_db_reading as schema

#: Tables that take time to read.
_LONG = (
    schema.TASK,
    schema.COMPUTE_TASK,
    schema.COMMUNICATION_OP,
    schema.COMMUNICATION_TASK,
    schema.CANN_API,
    schema.PYTORCH_API,
    schema.CONNECTIONS,
    schema.CALL_CHAINS,
)


def scan_database(path: Path, log: ProblemLog, progress: Callable[[int], None], into: ScanSink = MEMORY) -> TraceEvents:
    """The events that trace_view.json has of the same run, as far as the database tells them. See scan.scan_trace.

    The database does not tell ids and parents of Python functions, modes of CANN calls, and older ones neither kinds of
    copies nor their sizes. An arrow from a CANN call begins at its start.
    """
    report = FileReport(log, path.name)
    with closing(MemoryColumns() if into.spool is None else SpooledColumns(into.spool)) as columns:
        sink = Sink(columns, into.blob)
        complete = True
        with opened_database(path, report) as connection:
            if connection is not None:
                steps = Steps(path.stat().st_size, progress)
                source = Source(connection, report, Spool(into.spool), steps.read)
                steps.rows = source.rows(_LONG)
                complete = _add(Context(source), sink, report, steps)
        return sink.events("sqlite", path.stat().st_size if path.exists() else 0, complete)


def _add(context: Context, sink: Sink, report: FileReport, steps: Steps) -> bool:
    """Part by part; what cannot be read costs its part."""
    processes = Processes(context)
    tasks = Tasks(context, processes)
    operations = Operations(context, processes, tasks)
    parts: tuple[Callable[[], None], ...] = (
        lambda: add_host(context, sink, processes),
        lambda: device.add_calls(context, sink, processes),
        lambda: add_marks(context, sink, processes, tasks),
        lambda: tasks.add(sink, processes),
        lambda: operations.add(sink, processes),
        lambda: device.add_overlap(sink, processes, tasks, operations),
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
        steps.made(number / len(parts))
    return complete
