"""Rows of the process in memory_record.csv: only what it reserved is recorded, the other figures are written as 0."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tb_npu_plugin.schema.mindspore import APP
from tb_npu_plugin.tables import NULL_INT, Table

_NOT_RECORDED = ("allocated_bytes", "active_bytes")


def without_zeros(records: Table) -> Table:
    """What the process allocated is unknown where the file says 0."""
    app = records.text("component").equals(APP)
    data = dict(records.data)
    for key in _NOT_RECORDED:
        if records.has(key):
            values = records.ints(key)
            data[key] = np.where(app & (values == 0), NULL_INT, values)
    return replace(records, data=data)
