"""Removes placeholder values of memory files: 0 for the process's allocated memory in memory_record.csv, N/A in two
columns of operator_memory.csv. Source: docs/facts/ascend_ms.md, Memory files of MindSpore."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tb_npu_plugin.schema.mindspore import APP
from tb_npu_plugin.tables import NULL_INT, Table, known

_NEVER_RECORDED = ("active_release_ns", "active_dur_ns")
_NOT_RECORDED = ("allocated_bytes", "active_bytes")


def without_zeros(records: Table) -> Table:
    """Set the process's allocated and active memory to unknown if the file says 0."""
    app = records.text("component").equals(APP)
    data = dict(records.data)
    for key in _NOT_RECORDED:
        if records.has(key):
            values = records.ints(key)
            data[key] = np.where(app & (values == 0), NULL_INT, values)
    return replace(records, data=data)


def without_unknown(allocations: Table) -> Table:
    """Drop the columns of active release if they have no value: otherwise every block would be shown as still held."""
    kept = tuple(
        column
        for column in allocations.columns
        if column.key not in _NEVER_RECORDED or known(allocations.ints(column.key)).any()
    )
    return Table(kept, {column.key: allocations.data[column.key] for column in kept})
