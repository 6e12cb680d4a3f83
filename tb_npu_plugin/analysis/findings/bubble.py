"""The bubble of a pipeline with few micro-batches: stages wait while it fills and drains."""

from __future__ import annotations

from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Rule, Subject, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.run.devices import RankDevice
from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS
from tb_npu_plugin.tables import known

#: Micro-batches for each stage from which on the bubble is small (GPipe, Huang et al. 2019: four times the stages).
_ENOUGH = 4
#: Least share of step time that is reported.
_LEAST_SHARE = 0.01
_BETWEEN_TWO = COMM_KINDS[0]


def find(run: RunData) -> list[Finding]:
    """The time that as many micro-batches as suit the stages would save.

    A stage works W in a step of m micro-batches; with p stages the step takes W (1 + (p - 1) / m).
    """
    stages = max((stage or 1 for stage in run.stages), default=1)
    lines = [(line, batches) for line in run.communication.lines if (batches := _micro_batches(line))]
    batches, enough = min((count for _, count in lines), default=0), _ENOUGH * stages
    if stages < 2 or not 0 < batches < enough or not run.step_ns:
        return []
    work = max(_work(line) for line, _ in lines) / run.step_count
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
            confidence=Confidence("inferred", len(lines)),
            evidence=(Evidence("distributed"),),
            fix=(Message("fix.bubble", count=enough),),
            check=Message("check.bubble"),
        )
    ]


def _micro_batches(line: RankDevice) -> int:
    """Micro-batches that a rank receives in a step from the same neighbour; 0 if it receives nothing."""
    ops = line.comm_ops
    if ops is None:
        return 0
    is_receive = np.asarray(["receive" in name.lower() or "recv" in name.lower() for name in ops.text("name").values])
    names = ops.text("name").codes
    chosen = ops.take(ops.text("kind").equals(_BETWEEN_TWO) & (names >= 0) & np.append(is_receive, False)[names])
    if not len(chosen):
        return 0
    counts = Groups([chosen.text("step"), chosen.text("group")], len(chosen)).count()
    return int(counts.max())


def _work(line: RankDevice) -> int:
    """Time from the first kernel of each step to the end of its last transfer between stages, without the bubble, ns."""
    ops, kernels, total = line.comm_ops, line.kernels(), 0
    if ops is None or kernels is None:
        return 0
    ops = ops.take(ops.text("kind").equals(_BETWEEN_TWO) & known(ops.ints("start_ns")) & known(ops.ints("elapse_ns")))
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
