"""Tables "op_statistic" and "api_statistic". Source: docs/facts/ascend_pt.md, Statistics files."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.shared.figures import RowBuilder
from tb_npu_plugin.schema.torch_npu_csv import API_STATISTIC, OP_STATISTIC
from tb_npu_plugin.schema.torch_npu_db import CANN_API
from tb_npu_plugin.tables import NULL_INT, IntArray, Table

#: Device name of host calls in text exports.
_HOST = "host"


def op_statistic(kernels: Table, communication: str) -> dict[str, Table]:
    """Return kernels by type and core, longest total first; no table if types are unknown (level 0). communication:
    core of communication rows, which are left out."""
    types, cores = kernels.text("type"), kernels.text("core")
    computing = np.flatnonzero(~cores.equals(communication))
    if not (types.codes[computing] >= 0).any():
        return {}
    devices, device_code = np.unique(kernels.ints("device_id")[computing], return_inverse=True)
    key = types.codes[computing].astype(np.int64) + 1
    key = key * (len(cores.values) + 1) + cores.codes[computing] + 1
    groups = _Groups(key * len(devices) + device_code, kernels.ints("dur_ns")[computing])
    total_ns = int(groups.total.sum())
    columns = tuple(column for column in OP_STATISTIC.columns if column.key != "model_name")
    rows = RowBuilder(columns)
    for group in np.argsort(-groups.total, kind="stable").tolist():
        row = int(computing[groups.first[group]])
        total, count = int(groups.total[group]), int(groups.count[group])
        device = int(kernels.ints("device_id")[row])
        who = (None if device == NULL_INT else device, types[row], cores[row])
        times = (int(groups.least[group]), _mean_ns(total, count), int(groups.most[group]))
        rows.add(*who, count, total, *times, round(total * 100 / total_ns, 3) if total_ns else 0.0)
    return {"op_statistic": rows.table()}


def read_api_statistic(context: Context) -> dict[str, Table]:
    """Return CANN calls by level and name, in the order of their first calls."""
    calls = context.calls
    if not len(calls):
        return {}
    names = context.strings.names(calls.ints("name"))
    levels, level_code = np.unique(calls.ints("level"), return_inverse=True)
    order = np.argsort(calls.ints("start_ns"), kind="stable")
    dur = (calls.ints("end_ns") - calls.ints("start_ns"))[order]
    key = ((names.codes.astype(np.int64) + 1) * len(levels) + level_code)[order]
    groups = _Groups(key, dur)
    rows = RowBuilder(API_STATISTIC.columns)
    for group in range(len(groups.first)):
        row = int(order[groups.first[group]])
        total, count = int(groups.total[group]), int(groups.count[group])
        variance = (count * groups.squares[group] - total * total) / (count * count) / 1e6
        level = context.levels.text(int(levels[level_code[row]]))
        times = (_mean_ns(total, count), int(groups.least[group]), int(groups.most[group]))
        rows.add(_HOST, level, names[row], total, count, *times, round(variance, 3))
    table = rows.table()
    context.source.count(CANN_API, shown=int(table.ints("calls").sum()))
    return {"api_statistic": table}


def _mean_ns(total: int, count: int) -> int:
    """Return the mean in ns, rounded as in text exports: us with three decimals."""
    return round(round(total / count / 1000, 3) * 1000)


class _Groups:
    """Statistics of durations by key, in order of first occurrence. squares: Python ints, exact below _EXACT rows."""

    def __init__(self, key: IntArray, dur: IntArray) -> None:
        keys, first, code = np.unique(key, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        rank: NDArray[np.int64] = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        code = rank[code.reshape(-1)]
        self.first = first[order]
        self.count = np.bincount(code, minlength=len(keys))
        self.total = np.zeros(len(keys), dtype=np.int64)
        np.add.at(self.total, code, dur)
        self.least = np.full(len(keys), np.iinfo(np.int64).max)
        np.minimum.at(self.least, code, dur)
        self.most = np.full(len(keys), np.iinfo(np.int64).min)
        np.maximum.at(self.most, code, dur)
        by_group = np.argsort(code, kind="stable")
        bounds = np.append(0, np.cumsum(self.count))
        self.squares = [
            sum(value * value for value in dur[by_group[start:end]].tolist())
            if end - start < _EXACT
            else int(np.square(dur[by_group[start:end]].astype(np.float64)).sum())
            for start, end in zip(bounds, bounds[1:])
        ]


#: Groups with fewer rows add squares exactly.
_EXACT = 1 << 16
