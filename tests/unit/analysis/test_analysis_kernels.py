"""Shares of kernels where some count for nothing. Sums and groups: tests/oracle/test_kernel.py."""

from __future__ import annotations

import numpy as np

from tb_npu_plugin.analysis.kernels import statistics as kernels
from tests.support.span import table_of


def test_top_computing_goes_by_name_where_no_type_is_known() -> None:
    keys = ("name", "type", "core", "dur_ns")
    rows = [("a1", "A", "AI_CORE", 25), ("b1", "B", "AI_VECTOR_CORE", 5), ("hcom_1", "hcom", "HCCL", 40)]
    listed = [dict(zip(keys, row)) for row in rows]
    by_type = kernels.top_computing(table_of("kernels", listed), 1)
    by_name = kernels.top_computing(table_of("kernels", [{**row, "type": None} for row in listed]), 10)
    assert by_type.text("type").tolist() == ["A"]
    assert by_type.floats("share").tolist() == [25 / 30]  # of all computing kernels, not of the top ones
    assert by_name.text("name").tolist() == ["a1", "b1"]


def test_kernels_of_no_duration_and_copies_have_no_share_of_computing() -> None:
    empty = table_of("kernels", [{"name": "k", "core": "AI_CORE", "dur_ns": 0}])
    assert np.isnan(kernels.by_name(empty).floats("share")).all()
    rows = table_of(
        "kernels", [{"name": name, "core": core, "dur_ns": 5} for name, core in (("k", "KERNEL"), ("c", "MEMCPY"))]
    )
    for table in (kernels.by_name(rows), kernels.top_computing(rows, 9)):
        assert dict(zip(table.text("core").tolist(), table.floats("share").tolist()))["KERNEL"] == 1.0
        assert np.isnan(table.floats("share")).sum() == 1
