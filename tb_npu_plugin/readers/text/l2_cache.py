"""Adds L2 cache rates to the kernels, for all formats that have them."""

from __future__ import annotations

from tb_npu_plugin.analysis.kernels.l2_cache import with_l2
from tb_npu_plugin.tables import Table


def with_l2_rates(tables: dict[str, Table]) -> dict[str, Table]:
    """Add the rates of l2_cache to the kernels if both tables exist."""
    kernels, rates = tables.get("kernels"), tables.get("l2_cache")
    return tables if kernels is None or rates is None else {**tables, "kernels": with_l2(kernels, rates)}
