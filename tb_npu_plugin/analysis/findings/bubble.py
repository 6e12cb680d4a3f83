"""The bubble of a pipeline with few micro-batches: stages wait while it fills and drains."""

from __future__ import annotations

from typing import Optional

from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Rule, Subject, Unchecked
from tb_npu_plugin.analysis.findings.pipeline import micro_batches, stage_times
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.analysis.ledger.bubble import saved_by_batches
from tb_npu_plugin.messages import Message

#: Micro-batches for each stage from which on the bubble is small (GPipe, Huang et al. 2019: four times the stages).
_ENOUGH = 4
#: Least share of step time that is reported.
_LEAST_SHARE = 0.01
_FIX = Fix("fix.bubble", torch="fix.bubble.torch", megatron="fix.bubble.megatron", mindspore="fix.bubble.mindspore")


def find(run: RunData) -> list[Finding]:
    """The time that as many micro-batches as suit the stages would save."""
    stages, batches = run.stage_count, micro_batches(run)
    enough = _ENOUGH * stages
    if not 0 < batches < enough or not run.step_ns:
        return []
    times = stage_times(run).values()
    works = [min(one.work, run.step_ns - one.bubble) for one in times]
    bubble = max(one.bubble for one in times)
    works += [sum(works) / len(works)] * (stages - len(works))  # stages that were not profiled
    cost = round(min(saved_by_batches(works, batches, enough), bubble))
    if cost < _LEAST_SHARE * run.step_ns:
        return []
    return [
        Finding(
            rule=RULE.id,
            category=RULE.category,
            subject=Subject(),
            message=Message(
                "finding.bubble",
                count=batches,
                stages=stages,
                time=duration(bubble),
                share=percent(bubble / run.step_ns),
                enough=enough,
            ),
            cost_ns=cost,
            part="bubble",
            confidence=Confidence("inferred", len(run.lines)),
            evidence=(Evidence("distributed"),),
            fix=_FIX.of(run, count=enough),
            check=Message("check.bubble"),
        )
    ]


def missing(run: RunData) -> Optional[Unchecked]:
    """The stages of the ranks with their computing, and what they receive."""
    if not run.has_stages:
        return Unchecked(RULE.id, Message("unchecked.no_stages"), "") if run.has_pipeline_waits else None
    if not stage_times(run):
        return Unchecked(RULE.id, Message("unchecked.no_step_times"), "")
    waits = any(one.bubble >= _LEAST_SHARE * run.step_ns for one in stage_times(run).values())
    return Unchecked(RULE.id, Message("unchecked.no_batches"), "") if waits and not micro_batches(run) else None


RULE = Rule("bubble", "ranks", find, missing, needs_ranks=True, needs_training=True)
