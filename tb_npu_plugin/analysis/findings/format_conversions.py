"""Kernels that only change format, type or layout of tensors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.kernel_costs import Costs, kernel_rule
from tb_npu_plugin.analysis.findings.kernel_groups import KernelGroup, groups_of
from tb_npu_plugin.analysis.findings.rank_kernels import RankKernels
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.analysis.kernels.meaning import PRODUCTS
from tb_npu_plugin.messages import Message
from tb_npu_plugin.tables import FloatArray

#: Types, and what to do about each.
_FIX = {
    "TransData": Fix("fix.format_conversions.format", torch="fix.format_conversions.format.torch"),
    "Cast": Fix(
        "fix.format_conversions.type",
        torch="fix.format_conversions.type.torch",
        megatron="fix.format_conversions.type",
        mindspore="fix.format_conversions.type.mindspore",
    ),
    "Transpose": Fix("fix.format_conversions.layout", torch="fix.format_conversions.layout.torch"),
}
_OF_LOGITS = Fix(
    "fix.format_conversions.logits",
    torch="fix.format_conversions.logits.torch",
    megatron="fix.format_conversions.logits.megatron",
)
#: Kernels convert their inputs themselves, whatever the setting of formats; the longest axis that the matrix unit reads as it is.
_INSIDE, _WIDE, _LONGEST_AXIS = Fix("fix.format_conversions.inside"), Fix("fix.format_conversions.wide"), 65_535
#: Calls of CANN that convert formats and nothing else.
_CONVERTS = ("aclnnTransData", "aclnnNpuFormatCast")
#: Least last dimension of logits; layers, whose products run more often than the head's by this factor, have smaller ones.
_LEAST_VOCABULARY, _MORE_OFTEN = 16_384, 4
#: Least share of the cost of a type that has advice.
_ADVISED = 0.1
#: Kinds of kernels of a type that are examined.
_GROUPS = 200
#: Least share of computing time.
_LEAST_SHARE = 0.05


def _conclude(run: RunData, found: Costs) -> Optional[tuple[Message, Sequence[Message]]]:
    """The rank with most conversions, if they take a good part of its computing."""
    share = found.total * run.step_count / int(found.rank.table.ints("dur_ns").sum())
    if share < _LEAST_SHARE:
        return None
    calls, cost = round(sum(found.calls.values())), _times(found.rank)
    types = [type for type, time in found.items.items() if time >= _ADVISED * found.total]
    fix = [text for type in types for text in _fixes(run, groups_of(run, found.rank, cost, type))]
    message = Message(
        "finding.format_conversions",
        rank=found.rank.name,
        kernels=found.listed(),
        count=calls,
        time=duration(found.total),
        share=percent(share),
    )
    return message, fix


def _fixes(run: RunData, groups: Sequence[KernelGroup]) -> tuple[Message, ...]:
    """What to do about the kernels of one type: about the reason that costs most, naming its largest kernels."""
    by_fix: dict[Fix, list[KernelGroup]] = {}
    for group in groups[:_GROUPS]:
        by_fix.setdefault(_fix(group), []).append(group)
    fix, own = max(by_fix.items(), key=lambda one: sum(group.ns for group in one[1]))
    return fix.of(run, kernels=own[0].text, operator=own[0].call, axis=_LONGEST_AXIS)


def _fix(group: KernelGroup) -> Fix:
    if group.type == "Cast" and _are_logits(group):
        return _OF_LOGITS
    if group.type == "TransData" and group.call and group.call not in _CONVERTS:
        return _WIDE if any(size > _LONGEST_AXIS for tensor in group.inputs for size in tensor.dims) else _INSIDE
    return _FIX[group.type]


def _are_logits(group: KernelGroup) -> bool:
    """Whether the last dimension is that of a vocabulary: large, and of few matrix products."""
    size = next((tensor.dims[-1] for tensor in group.inputs if len(tensor.dims) > 1), 0)
    if size < _LEAST_VOCABULARY:
        return False
    table = group.rank.table
    products = table.take(group.rank.are(PRODUCTS)).text("input_shapes")
    counts = np.bincount(products.codes[products.codes >= 0], minlength=len(products.values))
    has_size = np.array([str(size) in re.split("[,;]", shapes) for shapes in products.values], dtype=bool)
    own = int(counts[has_size].max(initial=0))
    return own > 0 and own * _MORE_OFTEN <= int(counts.max())


def _times(rank: RankKernels) -> FloatArray:
    rows = rank.table.text("type").isin(_FIX)
    return np.where(rows, rank.table.ints("dur_ns"), 0).astype(np.float64)


RULE = kernel_rule("format_conversions", ["type"], _times, _conclude)
