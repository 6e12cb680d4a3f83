"""Optimizers of PyTorch that torch_npu offers as one fused kernel for all parameters."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.findings.kernel_costs import costs, kernel_finding
from tb_npu_plugin.analysis.findings.model import Finding, Rule, Unchecked
from tb_npu_plugin.analysis.findings.rank_kernels import RankKernels
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration
from tb_npu_plugin.messages import Message
from tb_npu_plugin.tables import FloatArray

_STEP = re.compile(r"^Optimizer\.step#(?P<name>\w+)\.step$")
#: Optimizers with a fused form in torch_npu.optim.
_FUSED = frozenset("AdamW SGD Adadelta Lamb AdamP BertAdam RMSprop RMSpropTF Adam".split())  # noqa: SIM905
#: Kernels of an optimizer that is not fused: one for each operation on all parameters; and of one that is.
_FOREACH, _APPLY = "Foreach", "Apply"

#: Share of their time that the fused kernel saves: AdamW's moves a quarter of their bytes at half of their rate. On a real
#: device it reached 0.4 of the memory's peak, the others 0.7 to 1 (docs/capture.md, Cost).
_SAVED = 0.5


def find(run: RunData) -> list[Finding]:
    """The rank with most time in kernels of such an optimizer."""
    if not run.recorded.is_torch:
        return []
    name = next((name for rank in run.kernels for name in _optimizers(rank)), None)
    found = None if name is None else costs(run, _times)
    if name is None or found is None:
        return []
    count = round(sum(found.calls.values()))
    message = Message(
        "finding.optimizer",
        rank=found.rank.name,
        optimizer=name,
        kernels=found.listed(),
        count=count,
        time=duration(found.total),
    )
    saved = replace(found, items={kernel: round(time * _SAVED) for kernel, time in found.items.items()})
    return [kernel_finding(run, RULE, saved, message, [Message("fix.optimizer", optimizer=name)])]


def _optimizers(rank: RankKernels) -> list[str]:
    """Optimizers of a rank that have a fused form and do not use it."""
    operators = rank.span.table("operators")
    if operators is None or _kernels(rank, _APPLY).any():
        return []
    found = (_STEP.match(name) for name in operators.text("name").values)
    return [one["name"] for one in found if one and one["name"] in _FUSED]


def _kernels(rank: RankKernels, form: str) -> NDArray[np.bool_]:
    """Mask of the kernels of optimizers of this form."""
    return rank.are(["optimizer"]) & rank.table.text("type").matching(lambda type: type.startswith(form))


def _times(rank: RankKernels) -> FloatArray:
    rows = _kernels(rank, _FOREACH)
    if not _optimizers(rank):
        rows &= False
    return np.where(rows, rank.table.ints("dur_ns"), 0).astype(np.float64)


def missing(run: RunData) -> Optional[Unchecked]:
    """Operators of the host."""
    if not run.kernels or not run.recorded.is_torch or any(span.table("operators") is not None for span in run.spans):
        return None
    return Unchecked(RULE.id, Message("unchecked.no_operators"), "activities=[ProfilerActivity.CPU, ...]")


RULE = Rule("optimizer", "compute", find, missing, device="NPU", needs_training=True)
