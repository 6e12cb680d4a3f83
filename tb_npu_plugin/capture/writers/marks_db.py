"""Marks and ranges of mstx in the profiler's database. Source: docs/facts/databases.md, ascend_pytorch_profiler.db."""

from __future__ import annotations

from tb_npu_plugin.capture.simulation.records import Segment
from tb_npu_plugin.capture.writers.database import Database, Row, Strings
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.schema import torch_npu_db as schema

_KINDS = schema.ENUMS["ENUM_MSTX_EVENT_TYPE"]


class MarkTables:
    """MSTX_EVENTS: all that Level_none has of the device's side."""

    def __init__(self, output: Output, database: Database, strings: Strings) -> None:
        self._pid, self._database, self._text = output.process.pid << 32, database, strings
        self._count = 0

    def add(self, segment: Segment) -> None:
        """Write the marks of one segment."""
        rows: list[Row] = []
        for mark in segment.marks:
            self._count += 1
            tid, kind = self._pid | mark.tid, _KINDS[mark.kind]
            connection = schema.NO_ID if mark.task is None else mark.task.connection
            rows.append(
                (
                    mark.start,
                    mark.end,
                    kind,
                    self._count,
                    schema.NO_ID,
                    self._text[mark.message],
                    tid,
                    tid,
                    self._text[mark.domain],
                    connection,
                )
            )
        self._database.add("MSTX_EVENTS", rows)
        self._text.flush()

    def close(self) -> None:
        """Nothing is left."""
