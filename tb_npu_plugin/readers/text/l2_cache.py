"""L2 rates into the table of the kernels, for every kind of result that has them."""

from __future__ import annotations

from tb_npu_plugin.analysis.kernels.l2_cache import with_l2
from tb_npu_plugin.tables import Table


def with_l2_rates(tables: dict[str, Table]) -> dict[str, Table]:
    """The tables, kernels with the rates of l2_cache where both were read."""
    kernels, rates = tables.get("kernels"), tables.get("l2_cache")
    return tables if kernels is None or rates is None else {**tables, "kernels": with_l2(kernels, rates)}
