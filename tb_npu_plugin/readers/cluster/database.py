"""Reads cluster_analysis.db: the tables of analysis.db with a rank in each row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping

import numpy as np

from tb_npu_plugin.analysis.grouping import concat
from tb_npu_plugin.readers.database.communication import (
    comm_bandwidth,
    comm_links,
    comm_ops,
    comm_packets,
    count_bandwidth,
)
from tb_npu_plugin.readers.database.opening import open_database
from tb_npu_plugin.readers.database.progress import DatabaseProgress, size_of
from tb_npu_plugin.readers.database.source import Rows, Source
from tb_npu_plugin.readers.database.steps import step_table
from tb_npu_plugin.readers.shared.reading import Reading, Tables
from tb_npu_plugin.schema import cluster, scan_keys
from tb_npu_plugin.schema.torch_npu_db import Select, together
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS, COMM_TOTAL
from tb_npu_plugin.tables import Table

_SELECTS = (cluster.STEP_ROWS, cluster.TIME_ROWS, cluster.BANDWIDTH_ROWS, cluster.MATRIX_ROWS)


def read_database(reading: Reading, wanted: Collection[str]) -> Tables:
    """Return the logical tables `wanted` that the database holds. Unreadable tables and rows without a rank are skipped
    and reported; invalid cells are unknown."""
    with open_database(reading.path, reading.report) as connection:
        if connection is None:
            return {}
        progress = DatabaseProgress(size_of(reading.path), reading.progress)
        source = Source(connection, reading.report, reading.spool, progress.count_rows, counted=True)
        source.report_lost(_SELECTS, together(*(select.table for select in _SELECTS)))
        progress.total_rows = source.rows(_SELECTS)
        bandwidth = _operators(source, cluster.BANDWIDTH_ROWS)
        found = {
            "step_trace": _steps(source),
            "comm_ops": _by_rank(_operators(source, cluster.TIME_ROWS), comm_ops),
            "comm_bandwidth": _by_rank(bandwidth, comm_bandwidth),
            "comm_packets": _by_rank(bandwidth, comm_packets),
            "comm_links": comm_links(_operators(source, cluster.MATRIX_ROWS)),
        }
        for select, name in (
            (cluster.STEP_ROWS, "step_trace"),
            (cluster.TIME_ROWS, "comm_ops"),
            (cluster.MATRIX_ROWS, "comm_links"),
        ):
            source.count(select, shown=len(found[name] or ()))
        count_bandwidth(source, cluster.BANDWIDTH_ROWS, bandwidth)
        source.count_unread(_SELECTS)
        progress.set_built(1)
    return {name: table for name, table in found.items() if name in wanted and table is not None and len(table)}


def of_ranks(tables: Mapping[int, Table]) -> Table | None:
    """Concatenate the tables of ranks, with a rank column; None without ranks."""
    ranked = [
        table.with_columns([(cluster.RANK, np.full(len(table), rank, dtype=np.int64))])
        for rank, table in sorted(tables.items())
    ]
    return concat(ranked[0].columns, ranked) if ranked else None


def _steps(source: Source) -> Table | None:
    """Return the steps of ranks. Rows of stages count as shown, as views compute them."""
    rows = source.read(cluster.STEP_ROWS)
    types, index = rows.texts(cluster.ROW_TYPE.key), rows.texts(cluster.INDEX_COLUMN.key)
    ranks: dict[int, list[int]] = defaultdict(list)
    for row in range(len(rows)):
        if types[row] == scan_keys.BY_STAGE:
            source.count(cluster.STEP_ROWS, shown=1)
        elif types[row] == scan_keys.BY_RANK and scan_keys.INDEX.fullmatch(index[row] or ""):
            ranks[int(index[row] or "")].append(row)
        else:
            is_of_rank = types[row] == scan_keys.BY_RANK
            key, text = ("index", index[row]) if is_of_rank else ("type", types[row])
            source.count(cluster.STEP_ROWS, told=1)
            source.report.add("bad_required_cell", f"{scan_keys.DB_STEPS}, {key}", found=text or "NULL", kind=key)
    return of_ranks({rank: step_table(rows.take(np.array(own))) for rank, own in ranks.items()})


def _operators(source: Source, select: Select) -> Rows:
    """Return the rows of operators, with a kind (p2p, collective) from the name. Totals count as shown, as views compute
    them."""
    every = source.read(select)
    names = every.texts("name")
    rows = every.take(np.array([row for row, name in enumerate(names) if name != COMM_TOTAL], dtype=np.int64))
    source.count(select, shown=len(every) - len(rows))
    p2p, collective = COMM_KINDS
    kinds = [p2p if cluster.POINT_TO_POINT.search(name or "") else collective for name in rows.texts("name")]
    return Rows(len(rows), {**rows.data, "kind": kinds})


def _by_rank(rows: Rows, make: Callable[[Rows], Table]) -> Table | None:
    ranks = rows.ints("rank")
    order = np.argsort(ranks, kind="stable")
    found, first = np.unique(ranks[order], return_index=True)
    parts = np.split(order, first[1:])
    return of_ranks({rank: make(rows.take(part)) for rank, part in zip(found.tolist(), parts)})
