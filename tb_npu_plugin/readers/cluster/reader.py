"""Reads the tables of all ranks, with a column `rank`, and selects those of one rank."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.cluster.database import of_ranks, read_database
from tb_npu_plugin.readers.shared.csv_reader import read_csv
from tb_npu_plugin.readers.shared.json_file import read_object
from tb_npu_plugin.readers.shared.json_shapes import member, members, object_members
from tb_npu_plugin.readers.shared.lost_columns import report_lost
from tb_npu_plugin.readers.shared.reading import Reading, Tables
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.settings import read_settings_file
from tb_npu_plugin.readers.text.communication import Entry, entry_of, flat_tables, links_table
from tb_npu_plugin.schema import cluster, scan_keys
from tb_npu_plugin.schema.formats import CLUSTER
from tb_npu_plugin.schema.torch_npu_csv import STEP_TRACE
from tb_npu_plugin.tables import NULL_INT, Column, Table, known_cells


def read_capture(folder: Path, files: Sequence[str], log: ProblemLog) -> Capture:
    """Return empty settings: cluster exports hold no capture settings. Reports damage in the groups, from which the scan takes
    the ranks if no step times are left."""
    if cluster.GROUPS.name in files:
        report = FileReport(log, cluster.GROUPS.name)
        content = read_settings_file(folder / cluster.GROUPS.name, log)
        for kind in scan_keys.GROUP_KINDS:
            for group in member(report, content, kind, list):
                if not isinstance(group, list):
                    report.add("unexpected_shape", kind, expected=Message("expected.list"), found=str(group), kind=kind)
    return Capture()


def read_file(reading: Reading) -> Tables:
    """As readers.text.reader.read_file, for all ranks; a database provides the tables that text files lack."""
    spec = CLUSTER.file(reading.name)
    if spec is cluster.STEPS:
        table = read_csv(reading, cluster.STEPS)
        if table is None:
            return {}
        report_lost([one for one in spec.columns if not one.written and not table.has(one.key)], reading.report)
        return {"step_trace": _by_rank(table, reading.report)}
    if spec is cluster.DATABASE:
        return read_database(reading, reading.missing_tables(spec))
    report = reading.report
    content = read_object(reading, exact=True)
    if content is None:
        return {}
    if spec is cluster.MATRIX:
        return {"comm_links": links_table(_links(content, report), report)}
    return _operators(content, report)


def select(tables: Tables, part: str) -> Tables:
    """Return the rows of one rank; of links, those that start at it."""
    out = {}
    for name, table in tables.items():
        key = "src" if name == "comm_links" else cluster.RANK.key
        own = table.take(table.ints(key) == int(part))
        out[name] = Table.of((column for column in own.columns if column.key != cluster.RANK.key), own.data)
    return out


def _by_rank(table: Table, report: FileReport) -> Table:
    """Return the rows of ranks with a rank column. Rows of another type, and without a valid rank, are dropped and
    reported; rows of stages count as shown, as views compute them."""
    types = table.text(cluster.ROW_TYPE.key)
    table = _without(table, ~types.isin([scan_keys.BY_RANK, scan_keys.BY_STAGE]), cluster.ROW_TYPE, report)
    own = table.take(table.text(cluster.ROW_TYPE.key).equals(scan_keys.BY_RANK))
    index = own.text(cluster.INDEX_COLUMN.key)
    named = index.isin([text for text in index.values if scan_keys.INDEX.fullmatch(text)])
    own = _without(own, ~named, cluster.INDEX_COLUMN, report)
    index = own.text(cluster.INDEX_COLUMN.key)
    numbers = [int(text) if scan_keys.INDEX.fullmatch(text) else NULL_INT for text in index.values]
    ranks = np.array([*numbers, NULL_INT], dtype=np.int64)[index.codes]
    return Table.of(STEP_TRACE.columns, own.data).with_columns([(cluster.RANK, ranks)])


def _without(table: Table, wrong: NDArray[np.bool_], column: Column, report: FileReport) -> Table:
    """Drop and report the rows with a wrong text in a column."""
    if not wrong.any():
        return table
    found = table.text(column.key)[int(np.flatnonzero(wrong)[0])] or ""
    report.add("bad_required_cell", column.headers[0], found=found, count=int(wrong.sum()), kind=column.key)
    kept = table.take(~wrong)
    report.drop("rows", len(table) - len(kept))
    report.drop("cells", known_cells(table) - known_cells(kept))
    return kept


def _operators(content: dict[str, Any], report: FileReport) -> Tables:
    """Read cluster_communication.json: ranks of a group -> step -> name@group -> rank -> figures."""
    entries: dict[int, list[Entry]] = defaultdict(list)
    for step, key, ranks in _inner(content, report):
        report.count("entries", shown=1)
        report.count("entries", "ranks", seen=len(ranks))
        for rank, value in ranks.items():
            if not scan_keys.INDEX.fullmatch(rank) or not isinstance(value, dict):
                report.leave_out_entry(f"{step}, {key}, {rank}", value, part="ranks")
                continue
            entries[int(rank)].append(entry_of(step, _kind_of(key), key, value))
    parts = {rank: flat_tables(own, report) for rank, own in sorted(entries.items())}
    out: Tables = {}
    for name in ("comm_ops", "comm_bandwidth", "comm_packets"):
        table = of_ranks({rank: own[name] for rank, own in parts.items()})
        if table is not None:
            out[name] = table
    return out


def _links(content: dict[str, Any], report: FileReport) -> Iterator[Entry]:
    """Read cluster_communication_matrix.json: ranks of a group -> step -> type-statistic@group -> link -> figures."""
    for step, key, links in _inner(content, report):
        yield entry_of(step, _kind_of(key), key, links)


def _inner(content: dict[str, Any], report: FileReport) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (step, key, value) of both JSON files."""
    for group, steps in content.items():
        for step, entries in members(report, steps, group):
            for key, value in object_members(report, entries, f"{group}, {step}"):
                yield step, key, value


def _kind_of(key: str) -> str:
    return "p2p" if cluster.POINT_TO_POINT.search(key.partition("@")[0]) else "collective"
