"""Matrix kernels that keep the matrix unit busy with FP32, which it computes at a quarter of the rate of FP16 and BF16."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.kernel_costs import Costs, kernel_rule
from tb_npu_plugin.analysis.findings.kernel_groups import largest_group
from tb_npu_plugin.analysis.findings.rank_kernels import RankKernels
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration
from tb_npu_plugin.analysis.kernels.bound import COUNTERS, LABELS
from tb_npu_plugin.messages import Message
from tb_npu_plugin.tables import FloatArray

_FP32 = ("FLOAT", "FLOAT32")
_FIX = Fix("fix.compute_bound", torch="fix.compute_bound.torch", mindspore="fix.compute_bound.mindspore")


def _conclude(run: RunData, found: Costs) -> tuple[Message, Sequence[Message]]:
    """The rank with most time in such kernels. That is no loss by itself, so the finding costs nothing."""
    message = Message("finding.compute_bound", rank=found.rank.name, kernels=found.listed(), time=duration(found.total))
    return message, _FIX.of(run, kernels=largest_group(run, found.rank, _times(found.rank), found.top).text)


def _times(rank: RankKernels) -> FloatArray:
    is_fp32 = rank.table.text("input_types").matching(_is_fp32)
    rows = rank.table.text("bound").equals(LABELS["mac"]) & is_fp32
    return np.where(rows, rank.table.ints("dur_ns"), 0).astype(np.float64)


def _is_fp32(types: str) -> bool:
    """Whether the first input is FP32."""
    return types.removeprefix("DT_").partition(";")[0] in _FP32


RULE = kernel_rule("compute_bound", COUNTERS, _times, _conclude, is_loss=False)
