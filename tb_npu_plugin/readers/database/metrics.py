"""AI Core metrics of kernels.
Source: docs/facts/ascend_pt.md, Metric columns; docs/facts/databases.md, ascend_pytorch_profiler.db."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from typing import Any

import numpy as np

from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.recording import CHUNK_ROWS
from tb_npu_plugin.readers.database.source import spool_column
from tb_npu_plugin.readers.shared.spool import IN_MEMORY, Spool
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema.metrics import header_of, metric_column
from tb_npu_plugin.tables import NULL_INT, Column, Data, FloatArray, IntArray, Kind

_KIB = 1024


def metric_columns(context: Context, task_ids: IntArray) -> list[tuple[Column, Data]]:
    """Return a column per metric, in order of first occurrence. task_ids: globalTaskId of each row, NULL_INT for none."""
    source = context.source
    if not source.has(schema.METRICS):
        return []
    columns: dict[int, np.ndarray[Any, Any]] = {}
    rows_of: Counter[int] = Counter()  # metric -> rows of kernels
    unknown_of: Counter[int] = Counter()  # metric -> those without a value
    lost = 0

    def take(chunk: dict[str, Any]) -> None:
        nonlocal lost
        if "value" not in chunk:  # told as a lost column
            source.count(schema.METRICS, told=len(chunk["task"]))
            return
        rows, names, values = _find_rows(ordered, chunk["task"]), chunk["name"], chunk["value"]
        if (rows < 0).any():
            lost += int(np.count_nonzero(rows < 0))
            names, values, rows = names[rows >= 0], values[rows >= 0], rows[rows >= 0]
        found, first, counts = np.unique(names, return_index=True, return_counts=True)
        for at in np.argsort(first).tolist():
            name = int(found[at])
            if name not in columns:
                columns[name] = _unknown_floats(context.spool, len(task_ids))
            mine = names == name
            columns[name][rows[mine]] = values[mine]
            rows_of[name] += int(counts[at])
        unknown_of.update(names[np.isnan(values)].tolist())

    ordered = _sort_ids(task_ids)
    source.chunks(schema.METRICS, (), take)
    source.leave_out(schema.METRICS, "unknown_kernel", lost)
    out: dict[str, tuple[Column, Data]] = {}
    names = context.strings.names(np.array(list(columns), dtype=np.int64))
    for place, (id_, values) in enumerate(columns.items()):
        name = names[place] or str(id_)
        if name.startswith(schema.NO_SUCH_UNIT):
            source.hide(schema.METRICS, name, rows_of[id_])
            continue
        column, data = _column(name, values)
        if column.key in out:
            source.leave_out(schema.METRICS, "duplicate_header", rows_of[id_])
            continue
        repeated = rows_of[id_] - unknown_of[id_] - int(np.count_nonzero(~np.isnan(values)))
        source.leave_out(schema.METRICS, "repeated_row", repeated)
        source.count(schema.METRICS, shown=rows_of[id_] - repeated)
        out[column.key] = (column, spool_column(context.spool, data))
    return list(out.values())


def _sort_ids(ids: IntArray) -> tuple[IntArray, IntArray]:
    order = np.argsort(ids, kind="stable")
    return ids[order], order


def _find_rows(ordered: tuple[IntArray, IntArray], wanted: IntArray) -> IntArray:
    keys, order = ordered
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where((keys[at] == wanted) & (wanted != NULL_INT), order[at], -1)


def _column(name: str, values: np.ndarray[Any, Any]) -> tuple[Column, np.ndarray[Any, Any]]:
    """Convert a metric to the text export's column and unit."""
    header = schema.METRIC_NAMES.get(name, name)
    header = header_of(header)
    column, _ = metric_column(header)
    if column.kind is Kind.BYTES:
        values = values * _KIB
    if not column.kind.is_int:
        return column, values
    unknown = np.isnan(values) | (np.abs(values) >= 2.0**63)  # does not fit int64
    rounded = np.rint(np.where(unknown, 0.0, values))
    if column.kind is Kind.INT and (rounded != np.where(unknown, 0.0, values)).any():
        return Column(column.key, Kind.FLOAT, column.title, column.doc, column.group, column.headers), values
    return column, np.where(unknown, NULL_INT, rounded.astype(np.int64))


def _unknown_floats(spool: Spool, count: int) -> FloatArray:
    """Return a writable column of NaN, in a file if it is long."""
    if spool.folder is None or count * 8 <= IN_MEMORY:
        return np.full(count, np.nan)
    descriptor, name = tempfile.mkstemp(dir=spool.folder)
    os.close(descriptor)
    column: FloatArray = np.memmap(name, np.float64, "w+", shape=(count,))
    for start in range(0, count, CHUNK_ROWS):
        column[start : start + CHUNK_ROWS] = np.nan
    return column
