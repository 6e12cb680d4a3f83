"""Experts of a mixture of experts that take different times: the other ranks wait before they combine the results."""

from __future__ import annotations

from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.findings.kernel_costs import LEVEL_1, missing_column
from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Rule, Subject, Unchecked
from tb_npu_plugin.analysis.findings.rank_kernels import RankKernels
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.analysis.kernels.meaning import is_fused
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.analysis.run.experts import ExpertTimes, expert_times, is_grouped
from tb_npu_plugin.messages import Message

#: Least relative distance of the longest rank to the mean of all.
_LEAST_EXCESS = 0.1
#: Least cost, as a share of the step.
_LEAST_SHARE = 0.01
#: Kernels that wait for the results of the experts. Waits before a dispatch come from attention or the host.
_COMBINE = "Combine"


def find(run: RunData) -> list[Finding]:
    """The rank of each pipeline stage whose experts take longest, if others wait for them."""
    ranks = run.kernels
    found = expert_times([one.table for one in ranks], [pipeline_stage(one.span.capture) for one in ranks])
    findings = (_of_stage(run, one) for one in found)
    return [finding for finding in findings if finding is not None]


def _of_stage(run: RunData, found: ExpertTimes) -> Optional[Finding]:
    """A rank that runs everything slower has no slower experts: its times are divided by that factor."""
    others = np.array([_other_time(run.kernels[at]) for at in found.ranks])
    slower = np.maximum(others / max(float(np.median(others)), 1.0), 1.0)
    per_step = found.time if run.is_marked else found.time / run.step_count
    time = per_step / slower[:, None]
    total = time.sum(axis=1)
    worst = int(total.argmax())
    rank = run.kernels[found.ranks[worst]]
    cost = round(min(float((time.max(axis=0) - time.mean(axis=0)).sum()), _waited(run)))
    if total[worst] <= total.mean() * (1 + _LEAST_EXCESS) or cost < max(_LEAST_SHARE * run.step_ns, 1):
        return None
    return Finding(
        rule=RULE.id,
        category=RULE.category,
        subject=Subject(rank.span.capture.rank, kernel=found.kernels[0]),
        message=Message(
            "finding.expert_imbalance",
            rank=rank.name,
            time=duration(float(per_step[worst].sum())),
            share=percent(total[worst] / total.mean() - 1),
            cost=duration(cost),
        ),
        cost_ns=cost,
        part="waiting",
        confidence=Confidence("measured", len(found.ranks)),
        evidence=(Evidence("distributed", table="experts"), Evidence("trace", rank.span.token)),
        fix=(Message("fix.expert_imbalance"),),
        check=Message("check.expert_imbalance"),
    )


def _other_time(rank: RankKernels) -> int:
    """Time of the kernels that neither belong to experts nor wait for other ranks, ns."""
    rows = ~is_grouped(rank.table) & ~is_fused(rank.table)
    return int(rank.table.ints("dur_ns")[rows].sum())


def _waited(run: RunData) -> float:
    """The longest wait of a rank that experts may explain, ns per step: in kernels that combine, where their waits are known; else
    all of its communication that nothing hides."""
    fused = run.communication.fused.of_line.values()
    if fused:
        return (
            max(
                sum(
                    int(end - start)
                    for start, end, kernel, step in zip(waits.start, waits.end, waits.kernel, waits.step)
                    if _COMBINE in (kernel or "") and (step is None or step in run.averaged)
                )
                for waits in fused
            )
            / run.step_count
        )
    return max((one.total("waiting", "transfer", "communication") for one in run.ledgers), default=0)


def missing(run: RunData) -> Optional[Unchecked]:
    """Types of the kernels."""
    found = missing_column(run, RULE.id, "type")
    if found is not None or not run.kernels or any((one.table.text("type").codes >= 0).any() for one in run.kernels):
        return found
    return Unchecked(RULE.id, Message("unchecked.no_types"), LEVEL_1)


RULE = Rule("expert_imbalance", "ranks", find, missing, device="NPU", needs_ranks=True)
