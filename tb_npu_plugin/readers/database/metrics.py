"""AI Core metrics of kernels.
Source: docs/facts/ascend_pt.md, Metric columns; docs/facts/databases.md, ascend_pytorch_profiler.db."""

from __future__ import annotations

from typing import Any

import numpy as np

from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.source import spool_column, unknown_floats
from tb_npu_plugin.schema import torch_npu_db_reading as schema
from tb_npu_plugin.schema.metrics import header_of, metric_column
from tb_npu_plugin.tables import NULL_INT, Column, Data, IntArray, Kind

_KIB = 1024


def metric_columns(context: Context, task_ids: IntArray) -> list[tuple[Column, Data]]:
    """Return a column per metric, in order of first occurrence. task_ids: globalTaskId of each row, NULL_INT for none."""
    if not context.source.has(schema.METRICS):
        return []
    columns: dict[int, np.ndarray[Any, Any]] = {}

    def take(chunk: dict[str, Any]) -> None:
        if "value" not in chunk:  # told as a lost column
            return
        rows = _find_rows(ordered, chunk["task"])
        found, first = np.unique(chunk["name"], return_index=True)
        for name in found[np.argsort(first)].tolist():
            if name not in columns:
                columns[name] = unknown_floats(context.spool, len(task_ids))
            mine = (chunk["name"] == name) & (rows >= 0)
            columns[name][rows[mine]] = chunk["value"][mine]

    ordered = _sort_ids(task_ids)
    context.source.chunks(schema.METRICS, (), take)
    out: list[tuple[Column, Data]] = []
    for id_, values in columns.items():
        name = context.strings.text(id_)
        if name is not None and not name.startswith(schema.NO_SUCH_UNIT):
            column, data = _column(name, values)
            out.append((column, spool_column(context.spool, data)))
    return out


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
