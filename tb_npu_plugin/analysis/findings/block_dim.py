"""Kernels whose blocks do not fill the cores: the last round leaves cores idle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.kernel_costs import (
    LEAST_KERNEL_NS,
    Costs,
    kernel_rule,
    missing_column,
    pipe_utilization,
)
from tb_npu_plugin.analysis.findings.kernel_groups import largest_group
from tb_npu_plugin.analysis.findings.model import Unchecked
from tb_npu_plugin.analysis.findings.rank_kernels import RankKernels
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration
from tb_npu_plugin.analysis.kernels.bound import LABELS
from tb_npu_plugin.analysis.kernels.meaning import MOVES
from tb_npu_plugin.messages import Message
from tb_npu_plugin.tables import FloatArray

_FIX = Fix("fix.block_dim")
#: Bounds of kernels that wait for memory.
_MEMORY = (LABELS["mte2"], LABELS["mte3"])
#: Cores that run the blocks of a kernel.
_CUBE, _VECTOR = ("AI_CORE", "MIX_AIC"), ("AI_VECTOR_CORE", "MIX_AIV")


def _conclude(run: RunData, found: Costs) -> tuple[Message, Sequence[Message]]:
    """The rank that loses most."""
    rows = found.rank.table.text("type").equals(found.top)
    loss = np.where(rows, lost_time(found.rank), 0.0)
    row = int(loss.argmax())
    fix = _FIX.of(run, kernels=largest_group(run, found.rank, loss, found.top).text)
    message = Message(
        "finding.block_dim",
        rank=found.rank.name,
        kernels=found.listed(),
        kernel=found.top,
        blocks=int(found.rank.table.ints("block_dim")[row]),
        cores=int(cores(found.rank)[row]),
        time=duration(found.total),
    )
    return message, fix


def cores(rank: RankKernels) -> FloatArray:
    """Cores of the device of the kind that each kernel runs on; NaN if unknown."""
    out = np.full(len(rank.table), np.nan)
    kind = rank.table.text("core")
    for names, count in ((_CUBE, rank.device.cube_cores), (_VECTOR, rank.device.vector_cores)):
        out[kind.isin(names)] = np.nan if count is None else count
    return out


def lost_time(rank: RankKernels) -> FloatArray:
    """Core time of each kernel, ns, that idle cores lose: duration x (1 - blocks / (rounds x cores)). Short kernels lose
    nothing, and kernels that wait for memory do not: more cores would wait, too."""
    blocks, count = rank.table.ints("block_dim").astype(np.float64), cores(rank)
    dur = rank.table.ints("dur_ns")
    waits = rank.table.text("bound").isin(_MEMORY) | rank.are(MOVES)
    rows = (blocks > 0) & ~np.isnan(count) & (dur >= LEAST_KERNEL_NS) & ~waits
    out = np.zeros(len(dur))
    rounds = np.ceil(blocks[rows] / count[rows])
    out[rows] = dur[rows] * (1 - blocks[rows] / (rounds * count[rows]))
    return out


def missing(run: RunData) -> Optional[Unchecked]:
    """Blocks of the kernels, and the cores of the device."""
    found = missing_column(run, RULE.id, "block_dim")
    if found is None and run.recorded.has_npu and all(rank.device.cube_cores is None for rank in run.kernels):
        return Unchecked(RULE.id, Message("unchecked.no_cores"), pipe_utilization(run))
    return found


RULE = replace(kernel_rule("block_dim", ["block_dim"], lost_time, _conclude), missing=missing)
