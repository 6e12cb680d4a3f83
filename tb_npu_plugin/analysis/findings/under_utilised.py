"""Matrix kernels in which no unit is busy for most of the time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.kernel_costs import LEAST_KERNEL_NS, Costs, kernel_rule
from tb_npu_plugin.analysis.findings.kernel_groups import KernelGroup, largest_group, unaligned
from tb_npu_plugin.analysis.findings.rank_kernels import RankKernels
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.analysis.kernels.bound import COUNTERS, NO_BOUND, bounds
from tb_npu_plugin.analysis.kernels.meaning import PRODUCTS
from tb_npu_plugin.messages import Message
from tb_npu_plugin.tables import FloatArray

_ALIGN, _MORE_ROWS, _TILING = (
    Fix("fix.under_utilised.align"),
    Fix("fix.under_utilised.rows"),
    Fix("fix.under_utilised.tiling"),
)
#: Dimensions of matrices that suit the matrix unit are multiples of this; with so many rows, more do not help.
_ALIGNMENT, _MANY_ROWS = 128, 4096
#: Classes of kernels that should keep the matrix unit busy.
MATRIX = (*PRODUCTS, "conv_forward", "conv_backward", "attention")


def _conclude(run: RunData, found: Costs) -> tuple[Message, Sequence[Message]]:
    """The rank that loses most."""
    busiest = _busiest(found.rank, found.top)
    message = Message(
        "finding.under_utilised",
        rank=found.rank.name,
        kernels=found.listed(),
        kernel=found.top,
        share=percent(busiest),
        time=duration(found.total),
    )
    return message, _fix(run, largest_group(run, found.rank, _lost_time(found.rank), found.top))


def _fix(run: RunData, group: KernelGroup) -> tuple[Message, ...]:
    """What to do about the kernels that lose most, by their shapes."""
    first = group.inputs[:1]
    axes = 2 if group.rank.are(PRODUCTS)[group.rows[0]] else 1
    padded = list(dict.fromkeys(text for tensor in group.inputs[:2] for text in unaligned(tensor, axes, _ALIGNMENT)))
    if padded:
        return _ALIGN.of(run, kernels=group.text, dims=", ".join(padded))
    is_large = any(max(tensor.dims[:-1], default=0) >= _MANY_ROWS for tensor in first)
    return (_TILING if is_large else _MORE_ROWS).of(run, kernels=group.text)


def _lost_time(rank: RankKernels) -> FloatArray:
    """Time of each kernel, ns, that it would save if its busiest unit were busy all the time."""
    table, dur = rank.table, rank.table.ints("dur_ns")
    if not table.has("bound"):
        return np.zeros(len(dur))
    rows = table.text("bound").equals(NO_BOUND) & rank.are(MATRIX) & (dur >= LEAST_KERNEL_NS)
    out = np.zeros(len(dur))
    out[rows] = dur[rows] * (1 - np.nan_to_num(bounds(table.take(rows)).busy, nan=1.0))
    return out


def _busiest(rank: RankKernels, type: str) -> float:
    """Busy share of the busiest unit of these kernels of a type, weighted by time."""
    chosen = rank.table.take(rank.table.text("bound").equals(NO_BOUND) & rank.table.text("type").equals(type))
    dur = chosen.ints("dur_ns")
    return float((bounds(chosen).busy * dur).sum() / dur.sum())


RULE = kernel_rule("under_utilised", COUNTERS, _lost_time, _conclude)
