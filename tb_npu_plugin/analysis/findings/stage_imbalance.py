"""Pipeline stages that compute for different times: the others wait for the slowest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Optional

from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Rule, Subject, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData, median_of
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.analysis.run.budgets import RankBudget
from tb_npu_plugin.messages import Message

#: Least relative distance of the slowest stage to the mean of the others.
_LEAST_EXCESS = 0.05
#: Least cost, as a share of the step.
_LEAST_SHARE = 0.01


def find(run: RunData) -> list[Finding]:
    """The stage that computes longest, if it exceeds the others."""
    stages = _computing_by_stage(run)
    if len(stages) < 2:
        return []
    slowest = max(stages, key=lambda stage: stages[stage])
    others = [time for stage, time in stages.items() if stage != slowest]
    mean = sum(others) / len(others)
    if mean <= 0 or stages[slowest] <= mean * (1 + _LEAST_EXCESS):
        return []
    count = run.step_count
    cost = round(_excess(_work_by_stage(run), slowest) / count)
    if cost < _LEAST_SHARE * run.step_ns:
        return []
    return [
        Finding(
            rule=RULE.id,
            category=RULE.category,
            subject=Subject(stage=slowest),
            message=Message(
                "finding.stage_imbalance",
                stage=slowest,
                time=duration(stages[slowest] / count),
                share=percent(stages[slowest] / mean - 1),
                mean=duration(mean / count),
            ),
            cost_ns=cost,
            cost_kind="upper bound",
            part="bubble",
            confidence=Confidence("confirmed", len(run.lines)),
            evidence=(Evidence("distributed"),),
            fix=(Message("fix.stage_imbalance", stage=slowest),),
            check=Message("check.stage_imbalance"),
        )
    ]


def _excess(work: dict[int, float], slowest: int) -> float:
    """With the same work on all stages, the slowest works for the mean of all."""
    return max(work[slowest] - sum(work.values()) / len(work), 0.0)


def _computing_by_stage(run: RunData) -> dict[int, float]:
    """Median computing of the ranks of each stage, ns over all steps."""
    return _by_stage(run, lambda sums: sums.computing)


def _work_by_stage(run: RunData) -> dict[int, float]:
    """The same, with the communication that belongs to its layers: not the bubble, nor waiting for late ranks."""
    return _by_stage(run, _work)


def _work(sums: RankBudget) -> int:
    exposed = (sums.communication_not_overlapped or 0) - (sums.bubble or 0) - (sums.exposed_waiting or 0)
    return (sums.computing or 0) + max(exposed, 0)


def _by_stage(run: RunData, time_of: Callable[[RankBudget], Optional[int]]) -> dict[int, float]:
    """Median time of the ranks of each stage, ns over all steps."""
    by_stage: dict[int, list[float]] = {}
    for line in run.lines:
        if line.stage is not None and line.sums.computing is not None:
            by_stage.setdefault(line.stage, []).append(time_of(line.sums) or 0)
    return {stage: median_of(times) for stage, times in sorted(by_stage.items())}


def missing(run: RunData) -> Optional[Unchecked]:
    """Ranks of two stages or more."""
    if len(_computing_by_stage(run)) > 1 or not any((line.sums.bubble or 0) > 0 for line in run.lines):
        return None
    return Unchecked(RULE.id, Message("unchecked.no_stages"), "")


RULE = Rule("stage_imbalance", "ranks", find, missing)
