"""Reads the events of a database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.events import device
from tb_npu_plugin.readers.database.events.counters import add_counters
from tb_npu_plugin.readers.database.events.host import add_host
from tb_npu_plugin.readers.database.events.marks import add_marks
from tb_npu_plugin.readers.database.events.processes import Processes
from tb_npu_plugin.readers.database.events.sink import Sink
from tb_npu_plugin.readers.database.opening import opened_database
from tb_npu_plugin.readers.database.source import Source
from tb_npu_plugin.readers.report import FileReport
from tb_npu_plugin.readers.spool import Spool
from tb_npu_plugin.scan.columns import MemoryColumns, SpooledColumns
from tb_npu_plugin.scan.events import TraceEvents
from tb_npu_plugin.schema import torch_npu_db_reading as schema

#: Tables that take time to read, and the share of the time that goes into reading them.
_LONG = (
    schema.TASK, schema.COMPUTE_TASK, schema.COMMUNICATION_OP, schema.COMMUNICATION_TASK, schema.CANN_API,
    schema.PYTORCH_API, schema.CONNECTIONS, schema.CALL_CHAINS,
)  # fmt: skip
_READING = 0.6


def scan_database(
    path: Path,
    log: ProblemLog,
    progress: Callable[[int], None],
    blob: IO[bytes] | None = None,
    *,
    spool: Path | None = None,
    peek: Callable[[TraceEvents], None] | None = None,
    peek_at: Sequence[int] = (),
) -> TraceEvents:
    """The events that trace_view.json has of the same run, as far as the database tells them. See scan.Scan.

    The database does not tell ids and parents of Python functions, modes of CANN calls, and older ones neither kinds of
    copies nor their sizes. An arrow from a CANN call begins at its start.
    """
    report = FileReport(log, path.name)
    with closing(MemoryColumns() if spool is None else SpooledColumns(spool)) as columns:
        sink = Sink(columns, blob)
        complete = True
        with opened_database(path, report) as connection:
            if connection is not None:
                steps = _Steps(path.stat().st_size, progress)
                source = Source(connection, report, Spool(spool), steps.read)
                steps.rows = source.rows(_LONG)
                complete = _add(Context(source), sink, report, steps)
        return sink.events("sqlite", path.stat().st_size if path.exists() else 0, complete)


class _Steps:
    """Tells progress in bytes of the file: as the rows are read, then as the events are made of them."""

    def __init__(self, size: int, tell: Callable[[int], None]) -> None:
        self._size, self._tell, self._told = size, tell, 0
        self.rows, self._read = 0, 0

    def read(self, count: int) -> None:
        """So many more rows were read."""
        self._read += count
        self._to(_READING * min(self._read / self.rows, 1) if self.rows else 0)

    def made(self, share: float) -> None:
        """So much of the events was made, 0 to 1."""
        self._to(_READING + (1 - _READING) * share)

    def _to(self, share: float) -> None:
        reached = round(self._size * share)
        if reached > self._told:
            self._tell(reached - self._told)
            self._told = reached


def _add(context: Context, sink: Sink, report: FileReport, steps: _Steps) -> bool:
    """Part by part; what cannot be read costs its part."""
    processes = Processes(context)
    tasks = device.Tasks(context, processes)
    operations = device.Operations(context, processes)
    parts: tuple[Callable[[], None], ...] = (
        lambda: add_host(context, sink, processes),
        lambda: device.add_calls(context, sink, processes),
        lambda: add_marks(context, sink, processes, tasks),
        lambda: tasks.add(sink, processes),
        lambda: operations.add(sink, processes, tasks),
        lambda: device.add_overlap(sink, processes, tasks, operations),
        lambda: add_counters(context, sink, processes),
        lambda: device.add_launches(context, sink, processes, tasks, operations),
    )
    complete = True
    for number, part in enumerate(parts, 1):
        try:
            part()
        except sqlite3.DatabaseError as error:
            report.add("damaged_table", found=str(error))
            complete = False
        steps.made(number / len(parts))
    return complete
