"""ascend_mindspore_profiler_N.db and communication_analyzer.db: what msprof exports. Source: specs/mindspore.md 2.2."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tb_npu_plugin.capture.simulation.records import Process, Segment
from tb_npu_plugin.capture.writers.analysis_db import CommunicationTables
from tb_npu_plugin.capture.writers.communication import Json, Steps
from tb_npu_plugin.capture.writers.database import Database, Strings
from tb_npu_plugin.capture.writers.device_db import DeviceTables
from tb_npu_plugin.capture.writers.dialect import Dialect, Options
from tb_npu_plugin.capture.writers.files import Output, Writer
from tb_npu_plugin.capture.writers.overlap import Windows
from tb_npu_plugin.capture.writers.result_db import finish
from tb_npu_plugin.schema import mindspore as names
from tb_npu_plugin.schema import torch_npu_db as schema


class MsprofDatabases:
    """The databases of one capture. msprof knows no steps: communication is that of the whole capture."""

    def __init__(self, folder: Path, process: Process, options: Options, dialect: Dialect) -> None:
        output = Output(folder, process, options, dialect)
        self._process = process
        tables = {table: columns for table, columns in schema.TABLES.items() if table in names.DB_TABLES}
        self._database = Database(folder / f"{names.PROFILER_DB}_{process.rank}.db", tables)
        for table in schema.ALWAYS:
            self._database.make(table)
        self._writers: list[Writer] = []
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
    """communication_analyzer.db; not made without communication."""

    def __init__(self, output: Output) -> None:
        tables = {table: schema.ANALYSIS_TABLES[table] for table in names.COMMUNICATION_DB_TABLES}
        self._path, self._tables, self._any = output.folder / names.COMMUNICATION_DB, tables, False
        whole = replace(output, process=replace(output.process, marks=False))
        self._steps = Steps(whole, Windows(), self._take)

    def add(self, segment: Segment) -> None:
        """Take the operators of one segment."""
        self._any = self._any or bool(segment.comm)
        self._steps.add(replace(segment, step=None))

    def _take(self, step: str, times: Json, matrix: Json) -> None:
        database = Database(self._path, self._tables)
        CommunicationTables(database).add(step, times, matrix)
        database.close()

    def close(self) -> None:
        """Write the file."""
        if self._any:
            self._steps.close()
