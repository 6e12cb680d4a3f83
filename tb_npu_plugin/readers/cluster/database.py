"""The tables of cluster_analysis.db, of all ranks."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.database.communication import step_of
from tb_npu_plugin.readers.database.opening import opened_database
from tb_npu_plugin.readers.figures import Rows
from tb_npu_plugin.readers.report import FileReport
from tb_npu_plugin.readers.source import Progress
from tb_npu_plugin.schema import cluster
from tb_npu_plugin.schema import torch_npu_json as names
from tb_npu_plugin.schema.torch_npu_csv import STEP_TRACE
from tb_npu_plugin.tables import Kind, Table
from tb_npu_plugin.units import DECIMAL_SIZE_UNITS, TIME_UNITS, scaled

_MS, _US, _MB = TIME_UNITS["ms"], TIME_UNITS["us"], DECIMAL_SIZE_UNITS["MB"]
Row = dict[str, Any]


def read_database(
    path: Path, relative: str, log: ProblemLog, progress: Progress, wanted: Collection[str]
) -> dict[str, Table]:
    """Those of the logical tables `wanted` that it holds. A table that cannot be read costs itself."""
    report = FileReport(log, relative)
    out: dict[str, Table] = {}
    with opened_database(path, report) as connection:
        if connection is None:
            return out
        for table, (source, read) in _READERS.items():
            if table not in wanted:
                continue
            try:
                found = read(_rows(connection, source))
            except sqlite3.DatabaseError as error:
                report.add("damaged_table", source, found=str(error))
                continue
            if len(found):
                out[table] = found
    with suppress(OSError):
        progress(path.stat().st_size)
    return out


def _rows(connection: sqlite3.Connection, table: str) -> Iterator[Row]:
    """Rows of a table by the names of its columns; none where it is not there."""
    there = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone()
    if there is None:
        return
    cursor = connection.execute(f'SELECT * FROM "{table}"')
    columns = [column[0] for column in cursor.description]
    for row in cursor:
        values = (value.decode("utf-8", "replace") if isinstance(value, bytes) else value for value in row)
        yield dict(zip(columns, values))


def _steps(rows: Iterator[Row]) -> Table:
    keys = [column for column in STEP_TRACE.columns if column.kind is Kind.DURATION]
    out = Rows((STEP_TRACE.column("step"), *keys, cluster.RANK))
    for row in rows:
        index = str(row.get("index"))
        if row.get("type") == cluster.BY_RANK and cluster.INDEX.fullmatch(index):
            out.add(step_of(_text(row.get("step"))), *(_whole(row.get(key.key), _US) for key in keys), int(index))
    return out.table()


def _operators(rows: Iterator[Row]) -> Table:
    out = Rows((*names.COMM_OPS_COLUMNS, cluster.RANK))
    for row in rows:
        if row.get("hccl_op_name") == names.COMM_TOTAL:
            continue
        elapse, transit, wait, sync, idle = (
            _whole(row.get(f"{part}_time"), _MS) for part in ("elapsed", "transit", "wait", "synchronization", "idle")
        )
        if elapse is not None and transit is not None and wait is not None:
            idle = elapse - transit - wait
        out.add(
            *_who(row), _whole(row.get("start_timestamp"), _US), elapse, transit, wait, sync, idle,
            _real(row.get("wait_time_ratio")), _real(row.get("synchronization_time_ratio")), _count(row.get("rank_id")),
        )  # fmt: skip
    return out.table()


def _bandwidth(rows: Iterator[Row]) -> Table:
    """One row for all packages of a transport."""
    out = Rows((*names.COMM_BANDWIDTH_COLUMNS, cluster.RANK))
    seen = set()
    for row in rows:
        key = (*_who(row), row.get("band_type"), _count(row.get("rank_id")))
        if row.get("hccl_op_name") == names.COMM_TOTAL or key in seen:
            continue
        seen.add(key)
        transport = _text(row.get("band_type"))
        out.add(
            *_who(row), transport, int(transport in names.ROLLUP_TRANSPORTS), _whole(row.get("transit_size"), _MB),
            _whole(row.get("transit_time"), _MS), _real(row.get("bandwidth")), _real(row.get("large_packet_ratio")),
            _count(row.get("rank_id")),
        )  # fmt: skip
    return out.table()


def _packets(rows: Iterator[Row]) -> Table:
    out = Rows((*names.COMM_PACKETS_COLUMNS, cluster.RANK))
    for row in rows:
        count = _count(row.get("count"))
        if row.get("hccl_op_name") != names.COMM_TOTAL and count:
            size, time = _whole(row.get("package_size"), _MB), _whole(row.get("total_duration"), _MS)
            out.add(*_who(row), _text(row.get("band_type")), size, count, time, _count(row.get("rank_id")))
    return out.table()


def _links(rows: Iterator[Row]) -> Table:
    out = Rows(names.COMM_LINKS_COLUMNS)
    for row in rows:
        name = _text(row.get("hccl_op_name")) or ""
        if name == names.COMM_TOTAL:
            continue
        step, kind, _, group = _who(row)
        op_type, dash, stat = name.rpartition("-")
        out.add(
            step, kind, op_type if dash else name, stat if dash else None, group, _whole(row.get("src_rank"), 1),
            _whole(row.get("dst_rank"), 1), _text(row.get("transport_type")), _whole(row.get("transit_size"), _MB),
            _whole(row.get("transit_time"), _MS), _real(row.get("bandwidth")), _text(row.get("op_name")),
        )  # fmt: skip
    return out.table()


_READERS: dict[str, tuple[str, Callable[[Iterator[Row]], Table]]] = {
    "step_trace": (cluster.DB_STEPS, _steps),
    "comm_ops": (cluster.DB_TIME, _operators),
    "comm_bandwidth": (cluster.DB_BANDWIDTH, _bandwidth),
    "comm_packets": (cluster.DB_BANDWIDTH, _packets),
    "comm_links": (cluster.DB_MATRIX, _links),
}


def _who(row: Row) -> tuple[str | None, str, str, str | None]:
    """(step, kind, name, group)."""
    name = _text(row.get("hccl_op_name")) or ""
    kind = "p2p" if cluster.POINT_TO_POINT.search(name) else "collective"
    return step_of(_text(row.get("step"))), kind, name, _text(row.get("group_name"))


def _whole(value: Any, factor: int) -> int | None:
    """A figure in ns or bytes, by its shortest digits."""
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return scaled(repr(value), factor)


def _count(value: Any) -> int | None:
    """A rank or a number of packages."""
    return scaled(value, 1) if isinstance(value, str) else _whole(value, 1)


def _real(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value not in ("", "N/A") else None
