"""Totals of a rank over the averaged steps, for the rules that compare ranks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from typing import Any, Optional

from tb_npu_plugin.analysis.findings.text import rank_name
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.analysis.run.budgets import RankBudget
from tb_npu_plugin.model import SpanData


@dataclass(frozen=True)
class RankTotals:
    """A rank, or one of its devices. Times are sums of the known values of RankBudget over the averaged steps, ns; None: not
    recorded."""

    span: SpanData
    device_id: Optional[int]
    stage: Optional[int]
    computing: Optional[int] = None
    communication_not_overlapped: Optional[int] = None
    copying: Optional[int] = None
    free: Optional[int] = None
    bubble: Optional[int] = None
    repeats: Optional[int] = None
    same_kernels: Optional[int] = None
    same_kernels_expected: Optional[int] = None

    @property
    def name(self) -> str:
        """See rank_name; with several devices "rank 3 · device 1"."""
        name = rank_name(self.span)
        return name if self.device_id is None else f"{name} · device {self.device_id}"

    @property
    def title(self) -> str:
        """The name at the start of a sentence."""
        return self.name[:1].upper() + self.name[1:]

    @property
    def whole_ns(self) -> int:
        """Sum of the known parts of the steps."""
        parts = (self.computing, self.communication_not_overlapped, self.copying, self.free)
        return sum(part or 0 for part in parts)


_SUMMED = tuple(field.name for field in fields(RankTotals) if field.name not in ("span", "device_id", "stage"))


def totals_of_ranks(
    spans: Sequence[SpanData], budgets: Sequence[RankBudget], averaged: Collection[Optional[str]]
) -> list[RankTotals]:
    """One per rank and device, in the order of `budgets`. averaged: steps that count; all if a rank has none of them."""
    by_line: dict[tuple[str, Optional[int]], list[RankBudget]] = {}
    for budget in budgets:
        by_line.setdefault((budget.span, budget.device_id), []).append(budget)
    by_token = {span.token: span for span in spans}
    return [
        RankTotals(by_token[span], device, pipeline_stage(by_token[span].capture), **_sums(own, averaged))
        for (span, device), own in by_line.items()
    ]


def _sums(budgets: Sequence[RankBudget], averaged: Collection[Optional[str]]) -> dict[str, Any]:
    budgets = [budget for budget in budgets if budget.step in averaged] or budgets
    known = {name: [value for one in budgets if (value := getattr(one, name)) is not None] for name in _SUMMED}
    return {name: sum(values) if values else None for name, values in known.items()}
