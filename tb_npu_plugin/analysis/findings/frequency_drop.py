"""Cores that run below their clock: power, temperature or a limit."""

from __future__ import annotations

from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.findings.kernel_costs import LEAST_KERNEL_NS, costs, kernel_finding, missing_column
from tb_npu_plugin.analysis.findings.model import Finding, Rule, Unchecked
from tb_npu_plugin.analysis.findings.rank_kernels import RankKernels
from tb_npu_plugin.analysis.findings.run_data import RunData, median_of
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.analysis.kernels.meaning import is_fused
from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.chips import chip_of
from tb_npu_plugin.tables import FloatArray

#: Least mean drop of the clock, as in msprof-analyze's advisor.
_LEAST_DROP = 0.05


def find(run: RunData) -> list[Finding]:
    """The rank that loses most, if its kernels run below the clock on average. The clock: the highest of the run, or that
    of the chip."""
    full = max((_full_clock(rank) for rank in run.kernels), default=0.0)
    if not full:
        return []
    found = costs(run, lambda rank: _lost_time(rank, full))
    if found is None:
        return []
    drop = 1 - _mean_clock(found.rank) / full
    message = Message(
        "finding.frequency_drop",
        rank=found.rank.name,
        clock=f"{_mean_clock(found.rank):.0f} MHz",
        full=f"{full:.0f} MHz",
        share=percent(drop),
        time=duration(found.total),
    )
    return [kernel_finding(run, RULE, found, message, [Message("fix.frequency_drop")])]


def excess_of(run: RunData, rank: Optional[int]) -> float:
    """Time that a rank loses to its low clock, less the median of the other ranks, ns per step; 0 if one is unknown."""
    full = max((_full_clock(one) for one in run.kernels), default=0.0)
    if not full or any(not _full_clock(one) for one in run.kernels):
        return 0.0
    lost = {one.span.capture.rank: float(_lost_time(one, full).sum()) for one in run.kernels}
    others = [time for other, time in lost.items() if other != rank]
    return (lost[rank] - median_of(others)) / run.step_count if rank in lost and others else 0.0


def _clocks(rank: RankKernels) -> FloatArray:
    """Clock during each kernel that is long enough to measure it and does not wait for other ranks, MHz; NaN for others."""
    rows = (rank.table.ints("dur_ns") >= LEAST_KERNEL_NS) & ~is_fused(rank.table)
    return np.where(rows, rank.clocks, np.nan)


def _full_clock(rank: RankKernels) -> float:
    """Clock of a device, MHz; 0 if unknown. That of its chip counts only if the capture names the chip's version."""
    chip = chip_of(rank.span.capture.device_name)
    rated = chip.clock if chip and (rank.span.capture.device_name or "")[-1:].isdigit() else 0
    return max(float(rated), rank.device.clock_mhz or 0.0) if (~np.isnan(_clocks(rank))).any() else 0.0


def _mean_clock(rank: RankKernels) -> float:
    """Mean clock of a rank by time, MHz."""
    found = _clocks(rank)
    rows = ~np.isnan(found)
    dur = rank.table.ints("dur_ns")[rows]
    return float((found[rows] * dur).sum() / dur.sum())


def _lost_time(rank: RankKernels, full: float) -> FloatArray:
    """Time of each kernel, ns, that it would save at the full clock; none if the rank's mean drop is small."""
    found, dur = _clocks(rank), rank.table.ints("dur_ns")
    if np.isnan(found).all() or 1 - _mean_clock(rank) / full < _LEAST_DROP:
        return np.zeros(len(dur))
    return np.maximum(np.nan_to_num(dur * (1 - found / full)), 0.0)


def missing(run: RunData) -> Optional[Unchecked]:
    """Cycles of the cores."""
    return missing_column(run, RULE.id, "aic_total_cycles", "aiv_total_cycles", "total_cycles")


RULE = Rule("frequency_drop", "compute", find, missing, device="NPU")
