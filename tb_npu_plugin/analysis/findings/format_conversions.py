"""Kernels that only change format, type or layout of tensors."""

from __future__ import annotations

from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.findings.kernel_costs import costs, kernel_finding, missing_column
from tb_npu_plugin.analysis.findings.model import Finding, Rule, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RankKernels, RunData
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.messages import Message
from tb_npu_plugin.tables import FloatArray

#: Types, and what to do about each.
_FIX = {
    "TransData": "fix.format_conversions.format",
    "Cast": "fix.format_conversions.type",
    "Transpose": "fix.format_conversions.layout",
}
#: Least share of computing time.
_LEAST_SHARE = 0.05


def find(run: RunData) -> list[Finding]:
    """The rank with most conversions, if they take a good part of its computing."""
    found = costs(run, _times)
    if found is None:
        return []
    share = found.total * run.step_count / int(found.rank.table.ints("dur_ns").sum())
    if share < _LEAST_SHARE:
        return []
    calls = round(sum(found.calls.values()))
    message = Message(
        "finding.format_conversions",
        rank=found.rank.name,
        kernels=found.listed(),
        count=calls,
        time=duration(found.total),
        share=percent(share),
    )
    return [kernel_finding(run, RULE, found, message, [Message(_FIX[type]) for type in found.items])]


def _times(rank: RankKernels) -> FloatArray:
    rows = rank.table.text("type").isin(_FIX)
    return np.where(rows, rank.table.ints("dur_ns"), 0).astype(np.float64)


def missing(run: RunData) -> Optional[Unchecked]:
    """The types of the kernels."""
    return missing_column(run, RULE.id, "type")


RULE = Rule("format_conversions", "compute", find, missing)
