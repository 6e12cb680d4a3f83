"""Runs all rules over a run and concludes: findings by cost, the verdict, and what could not be checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from tb_npu_plugin.analysis.findings.causes import with_causes
from tb_npu_plugin.analysis.findings.model import Finding, Part, Severity, Unchecked, severity_of
from tb_npu_plugin.analysis.findings.registry import RULES, inapplicable
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.verdict import RunVerdict, verdict_of
from tb_npu_plugin.analysis.kernels.excess import Excess
from tb_npu_plugin.analysis.ledger.model import RankLedger
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.printable import package_logger

logger = package_logger(__name__)


@dataclass(frozen=True)
class Diagnosis:
    """All conclusions about a run. Times are ns per step. step_ns: mean of `mean_steps` whole steps, or of `repeats` repeats of a
    capture without marked steps (None with marks)."""

    step_ns: int
    mean_steps: int
    repeats: Optional[int]
    steps: Sequence[tuple[Optional[str], int]]
    at_stake_ns: int
    verdict: RunVerdict
    ledgers: Sequence[RankLedger]
    excess: Optional[Excess]
    findings: Sequence[Finding]
    unchecked: Sequence[Unchecked]
    checked: int

    def severity(self, finding: Finding) -> Severity:
        """Severity of a finding by its share of step time."""
        return severity_of(finding, self.step_ns)


def diagnose(spans: Sequence[SpanData]) -> Diagnosis:
    """Conclusions about a run. spans: one for each rank that is read; the order does not matter."""
    run = RunData(spans)
    found: list[Finding] = []
    unchecked: list[Unchecked] = []
    for rule in RULES:
        try:
            missing = inapplicable(rule, run) or rule.missing(run)
            found += rule.find(run) if missing is None else ()
        except Exception as error:  # a defect of one rule must not hide what the others find
            logger.exception("rule %s failed", rule.id)
            missing = Unchecked(rule.id, Message("unchecked.defect", error=type(error).__name__), "")
        if missing is not None:
            unchecked.append(missing)
    findings = sorted(with_causes(found, run), key=lambda one: (-one.cost_ns, one.rule, one.message))
    return Diagnosis(
        run.step_ns,
        len(run.whole_step_times),
        None if run.is_marked or not run.steps else run.step_count,
        run.step_times,
        at_stake(findings, run),
        verdict_of(findings, run),
        run.ledgers,
        run.excess,
        findings,
        unchecked,
        len(RULES) - len(unchecked),
    )


def at_stake(findings: Sequence[Finding], run: RunData) -> int:
    """Time at stake of all findings together, ns per step. No time counts twice: of findings about one item of a part, or
    about a whole part, the highest cost counts; an effect is contained in its cause."""
    items: dict[Part, dict[str, int]] = {}
    whole: dict[Part, int] = {}
    for finding in findings:
        if finding.causes:
            continue
        whole.setdefault(finding.part, 0)
        of_part = items.setdefault(finding.part, {})
        for item, cost in finding.costs.items():
            of_part[item] = max(of_part.get(item, 0), cost)
        if not finding.costs:
            whole[finding.part] = max(whole[finding.part], finding.cost_ns)
    return min(sum(max(cost, sum(items[part].values())) for part, cost in whole.items()), run.step_ns)
