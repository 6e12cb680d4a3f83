"""Matrix kernels that keep one unit busy for a reason that can be changed.

Compute-bound: the matrix unit computes FP32 at a quarter of the rate of FP16 and BF16. Memory-bound: rows that are not
aligned are read slower. Neither is a loss by itself, so these findings cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.kernel_costs import Costs, kernel_rule
from tb_npu_plugin.analysis.findings.kernel_groups import largest_group, unaligned
from tb_npu_plugin.analysis.findings.rank_kernels import RankKernels
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration
from tb_npu_plugin.analysis.kernels.bound import COUNTERS, LABELS
from tb_npu_plugin.analysis.kernels.meaning import PRODUCTS
from tb_npu_plugin.analysis.kernels.work import SIZES, tensors
from tb_npu_plugin.messages import Message
from tb_npu_plugin.tables import FloatArray

_FP32 = ("FLOAT", "FLOAT32")
_COMPUTE_FIX = Fix("fix.compute_bound", torch="fix.compute_bound.torch", mindspore="fix.compute_bound.mindspore")


def _conclude_fp32(run: RunData, found: Costs) -> tuple[Message, Sequence[Message]]:
    """The rank with most time in such kernels."""
    message = Message("finding.compute_bound", rank=found.rank.name, kernels=found.listed(), time=duration(found.total))
    return message, _COMPUTE_FIX.of(
        run, kernels=largest_group(run, found.rank, _fp32_times(found.rank), found.top).text
    )


def _fp32_times(rank: RankKernels) -> FloatArray:
    is_fp32 = rank.table.text("input_types").matching(_is_fp32)
    rows = rank.table.text("bound").equals(LABELS["mac"]) & is_fp32
    return np.where(rows, rank.table.ints("dur_ns"), 0).astype(np.float64)


def _is_fp32(types: str) -> bool:
    """Whether the first input is FP32."""
    return types.removeprefix("DT_").partition(";")[0] in _FP32


COMPUTE_BOUND = kernel_rule("compute_bound", COUNTERS, _fp32_times, _conclude_fp32, is_loss=False)

#: Rows of matrices start at multiples of this, bytes, where reading is fastest.
_ALIGNMENT = 256
_MEMORY_FIX = Fix("fix.memory_bound")


def _conclude_unaligned(run: RunData, found: Costs) -> tuple[Message, Sequence[Message]]:
    """The rank with most time in such kernels."""
    group = largest_group(run, found.rank, _unaligned_times(found.rank), found.top)
    shapes = found.rank.table.text("input_shapes")[int(group.rows[0])] or "–"
    padded = (
        text for tensor in group.inputs[:2] for text in unaligned(tensor, 1, _ALIGNMENT // SIZES.get(tensor.type, 1))
    )
    fix = _MEMORY_FIX.of(run, kernels=group.text, dims=", ".join(dict.fromkeys(padded)))
    message = Message(
        "finding.memory_bound",
        rank=found.rank.name,
        kernel=found.top,
        shapes=shapes,
        time=duration(found.total),
        alignment=_ALIGNMENT,
    )
    return message, fix


def _unaligned_times(rank: RankKernels) -> FloatArray:
    table = rank.table
    rows = table.text("bound").equals(LABELS["mte2"]) & rank.are(PRODUCTS)
    shapes, types = table.text("input_shapes"), table.text("input_types")
    for row in np.unique(np.stack([shapes.codes, types.codes])[:, rows], axis=1).T.tolist():
        if is_aligned(shapes.values[row[0]] if row[0] >= 0 else None, types.values[row[1]] if row[1] >= 0 else None):
            rows &= ~((shapes.codes == row[0]) & (types.codes == row[1]))
    return np.where(rows, table.ints("dur_ns"), 0).astype(np.float64)


def is_aligned(shapes: Optional[str], types: Optional[str]) -> bool:
    """True if the rows of both matrices are multiples of 256 bytes, or unknown."""
    found = tensors(shapes, types, None)
    sizes = [tensor.dims[-1] * SIZES.get(tensor.type, 0) for tensor in (found or [])[:2] if tensor.dims]
    return all(size % _ALIGNMENT == 0 for size in sizes)


MEMORY_BOUND = kernel_rule("memory_bound", COUNTERS, _unaligned_times, _conclude_unaligned, is_loss=False)
