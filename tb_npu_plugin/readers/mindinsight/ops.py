"""Reads operators of legacy results: times by type and by operator, framework details, FLOPs.

Each file gives an intermediate table; `with_logical_tables` builds the logical tables from them.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tb_npu_plugin.analysis.grouping import Groups, divide_half_even, largest_first
from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.shared.figures import RowBuilder, sum_or_none
from tb_npu_plugin.readers.shared.reading import Reading, Tables
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.text_rows import open_rows, text
from tb_npu_plugin.schema import mindinsight as names
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.schema.torch_npu_csv import KERNELS, OP_STATISTIC, TENSORS
from tb_npu_plugin.tables import NULL_INT, Column, Kind, StringColumn, Table, known, nullable
from tb_npu_plugin.units import TIME_UNITS, unit_of

_MS = TIME_UNITS["ms"]
#: Intermediate tables.
TYPES, OPS, AICPU, FRAMEWORK, FLOPS = "_types", "_ops", "_aicpu", "_framework", "_flops"
#: Intermediate table -> logical table that `with_logical_tables` builds from it.
PARTS = {TYPES: "op_statistic", AICPU: "op_statistic", OPS: "op_totals", FRAMEWORK: "op_totals", FLOPS: "op_totals"}

_T, _I, _D = Kind.TEXT, Kind.INT, Kind.DURATION
_TYPES = (Column("type", _T), Column("total_ns", _D), Column("calls", _I))
_OPS = (Column("name", _T), Column("avg_ns", _D), Column("calls", _I))
_AICPU = (Column("type", _T), Column("total_ns", _D))
_FRAMEWORK = tuple(
    Column(key, _I if key in ("stream_id", "block_dim") else _T)
    for key in ("name", "type", "kernel", "subgraph", "stream_id", "block_dim", *TENSORS)
)
_FLOPS = tuple(
    Column(key, _T if key == "name" else Kind.FLOAT) for key in ("name", "flops", "flops_rate", "utilisation")
)
_INDEX = re.compile(r"(\d+)")


def read_types(reading: Reading) -> Tables:
    """Read aicore_intermediate type by column position: type, total ms, calls. The share, which follows, is recomputed."""
    return _by_place(reading, TYPES, _TYPES, len(_TYPES) + 1)


def read_ops(reading: Reading) -> Tables:
    """Read aicore_intermediate detail by column position: name, mean ms, calls."""
    return _by_place(reading, OPS, _OPS, len(_OPS))


def _by_place(reading: Reading, table: str, columns: tuple[Column, ...], width: int) -> Tables:
    """width: number of columns of the file."""
    out = RowBuilder(columns)
    with open_rows(reading) as rows:
        if rows is None:
            return {}
        if len(rows.header) < width:
            rows.report_missing(Message("expected.columns", count=width))
            return {}
        for line, cells in rows.lines:
            name = text(cells, 0)
            if name is None:
                rows.report.leave_out("rows", "bad_required_cell", f"line {line}")
                continue
            out.add(
                name,
                *(
                    rows.amount(cells, place, _MS if column.kind is _D else 1, line)
                    for place, column in enumerate(columns[1:], 1)
                ),
            )
    return {table: out.counted(reading.report)}


def read_aicpu(reading: Reading) -> Tables:
    """Read aicpu_intermediate: one row per call, in ms."""
    out = RowBuilder(_AICPU)
    with open_rows(reading) as rows:
        if rows is None:
            return {}
        kind, total = rows.positions(names.AICPU_TYPE, names.AICPU_TOTAL)
        if kind is None or total is None:
            rows.report_missing(f"{names.AICPU_TYPE}, {names.AICPU_TOTAL}")
            return {}
        for line, cells in rows.lines:
            out.add(text(cells, kind), rows.amount(cells, total, _MS, line))
    return {AICPU: out.counted(reading.report)}


def read_framework(reading: Reading) -> Tables:
    """Read framework_raw: kernels of the network by full name, with their shapes."""
    out = RowBuilder(_FRAMEWORK)
    with open_rows(reading) as rows:
        if rows is None:
            return {}
        # Older files: full_kernel_name, op_name (full again), kernel_name; newer: full_op_name, op_name (short).
        place = {key: rows.first_position(headers) for key, headers in names.FRAMEWORK_HEADERS.items()}
        if place["full_name"] is None:
            rows.report_missing(" or ".join(names.FRAMEWORK_HEADERS["full_name"]))
            return {}
        rows.report_lost_headers(names.FRAMEWORK_WRITTEN)
        for line, cells in rows.lines:
            info = rows.object(cells, place["info"], line, exact=False)
            out.add(
                *(text(cells, place[key]) for key in ("full_name", "type", "kernel", "subgraph")),
                *(rows.whole(cells, place[key], line) for key in ("stream_id", "block_dim")),
                *(
                    _join_property(info, side, word)
                    for side in (names.INPUT, names.OUTPUT)
                    for word in (names.SHAPE, names.DATA_TYPE, names.FORMAT)
                ),
            )
    return {FRAMEWORK: out.counted(reading.report)}


def _join_property(info: dict[str, Any], side: str, word: str) -> str | None:
    """Return one property of all inputs or outputs in order, separated by ";"."""
    keys = sorted((key for key in info if key.startswith(side)), key=_index_in)
    values = [str(info[key].get(word, "")) for key in keys if isinstance(info[key], dict)]
    return (
        ";".join(value[len(names.TYPE_PREFIX) :] if value.startswith(names.TYPE_PREFIX) else value for value in values)
        or None
    )


def _index_in(key: str) -> int:
    found = _INDEX.search(key)
    return int(found.group(1)[:9]) if found else 0


def read_flops(reading: Reading) -> Tables:
    """Read flops_<rank>.txt: name, then FLOPs (millions), FLOPS (1e9 per second) and utilization (percent). They have 3
    columns, or, separately for cube and vector cores, 4 (without utilization) or 6."""
    out = RowBuilder(_FLOPS)
    with open_rows(reading) as rows:
        if rows is None:
            return {}
        width = len(rows.header) - 1
        if width not in (3, 4, 6):
            rows.report_missing(Message("expected.memory_figures"))
            return {}
        for line, cells in rows.lines:
            values = [rows.real(cells, place, line) for place in range(1, width + 1)]
            half = width // 2 if width != 3 else 3
            cube, vector = values[:half], values[half:] or [0.0] * half
            # The utilization of vector cores refers to another peak: it is not added.
            used = cube[2] if half == 3 else None
            out.add(text(cells, 0), sum_or_none(cube[0], vector[0]), sum_or_none(cube[1], vector[1]), used)
    return {FLOPS: out.counted(reading.report)}


def read_timeline_data(reading: Reading) -> Tables:
    """Read output_timeline_data into `kernels`: name, stream, start (ms, in newer files us) and duration (ms)."""
    keys = ("name", "stream_id", "start_ns", "dur_ns")
    columns = [next(column for column in KERNELS.columns if column.key == key) for key in keys]
    out = RowBuilder(columns)
    with open_rows(reading) as rows:
        if rows is None:
            return {}
        if len(rows.header) < len(keys):
            rows.report_missing("op_name, stream_id, start_time, duration")
            return {}
        # Old headers have no unit and mean ms; newer ones state it.
        units = [TIME_UNITS.get(unit_of(rows.header[place]), _MS) for place in (2, 3)]
        for line, cells in rows.lines:
            start, dur = rows.integer(cells, 2, units[0], line), rows.amount(cells, 3, units[1], line)
            if start is None or dur is None:
                rows.report.leave_out("rows", "bad_required_cell", f"line {line}", found=",".join(cells))
                continue
            out.add(text(cells, 0), rows.whole(cells, 1, line), start, dur)
    return {"kernels": out.counted(reading.report)}


def with_logical_tables(tables: Tables, log: ProblemLog) -> Tables:
    """Replace the intermediate tables by op_statistic and op_totals; report rows without a measured operator."""
    rest = {name: table for name, table in tables.items() if not name.startswith("_")}
    statistic = _statistic(tables)
    totals = _totals(tables)
    _report_unmatched(tables, log)
    if statistic is not None:
        rest["op_statistic"] = statistic
    if totals is not None:
        rest["op_totals"] = totals
    return rest


def _statistic(tables: Tables) -> Table | None:
    out = RowBuilder([column for column in OP_STATISTIC.columns if column.key in _STATISTIC])
    for name, core in ((TYPES, names.AI_CORE), (AICPU, names.AI_CPU)):
        table = tables.get(name)
        if table is None:
            continue
        calls = table.ints("calls") if name == TYPES else np.ones(len(table), dtype=np.int64)
        types = Groups([table.text("type")], len(table))
        times = table.ints("total_ns")
        total, count = types.sum(times), types.sum(calls)
        labels = table.text("type").take(types.first).tolist()
        both = known(times) & known(calls)
        avg = divide_half_even(types.sum(np.where(both, times, NULL_INT)), types.sum(np.where(both, calls, NULL_INT)))
        for row in range(len(types)):
            out.add(
                labels[row],
                core,
                *(None if value == NULL_INT else int(value) for value in (count[row], total[row], avg[row])),
                None,
            )
    found = out.table()
    if not len(found):
        return None
    total = found.ints("total_ns")
    sum_ns = int(total[known(total)].sum())
    share = np.where(known(total), 100 * total / sum_ns if sum_ns else np.nan, np.nan)
    table = Table(found.columns, {**found.data, "ratio": share})
    return table.take(largest_first(table.ints("total_ns")))


_STATISTIC = ("type", "core", "calls", "total_ns", "avg_ns", "ratio")


def _report_unmatched(tables: Tables, log: ProblemLog) -> None:
    """Report FLOPs rows without an operator, and the framework's list if it matches no operator at all: it also lists
    operators without times."""
    ops, work, framework = tables.get(OPS), tables.get(FLOPS), tables.get(FRAMEWORK)
    measured = [] if ops is None else ops.text("name").tolist()
    by_work = _rows_by_name(work)
    used = {_work_of(name, by_work) for name in measured} - {None}
    lost = 0 if work is None else len(work) - len(used)
    unknown = 0 if framework is None or not _rows_by_name(framework).keys().isdisjoint(measured) else len(framework)
    for spec, table, count in ((names.OP_FLOPS, work, lost), (names.FRAMEWORK, framework, unknown)):
        if table is not None and count:
            FileReport(log, spec.name).add(
                "unmatched", found=Message("found.unmatched_rows", count=count, rows=len(table))
            )


def _work_of(name: str | None, by_work: dict[str | None, int]) -> int | None:
    """Return the FLOPs row of an operator; some versions omit the scope in its name there."""
    return by_work.get(name, by_work.get(_short_name(name)))


def _short_name(name: str | None) -> str:
    return (name or "").rpartition("/")[2]


def _totals(tables: Tables) -> Table | None:
    """Return one row per timed operator, with its framework details and FLOPs."""
    ops = tables.get(OPS)
    if ops is None:
        return None
    framework, flops = tables.get(FRAMEWORK), tables.get(FLOPS)
    by_name = _rows_by_name(framework)
    by_work = _rows_by_name(flops)
    out = RowBuilder(columns_of("op_totals"))
    labels = ops.text("name").tolist()
    avg, calls = (nullable(ops.ints(key)) for key in ("avg_ns", "calls"))
    total = [None if a is None or c is None else a * c for a, c in zip(avg, calls)]
    total_ns = sum(value for value in total if value is not None)
    known_of = {key: _values(framework, key) for key in (column.key for column in _FRAMEWORK) if key != "name"}
    work_of = {key: _values(flops, key) for key in ("flops", "flops_rate", "utilisation")}
    for row, name in enumerate(labels):
        place, work = by_name.get(name), _work_of(name, by_work)
        details = {key: None if place is None else values[place] for key, values in known_of.items()}
        out.add(
            name,
            details["type"] or _type_in(_short_name(name)),
            names.AI_CORE,
            calls[row],
            total[row],
            avg[row],
            None if total[row] is None or not total_ns else total[row] / total_ns,  # type: ignore[operator]
            *(None if work is None else work_of[key][work] for key in ("flops", "flops_rate", "utilisation")),
            details["kernel"],
            *(details[key] for key in TENSORS),
            details["block_dim"],
            details["stream_id"],
            details["subgraph"],
        )
    return out.table()


def _type_in(short: str) -> str | None:
    """Return the type in an operator name: "Conv2D" for "Conv2D-op13"."""
    kind, dash, _ = short.rpartition("-op")
    return kind if dash and kind else None


def _rows_by_name(table: Table | None) -> dict[str | None, int]:
    """Return the first row of each name."""
    if table is None:
        return {}
    found: dict[str | None, int] = {}
    for row, name in enumerate(table.text("name").tolist()):
        found.setdefault(name, row)
    return found


def _values(table: Table | None, key: str) -> list[Any]:
    """Return a column as a list; None is unknown."""
    if table is None:
        return []
    data = table.data[key]
    if isinstance(data, StringColumn):
        return data.tolist()
    if table.column(key).kind.is_int:
        return nullable(table.ints(key))
    return [value if value == value else None for value in table.floats(key).tolist()]
