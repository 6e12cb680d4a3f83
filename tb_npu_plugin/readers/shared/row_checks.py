"""Checks the rows of all tables, of text and databases alike: figures within their bounds, each row once, rows in order.

Bounds are those of the columns (tables.Column); which rows may be equal and which order files have is below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.shared.numbered_steps import with_known_preparing
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.tables import NULL_INT, Column, Data, IntArray, StringColumn, Table, known, known_cells

# What holds for the rows of a table. Seen in all recorded results; docs/facts/ascend_pt.md has the files.

#: Tables with rows that may be equal: calls have no time there, or counts begin anew in each epoch.
REPEATABLE = frozenset(
    ("operators", "operator_shapes", "_launches", "_host_batches", "_device_batches", "minddata_cpu", "comm_packets")
)
#: Table -> the columns that identify a row. Elsewhere rows are the same if all columns are equal.
KEYS: dict[str, tuple[str, ...]] = {
    "step_trace": ("rank", "row_type", "index", "device_id", "step"),
    "op_statistic": ("device_id", "model_name", "type", "core"),
    "api_statistic": ("device_id", "level", "name"),
    "parallel_times": ("step", "average"),
}
#: Table -> (column whose values each have an order, or "", column that increases: times, or texts of whole numbers).
IN_ORDER: dict[str, tuple[str, str]] = {
    "kernels": ("", "start_ns"),
    "task_time": ("", "start_ns"),
    "data_preprocess": ("", "time_ns"),
    "memory_record": ("component", "time_ns"),
    "module_memory": ("component", "time_ns"),
    "step_trace": ("device_id", "step"),
}


Mask = NDArray[np.bool_]
Tables = Mapping[str, Table]
#: Numbers with fewer digits are below 2**63.
_DIGITS = 19


def check_rows(tables: Mapping[str, Table], files: Mapping[str, str], log: ProblemLog) -> dict[str, Table]:
    """Return the tables without impossible figures and repeated rows, in the order of the profiler; report what was changed.
    files: table -> file name, for problems."""
    return {name: _checked(name, table, FileReport(log, files.get(name, ""))) for name, table in tables.items()}


def count_changes(read: Tables, checked: Tables, finished: Tables, files: Mapping[str, str], log: ProblemLog) -> None:
    """Count what was taken out of tables whose rows are those of a file: cells by checks, rows by checks or later. Later,
    figures that stand for unknown, such as a 0 of MindSpore, become unknown; that is no loss."""
    for name, table in read.items():
        if ("cells", "") not in log.seen.of(files.get(name, "")):
            continue
        report = FileReport(log, files[name])
        report.drop("rows", len(table) - len(finished.get(name, ())))
        if checked[name] is not table:
            report.drop("cells", known_cells(table) - known_cells(checked[name]))


def within_bounds(tables: Mapping[str, Table], file: str, log: ProblemLog) -> dict[str, Table]:
    """Return tables computed from the events of a file without impossible figures."""
    return {name: _within_bounds(table, FileReport(log, file)) for name, table in tables.items()}


def _checked(name: str, table: Table, report: FileReport) -> Table:
    table = _within_bounds(with_known_preparing(table) if name == "step_trace" else table, report)
    return _in_order(name, _without_repeats(name, table, report), report)


def title_of(column: Column) -> str:
    """Name of a column in problems: as files write it, if they do."""
    return column.headers[0] if column.headers else column.title


def _within_bounds(table: Table, report: FileReport) -> Table:
    """Set impossible figures to unknown; drop rows where the figure is required."""
    changed: dict[str, Data] = {}
    dropped = np.zeros(len(table), dtype=np.bool_)
    for column in table.columns:
        values = table.data[column.key]
        if column.bounds is None or isinstance(values, StringColumn):
            continue
        wrong = _outside(values, column.bounds)
        if wrong is None:
            continue
        least, most = column.bounds
        first = int(np.flatnonzero(wrong)[0])
        report.add(
            "bad_required_cell" if column.required else "out_of_bounds",
            f"row {first + 1}, {title_of(column)}",
            expected=Message("expected.in_bounds", least=f"{least:.15g}", most=f"{most:.15g}"),
            found=str(values[first]),
            kind=column.key,
            count=int(wrong.sum()),
        )
        if column.required:
            dropped |= wrong
        else:
            changed[column.key] = np.where(wrong, NULL_INT if values.dtype.kind == "i" else np.nan, values)
    if changed:
        table = replace(table, data={**table.data, **changed})
    return table.take(~dropped) if dropped.any() else table


def _outside(values: NDArray[Any], bounds: tuple[float, float]) -> Mask | None:
    """Return the mask of the known values outside the bounds; None if there are none."""
    wrong = np.asarray((values < bounds[0]) | (values > bounds[1]))
    if values.dtype.kind == "i":
        wrong &= values != NULL_INT
    return wrong if wrong.any() else None


def _without_repeats(name: str, table: Table, report: FileReport) -> Table:
    """Drop rows that are in the table already."""
    if name in REPEATABLE or len(table) < 2:
        return table
    keys = [key for key in KEYS.get(name, ()) if table.has(key)] or [column.key for column in table.columns]
    repeated = _repeated(table, keys)
    if not len(repeated):
        return table
    where = ", ".join(f"row {row + 1}" for row in repeated[:1].tolist())
    report.add("repeated_row", where, count=len(repeated), kind=name)
    kept = np.ones(len(table), dtype=np.bool_)
    kept[repeated] = False
    return table.take(kept)


def _repeated(table: Table, keys: list[str]) -> IntArray:
    """Return the rows that equal an earlier one in all `keys`. Columns divide the rows into groups of equal ones, those first
    that leave few; rows that are alone in their group are left out of the next column."""
    rows: IntArray = np.arange(len(table), dtype=np.int64)
    groups = np.zeros(len(table), dtype=np.int64)
    for key in sorted(keys, key=lambda key: not key.endswith("_ns")):
        data = table.data[key]
        values = data.codes[rows] if isinstance(data, StringColumn) else data[rows]
        numbers = np.unique(values, return_inverse=True)[1].reshape(-1)
        _, groups, sizes = np.unique(
            groups * (int(numbers.max(initial=0)) + 1) + numbers, return_inverse=True, return_counts=True
        )
        groups = groups.reshape(-1)
        shared = sizes[groups] > 1
        rows, groups = rows[shared], groups[shared]
        if not len(rows):
            return rows
    order = np.lexsort((rows, groups))
    is_later = np.concatenate([[False], groups[order][1:] == groups[order][:-1]])
    repeated: IntArray = np.sort(rows[order][is_later])
    return repeated


def _numbers(table: Table, key: str) -> IntArray:
    """Return a column as integers. A text that is no number becomes a negative number of its own; without the column all are 0."""
    if not table.has(key):
        return np.zeros(len(table), dtype=np.int64)
    data = table.data[key]
    if not isinstance(data, StringColumn):
        return table.ints(key)
    values = [
        int(text) if text.isdecimal() and len(text) < _DIGITS else -number for number, text in enumerate(data.values)
    ]
    return np.array([*values, NULL_INT], dtype=np.int64)[data.codes]


def _in_order(name: str, table: Table, report: FileReport) -> Table:
    """Order the rows as the profiler writes them, if they are not."""
    if name not in IN_ORDER or len(table) < 2 or table.has("rank"):  # files of several ranks have another order
        return table
    group, key = IN_ORDER[name]
    times, parts = _numbers(table, key), _numbers(table, group)
    by_part = np.argsort(parts, kind="stable")
    steps, same = np.diff(times[by_part]), parts[by_part][1:] == parts[by_part][:-1]
    wrong = (steps < 0) & same & known(times[by_part][:-1]) & known(times[by_part][1:])
    if not wrong.any():
        return table
    column = title_of(table.column(key))
    report.add(
        "not_in_order", column, expected=Message("expected.rows_in_order", column=column), count=int(wrong.sum())
    )
    return table.take(np.argsort(times, kind="stable"))
