"""ascend_mindspore_profiler_N.db and communication_analyzer.db: what msprof exports.
Source: docs/facts/ascend_ms.md, Files of the output folder."""

from __future__ import annotations

from pathlib import Path

from tb_npu_plugin.capture.simulation.records import Process, Segment
from tb_npu_plugin.capture.writers.analysis_db import operator_rows
from tb_npu_plugin.capture.writers.communication_figures import bandwidths_of, links_of, times_of
from tb_npu_plugin.capture.writers.database import Database, Row, Strings
from tb_npu_plugin.capture.writers.device_db import DeviceTables
from tb_npu_plugin.capture.writers.dialect import Dialect, Options
from tb_npu_plugin.capture.writers.files import Output, Writer
from tb_npu_plugin.capture.writers.links import LinkTables
from tb_npu_plugin.capture.writers.result_db import finish
from tb_npu_plugin.schema import mindspore as names
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema import torch_npu_json as words


class MsprofDatabases:
    """The databases of one capture. msprof knows no steps."""

    def __init__(self, folder: Path, process: Process, options: Options, dialect: Dialect) -> None:
        output = Output(folder, process, options, dialect)
        self._process = process
        tables = {table: columns for table, columns in schema.TABLES.items() if table in names.DB_TABLES}
        self._database = Database(folder / f"{names.PROFILER_DB}_{process.rank}.db", tables)
        for table in schema.ALWAYS:
            self._database.make(table)
        self._writers: list[Writer] = []
        if options.npu:
            self._writers.append(LinkTables(output, self._database))
        if options.npu and options.kernels:
            self._writers.append(DeviceTables(output, self._database, Strings(self._database, schema.CANN_STRINGS)))
            if options.level >= 1:
                self._writers.append(CommunicationDatabase(output))

    def add(self, segment: Segment) -> None:
        """Write the next segment."""
        for writer in self._writers:
            writer.add(segment)

    def close(self) -> None:
        """Complete the files."""
        for writer in self._writers:
            writer.close()
        finish(self._database, self._process, [])


class CommunicationDatabase:
    """communication_analyzer.db, operator by operator; not made without communication."""

    def __init__(self, output: Output) -> None:
        self._path = output.folder / names.COMMUNICATION_DB
        self._database: Database | None = None

    def add(self, segment: Segment) -> None:
        """Write the operators of one segment."""
        if not segment.comm:
            return
        if self._database is None:
            self._database = Database(self._path, names.COMMUNICATION_DB_TABLES)
        times: list[Row] = []
        bandwidths: list[Row] = []
        matrix: list[Row] = []
        for op in segment.comm:
            time, links = operator_rows(op.name, op.group.id, times_of(op), bandwidths_of(op))
            times.append(time)
            bandwidths += links
            for (src, dst), moved in links_of(op).items():
                entry = moved.entry(None)
                figures = (entry[words.SIZE], entry[words.TRANSIT], entry[words.BANDWIDTH_GBS])
                matrix.append((op.name, op.group.id, str(src), str(dst), moved.transport, *figures))
        self._database.add("CommAnalyzerTime", times)
        self._database.add("CommAnalyzerBandwidth", bandwidths)
        self._database.add("CommAnalyzerMatrix", matrix)

    def close(self) -> None:
        """Complete the file."""
        if self._database is not None:
            self._database.close()
