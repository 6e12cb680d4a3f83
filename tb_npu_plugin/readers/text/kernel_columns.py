"""Adds computed columns to the kernels, for all formats that have what they need."""

from __future__ import annotations

from tb_npu_plugin.analysis.kernels.bound import with_bound
from tb_npu_plugin.analysis.kernels.l2_cache import with_l2
from tb_npu_plugin.analysis.kernels.work import with_work
from tb_npu_plugin.tables import Table


def with_kernel_columns(tables: dict[str, Table]) -> dict[str, Table]:
    """Add L2 cache rates, bound, FLOPs and least traffic to the kernels, where known."""
    kernels, rates = tables.get("kernels"), tables.get("l2_cache")
    if kernels is None:
        return tables
    if rates is not None:
        kernels = with_l2(kernels, rates)
    return {**tables, "kernels": with_work(with_bound(kernels))}
