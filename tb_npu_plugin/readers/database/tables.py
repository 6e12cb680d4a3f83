"""Which reader fills which table from a database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.database import communication, links, memory, statistics
from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.kernels import read_kernels
from tb_npu_plugin.readers.database.opening import opened_database
from tb_npu_plugin.readers.database.operators import read_operators
from tb_npu_plugin.readers.database.progress import Steps
from tb_npu_plugin.readers.database.source import Source
from tb_npu_plugin.readers.database.steps import read_step_trace
from tb_npu_plugin.readers.report import FileReport
from tb_npu_plugin.readers.source import Progress
from tb_npu_plugin.readers.spool import Spool
from tb_npu_plugin.schema import torch_npu_db_reading as schema
from tb_npu_plugin.schema.link_files import NIC, ROCE
from tb_npu_plugin.schema.torch_npu_db_reading import Select
from tb_npu_plugin.tables import Table


@dataclass(frozen=True)
class _Part:
    """One reader. fills: logical tables. needs: tables of the database, one of which must be there. reads: other long
    ones."""

    fills: tuple[str, ...]
    needs: tuple[Select, ...]
    read: Callable[[Context], dict[str, Table]]
    reads: tuple[Select, ...] = ()


def _kernels(context: Context) -> dict[str, Table]:
    """The statistic is worked out from the kernels: databases have none."""
    tables = read_kernels(context)
    if tables:
        tables.update(statistics.op_statistic(tables["kernels"], context.communication_core))
    return tables


PARTS = (
    _Part(("step_trace",), (schema.STEP_TRACE,), lambda context: read_step_trace(context.source)),
    _Part(("comm_ops",), (schema.COMM_TIME,), lambda context: communication.read_comm_ops(context.source)),
    _Part(("comm_bandwidth",), (schema.COMM_BANDWIDTH,),
          lambda context: communication.read_comm_bandwidth(context.source)),
    _Part(("comm_packets",), (schema.COMM_BANDWIDTH,), lambda context: communication.read_comm_packets(context.source)),
    _Part(("comm_links",), (schema.COMM_MATRIX,), lambda context: communication.read_comm_links(context.source)),
    _Part(("kernels", "op_statistic"), (schema.COMPUTE_TASK, schema.COMMUNICATION_OP), _kernels,
          (schema.TASK, schema.METRICS, schema.COMMUNICATION_TASK, schema.CANN_API)),
    _Part(("api_statistic",), (schema.CANN_API,), statistics.read_api_statistic),
    _Part(("operators",), (schema.PYTORCH_API,), read_operators, (schema.CONNECTIONS, schema.CALL_CHAINS)),
    _Part(("op_memory",), (schema.OP_MEMORY,), memory.read_op_memory),
    _Part(("memory_record",), (schema.MEMORY_RECORD, schema.NPU_MEMORY), memory.read_memory_record),
    _Part(("module_memory",), (schema.MODULE_MEMORY,), memory.read_module_memory),
    _Part(("nic",), (schema.NIC,), lambda context: links.read_network(context, schema.NIC, NIC)),
    _Part(("roce",), (schema.ROCE,), lambda context: links.read_network(context, schema.ROCE, ROCE)),
    _Part(("pcie",), (schema.PCIE,), links.read_pcie),
    _Part(("hccs",), (schema.HCCS,), links.read_hccs),
)  # fmt: skip


def read_database(
    path: Path,
    relative: str,
    log: ProblemLog,
    progress: Progress,
    wanted: Collection[str],
    spool: Spool | None = None,
) -> dict[str, Table]:
    """Those of the logical tables `wanted` (ids of schema.registry.TABLES) that a database holds, as the text files of
    the same run give them. What is wrong with a part costs that part and is a problem in the log.

    `relative` names the file in problems; `progress` is told the bytes dealt with since its last call; `spool`: where
    long columns go.
    """
    report = FileReport(log, relative)
    out: dict[str, Table] = {}
    with opened_database(path, report) as connection:
        if connection is None:
            return out
        steps = Steps(_size(path), progress)
        source = Source(connection, report, spool or Spool(), steps.read)
        parts = [part for part in PARTS if set(part.fills) & set(wanted) and any(map(source.has, part.needs))]
        known = {schema.RANK_DEVICE.table, *(need.table for part in PARTS for need in part.needs)}
        if known.isdisjoint(source.tables):  # that of a capture in which nothing ran has the former alone
            report.add("no_profiler_tables", found=", ".join(sorted(source.tables)))
        context = Context(source)
        steps.rows = source.rows(dict.fromkeys(table for part in parts for table in (*part.needs, *part.reads)))
        for number, part in enumerate(parts, 1):
            try:
                tables = part.read(context)
            except sqlite3.DatabaseError as error:
                report.add("damaged_table", part.needs[0].table, found=str(error))
                tables = {}
            out.update({name: table for name, table in tables.items() if name in wanted})
            steps.made(number / len(parts))
    return out


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
