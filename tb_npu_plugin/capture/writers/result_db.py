"""The profiler's database of one capture. Source: docs/facts/databases.md."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tb_npu_plugin.capture.simulation.records import Segment
from tb_npu_plugin.capture.writers.database import Strings
from tb_npu_plugin.capture.writers.device_db import DeviceTables, MarkTables
from tb_npu_plugin.capture.writers.files import Output, Writer
from tb_npu_plugin.capture.writers.host_db import HostTables, MemoryTables
from tb_npu_plugin.capture.writers.links import LinkTables
from tb_npu_plugin.capture.writers.side_files import environment, group_infos
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema.communicators import group_hash
from tb_npu_plugin.schema.torch_npu_json import ENVIRONMENT, GROUPS

_VERSIONS = {
    "SCHEMA_VERSION_MICRO": "0",
    "SCHEMA_VERSION_MINOR": "0",
    "SCHEMA_VERSION_MAJOR": "1",
    "SCHEMA_VERSION": "1.0.0",
}


class ProfilerDatabase(Writer):
    """ascend_pytorch_profiler_N.db, or with fewer tables what msprof exports of another framework. with_framework: it has
    the tables of PyTorch, and the metadata."""

    def __init__(self, output: Output, name: str, tables: Mapping[str, str], with_framework: bool) -> None:
        self._output, self._with_framework = output, with_framework
        self._database = database = output.database(name, tables)
        for table in schema.ALWAYS:
            database.make(table)
        strings, options = Strings(database, schema.CANN_STRINGS), output.options
        memory = [MemoryTables(output, database)] if with_framework and options.memory else []
        self._tables: list[Writer] = []
        if options.npu:
            tables_of_device = DeviceTables if options.kernels else MarkTables
            self._tables += [tables_of_device(output, database, strings), LinkTables(output, database)]
        if with_framework:
            self._tables += [HostTables(output, database), *memory]

    def add(self, segment: Segment) -> None:
        """Write the next segment."""
        for table in self._tables:
            table.add(segment)

    def close(self) -> None:
        """Write what the process is, the tables that explain numbers, and the indexes."""
        for table in self._tables:
            table.close()
        database, process = self._database, self._output.process
        for name, numbers in schema.ENUMS.items():
            database.enumeration(name, numbers)
        database.add("RANK_DEVICE_MAP", [(process.rank if self._output.has_rank else -1, process.device)])
        database.add("HOST_INFO", [(group_hash(process.host), process.host)])
        database.add("SESSION_TIME_INFO", [(process.start, process.end)])
        database.add("NPU_INFO", [(process.device, process.soc)])
        database.add("META_DATA", [*_VERSIONS.items(), *(self._metadata() if self._with_framework else [])])
        for name, definition in schema.INDEXES.items():
            database.index(name, definition)

    def _metadata(self) -> list[tuple[str, str]]:
        """What profiler_metadata.json holds, as JSON."""
        content = {ENVIRONMENT: environment(), **self._output.options.metadata}
        groups = group_infos(self._output.process.groups)
        if groups:
            content[GROUPS] = groups
        return [(key, json.dumps(value)) for key, value in content.items()]
