"""Maps the tables of a database to their readers."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection
from dataclasses import dataclass

from tb_npu_plugin.readers.database import communication, links, memory, statistics
from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.kernels import read_kernels
from tb_npu_plugin.readers.database.opening import open_database
from tb_npu_plugin.readers.database.operators import read_operators
from tb_npu_plugin.readers.database.progress import DatabaseProgress, size_of
from tb_npu_plugin.readers.database.source import Rows, Source
from tb_npu_plugin.readers.database.steps import read_step_trace
from tb_npu_plugin.readers.shared.reading import Reading, Tables
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema.link_files import NIC, ROCE
from tb_npu_plugin.schema.torch_npu_db import Select
from tb_npu_plugin.tables import Table


@dataclass(frozen=True)
class _TableReader:
    """One reader. fills: logical tables; needs: database tables, at least one of which must exist; reads: other long
    tables; counts: tables whose rows it counts as shown, besides those that it needs."""

    fills: tuple[str, ...]
    needs: tuple[Select, ...]
    read: Callable[[Context], dict[str, Table]]
    reads: tuple[Select, ...] = ()
    counts: tuple[Select, ...] = ()


def _kernels(context: Context) -> dict[str, Table]:
    """Read the kernels, and compute their statistics, which databases lack."""
    tables = read_kernels(context)
    if tables:
        tables.update(statistics.op_statistic(tables["kernels"], context.communication_core))
    return tables


def _rows_of(name: str, select: Select, make: Callable[[Rows], Table]) -> _TableReader:
    """Return the reader of a logical table with one row for each of a database table; empty tables are left out."""

    def read(context: Context) -> dict[str, Table]:
        found = make(context.source.read(select))
        context.source.count(select, shown=len(found))
        return {name: found} if len(found) else {}

    return _TableReader((name,), (select,), read)


def _bandwidth(context: Context) -> dict[str, Table]:
    """Read the transports of operators, and their packets."""
    rows = context.source.read(schema.COMM_BANDWIDTH)
    communication.count_bandwidth(context.source, schema.COMM_BANDWIDTH, rows)
    found = {"comm_bandwidth": communication.comm_bandwidth(rows), "comm_packets": communication.comm_packets(rows)}
    return {name: table for name, table in found.items() if len(table)}


_TABLE_READERS = (
    _TableReader(("step_trace",), (schema.STEP_TRACE,), lambda context: read_step_trace(context.source)),
    _rows_of("comm_ops", schema.COMM_TIME, communication.comm_ops),
    _TableReader(("comm_bandwidth", "comm_packets"), (schema.COMM_BANDWIDTH,), _bandwidth),
    _rows_of("comm_links", schema.COMM_MATRIX, communication.comm_links),
    _TableReader(
        ("kernels", "op_statistic"),
        (schema.COMPUTE_TASK, schema.COMMUNICATION_SCHEDULE, schema.COMMUNICATION_OP),
        _kernels,
        (schema.TASK, schema.METRICS, schema.COMMUNICATION_TASK, schema.CANN_API),
        (schema.METRICS,),
    ),
    _TableReader(("api_statistic",), (schema.CANN_API,), statistics.read_api_statistic),
    _TableReader(("operators",), (schema.PYTORCH_API,), read_operators, (schema.CONNECTIONS, schema.CALL_CHAINS)),
    _TableReader(("op_memory",), (schema.OP_MEMORY,), memory.read_op_memory),
    _TableReader(("memory_record",), (schema.MEMORY_RECORD, schema.NPU_MEMORY), memory.read_memory_record),
    _TableReader(("module_memory",), (schema.MODULE_MEMORY,), memory.read_module_memory),
    _TableReader(("nic",), (schema.NIC,), lambda context: links.read_network(context, schema.NIC, NIC)),
    _TableReader(("roce",), (schema.ROCE,), lambda context: links.read_network(context, schema.ROCE, ROCE)),
    _TableReader(("pcie",), (schema.PCIE,), links.read_pcie),
    _TableReader(("hccs",), (schema.HCCS,), links.read_hccs),
)


def read_database(reading: Reading, wanted: Collection[str]) -> Tables:
    """Return the logical tables `wanted` (ids of schema.registry.TABLES) that a database holds, as in text files. An
    unreadable part is skipped and reported."""
    report = reading.report
    out: dict[str, Table] = {}
    with open_database(reading.path, report) as connection:
        if connection is None:
            return out
        progress = DatabaseProgress(size_of(reading.path), reading.progress)
        source = Source(connection, report, reading.spool, progress.count_rows, counted=True)
        parts = [part for part in _TABLE_READERS if set(part.fills) & set(wanted) and any(map(source.has, part.needs))]
        known = {schema.RANK_DEVICE.table, *(need.table for part in _TABLE_READERS for need in part.needs)}
        if known.isdisjoint(source.tables):  # if nothing ran during the capture, only RANK_DEVICE exists
            report.add("no_profiler_tables", found=", ".join(sorted(source.tables)))
        source.report_lost(schema.SELECTS.values(), schema.PROVEN)
        context = Context(source, reading.show)
        progress.total_rows = source.rows(
            dict.fromkeys(table for part in parts for table in (*part.needs, *part.reads))
        )
        for number, part in enumerate(parts, 1):
            try:
                tables = part.read(context)
            except sqlite3.DatabaseError as error:
                report.table_damaged(part.needs[0].table, error)
                tables = {}
            out.update({name: table for name, table in tables.items() if name in wanted})
            progress.set_built(number / len(parts))
        for select in schema.SETTINGS:  # read before, with the capture settings
            source.read(select)
        source.count_others({select.table for part in parts for select in (*part.needs, *part.counts)})
        if parts:
            source.count_unread(schema.SELECTS.values())
    return out
