"""Operators whose input shapes change from step to step. OP State cannot tell: kernels of the eager mode accept any shape and
are "dynamic" even if their shapes never change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.kernel_costs import costs, kernel_finding, missing_column
from tb_npu_plugin.analysis.findings.model import Finding, Rule, Unchecked
from tb_npu_plugin.analysis.findings.rank_kernels import RankKernels
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration
from tb_npu_plugin.messages import Message
from tb_npu_plugin.tables import FloatArray

#: Least number of steps that are needed to compare their shapes.
_LEAST_SHAPES = 3
_FIX = Fix("fix.dynamic_shapes", torch="fix.dynamic_shapes.torch", mindspore="fix.dynamic_shapes.mindspore")


def find(run: RunData) -> list[Finding]:
    """The rank with most time in such operators. What they cost is time of the host, so the finding itself costs nothing:
    rules about idle time have it."""
    changing = {rank.span.token: dynamic_types(rank) for rank in run.kernels}
    found = costs(run, lambda rank: _times(rank, changing[rank.span.token]))
    if found is None:
        return []
    message = Message(
        "finding.dynamic_shapes",
        rank=found.rank.name,
        kernels=found.listed(),
        count=len(found.items),
        kernel=found.top,
        shapes=changing[found.rank.span.token][found.top],
        steps=_steps(found.rank),
        time=duration(found.total),
    )
    return [kernel_finding(run, RULE, found, message, _FIX.of(run), is_loss=False)]


def dynamic_types(rank: RankKernels) -> dict[str, int]:
    """Types whose shapes change -> number of different sets of input shapes among the steps."""
    table = rank.marked
    types, steps, shapes = (table.text(key) for key in ("type", "step", "input_shapes"))
    rows = (types.codes >= 0) & (steps.codes >= 0) & (shapes.codes >= 0)
    of_steps = types.codes[rows].astype(np.int64) * len(steps.values) + steps.codes[rows]
    of_step, found = np.divmod(np.unique(of_steps * len(shapes.values) + shapes.codes[rows]), len(shapes.values))
    begins = np.flatnonzero(np.diff(of_step, prepend=-1)).tolist()
    of_type: dict[int, set[bytes]] = {}
    for first, last in zip(begins, [*begins[1:], len(found)]):
        of_type.setdefault(int(of_step[first]) // len(steps.values), set()).add(found[first:last].tobytes())
    return {types.values[type]: len(sets) for type, sets in of_type.items() if len(sets) >= _LEAST_SHAPES}


def _times(rank: RankKernels, types: Iterable[str]) -> FloatArray:
    rows = rank.table.text("type").isin(types)
    return np.where(rows, rank.table.ints("dur_ns"), 0).astype(np.float64)


def _steps(rank: RankKernels) -> int:
    return len(np.unique(rank.marked.text("step").codes))


def missing(run: RunData) -> Optional[Unchecked]:
    """Shapes of the kernels in three steps."""
    found = missing_column(run, RULE.id, "input_shapes")
    if found is not None or not run.recorded.has_npu:
        return found
    steps = max((_steps(rank) for rank in run.kernels), default=0)
    if steps >= _LEAST_SHAPES:
        return None
    return Unchecked(RULE.id, Message("unchecked.few_steps", count=steps, least=_LEAST_SHAPES), "schedule(active=3)")


RULE = Rule("dynamic_shapes", "host", find, missing, device="NPU")
