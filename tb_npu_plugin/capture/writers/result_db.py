"""The database export of one capture: ascend_pytorch_profiler_N.db and analysis.db. Source: docs/facts/databases.md."""

from __future__ import annotations

import json
from pathlib import Path

from tb_npu_plugin.capture.simulation.records import Process, Segment
from tb_npu_plugin.capture.writers.analysis_db import Analysis
from tb_npu_plugin.capture.writers.database import Database, Strings
from tb_npu_plugin.capture.writers.device_db import DeviceTables
from tb_npu_plugin.capture.writers.dialect import Dialect, Options
from tb_npu_plugin.capture.writers.files import Output, Writer
from tb_npu_plugin.capture.writers.framework import Share
from tb_npu_plugin.capture.writers.host_db import HostTables
from tb_npu_plugin.capture.writers.links import LinkTables
from tb_npu_plugin.capture.writers.marks_db import MarkTables
from tb_npu_plugin.capture.writers.side_files import environment, group_infos
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema.torch_npu_json import ENVIRONMENT, GROUPS


class DatabaseResult:
    """The databases of one capture in `folder`, which is made. numbered: the rank is known and stands in the name.

    The framework's tables are written into a separate file and joined to the others at the end, so that two processes
    may write one database and the file is the same whether they do.
    """

    def __init__(
        self,
        folder: Path,
        process: Process,
        options: Options,
        dialect: Dialect,
        numbered: bool = True,
        share: Share = "all",
    ) -> None:
        output = Output(folder, process, options, dialect)
        output.folder.mkdir(parents=True, exist_ok=True)
        self._output, self._numbered, self._share = output, numbered, share
        path = output.folder / f"{schema.PROFILER_DB}{f'_{process.rank}' if numbered else ''}.db"
        self._writers: list[Writer] = []
        self._database, self._host_path = None, path.with_name(f"{path.name}.host.part")
        if share != "trace":
            self._database = Database(path, schema.TABLES)
            for table in schema.ALWAYS:
                self._database.make(table)
            strings = Strings(self._database, schema.CANN_STRINGS)
            if options.device:
                self._writers.append(DeviceTables(output, self._database, strings))
            elif options.npu:
                self._writers.append(MarkTables(output, self._database, strings))
            if options.npu:
                self._writers.append(LinkTables(output, self._database))
        if share != "rest":
            self._writers.append(HostTables(output, Database(self._host_path, schema.TABLES)))
            if options.device:
                self._writers.append(Analysis(output))

    def add(self, segment: Segment) -> None:
        """Write the next segment."""
        for writer in self._writers:
            writer.add(segment)

    def close(self) -> None:
        """Complete the files: the process is complete now, and the other process has done its share."""
        for writer in self._writers:
            writer.close()
        if self._database is not None:
            self._database.join(self._host_path)
            finish(self._database, self._output.process, self._metadata(), self._numbered)

    def _metadata(self) -> list[tuple[str, str]]:
        """What profiler_metadata.json holds, as JSON."""
        content = {ENVIRONMENT: environment(), **self._output.options.metadata}
        groups = group_infos(self._output.process.groups)
        if groups:
            content[GROUPS] = groups
        return [(key, json.dumps(value)) for key, value in content.items()]


def finish(database: Database, process: Process, metadata: list[tuple[str, str]], has_rank: bool = True) -> None:
    """Write what the process is, the tables that explain numbers, and the indexes, and complete the file."""
    for table, names in schema.ENUMS.items():
        database.enumeration(table, names)
    database.add("RANK_DEVICE_MAP", [(process.rank if has_rank else -1, process.device)])
    database.add("HOST_INFO", [(str(process.pid), "simulated")])
    database.add("SESSION_TIME_INFO", [(process.start, process.end)])
    database.add("NPU_INFO", [(process.device, process.soc)])
    versions = [
        ("SCHEMA_VERSION_MICRO", "0"),
        ("SCHEMA_VERSION_MINOR", "0"),
        ("SCHEMA_VERSION_MAJOR", "1"),
        ("SCHEMA_VERSION", "1.0.0"),
    ]
    database.add("META_DATA", [*versions, *metadata])
    for table, definition in schema.INDEXES.items():
        database.index(table, definition)
    database.close()
