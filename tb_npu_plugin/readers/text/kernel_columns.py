"""Adds computed columns to the kernels, for all formats that have what they need."""

from __future__ import annotations

import numpy as np

from tb_npu_plugin.analysis.kernels.bound import with_bound
from tb_npu_plugin.analysis.kernels.work import with_work
from tb_npu_plugin.tables import Column, FloatArray, IntArray, Kind, Table, column_texts

# Adds L2 cache rates to kernels. Source: docs/facts/ascend_pt.md, Files copied from msprof.

COLUMNS = (
    Column("l2_hit_rate", Kind.RATIO, *column_texts("l2_hit_rate"), "metric"),
    Column("l2_victim_rate", Kind.RATIO, *column_texts("l2_victim_rate"), "metric"),
)
_RATES = ("hit_rate", "victim_rate")


def with_l2(kernels: Table, l2_cache: Table) -> Table:
    """The kernels with the columns above; NaN where no rate is known.

    A rate belongs to the kernel of the same name, stream and task. Task ids recur in long runs: if kernels and rates of
    a key differ in number, they cannot be matched and stay unknown.
    """
    keys = ("stream_id", "task_id", "name")
    if not len(l2_cache) or not all(table.has(key) for table in (kernels, l2_cache) for key in keys):
        return kernels
    code, count = _codes(kernels, l2_cache)
    mine, other = code[: len(kernels)], code[len(kernels) :]
    many = np.bincount(mine, minlength=count)
    same = many == np.bincount(other, minlength=count)
    # Match the n-th rate of a key with its n-th kernel: sort both stably by key; kernels are sorted by time.
    rows = np.argsort(mine, kind="stable")
    rows = rows[same[mine[rows]]]
    rates = np.argsort(other, kind="stable")
    rates = rates[same[other[rates]]]
    out: list[tuple[Column, FloatArray]] = []
    for column, name in zip(COLUMNS, _RATES):
        values = np.full(len(kernels), np.nan)
        values[rows] = l2_cache.floats(name)[rates]
        out.append((column, values))
    known = [(column, values) for column, values in out if not np.isnan(values).all()]
    return kernels.with_columns(known)


def _codes(kernels: Table, l2_cache: Table) -> tuple[IntArray, int]:
    """Code of the key of each row, kernels first; and the number of codes."""
    names, others = kernels.text("name"), l2_cache.text("name")
    number = {name: place for place, name in enumerate(names.values)}
    for name in others.values:
        number.setdefault(name, len(number))
    mine = np.array([*(number[name] for name in names.values), -1], dtype=np.int64)[names.codes]
    other = np.array([*(number[name] for name in others.values), -1], dtype=np.int64)[others.codes]
    code: IntArray = np.concatenate([mine, other])
    for key in ("stream_id", "task_id"):
        values = np.concatenate([kernels.ints(key), l2_cache.ints(key)])
        _, part = np.unique(values, return_inverse=True)
        _, code = np.unique(code * (int(part.max()) + 1) + part.reshape(-1), return_inverse=True)
        code = code.reshape(-1)
    return code, int(code.max()) + 1


def with_kernel_columns(tables: dict[str, Table]) -> dict[str, Table]:
    """Add L2 cache rates, bound, FLOPs and least traffic to the kernels, where known."""
    kernels, rates = tables.get("kernels"), tables.get("l2_cache")
    if kernels is None:
        return tables
    if rates is not None:
        kernels = with_l2(kernels, rates)
    return {**tables, "kernels": with_work(with_bound(kernels))}
