"""The bubble of a pipeline with few micro-batches: stages wait while it fills and drains."""

from __future__ import annotations

from typing import Optional

from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Rule, Subject, Unchecked
from tb_npu_plugin.analysis.findings.pipeline import BETWEEN_TWO, micro_batches, stages_of
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.analysis.run.devices import RankDevice
from tb_npu_plugin.messages import Message
from tb_npu_plugin.tables import known

#: Micro-batches for each stage from which on the bubble is small (GPipe, Huang et al. 2019: four times the stages).
_ENOUGH = 4
#: Least share of step time that is reported.
_LEAST_SHARE = 0.01


def find(run: RunData) -> list[Finding]:
    """The time that as many micro-batches as suit the stages would save.

    With p stages that work W in m micro-batches the step takes W (1 + (p - 1) / m).
    """
    stages, batches = stages_of(run), micro_batches(run)
    enough = _ENOUGH * stages
    if not 0 < batches < enough or not run.step_ns:
        return []
    work = max(_work(line) for line in run.communication.lines) / run.step_count
    bubble = max(line.sums.bubble or 0 for line in run.lines) / run.step_count
    cost = round(min(work * (stages - 1) * (1 / batches - 1 / enough), bubble))
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
            cost_kind="upper bound",
            part="bubble",
            confidence=Confidence("inferred", len(run.lines)),
            evidence=(Evidence("distributed"),),
            fix=(Message("fix.bubble", count=enough),),
            check=Message("check.bubble"),
        )
    ]


def _work(line: RankDevice) -> int:
    """Time from the first kernel of each step to the end of its last transfer between stages, without the bubble, ns."""
    ops, kernels, total = line.comm_ops, line.kernels(), 0
    if ops is None or kernels is None:
        return 0
    ops = ops.take(ops.text("kind").equals(BETWEEN_TWO) & known(ops.ints("start_ns")) & known(ops.ints("elapse_ns")))
    kernels = kernels.take(known(kernels.ints("start_ns")))
    for step in line.steps:
        ends = (ops.ints("start_ns") + ops.ints("elapse_ns"))[ops.text("step").equals(step.step or "")]
        starts = kernels.ints("start_ns")[kernels.text("step").equals(step.step or "")]
        if len(ends) and len(starts):
            total += max(int(ends.max()) - int(starts.min()) - (step.bubble or 0), 0)
    return total


def missing(run: RunData) -> Optional[Unchecked]:
    """The stages of the ranks, and what they receive."""
    if run.has_stages or not any((line.sums.bubble or 0) > 0 for line in run.lines):
        return None
    return Unchecked(RULE.id, Message("unchecked.no_stages"), "")


RULE = Rule("bubble", "ranks", find, missing)
