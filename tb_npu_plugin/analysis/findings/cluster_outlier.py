"""MindSpore up to 2.2: MindInsight's rules about the ranks, stages and links of a cluster."""

from __future__ import annotations

from typing import Optional

from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Part, Rule, Subject, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.analysis.ranks.cluster_figures import NEEDS, cluster_findings, courses_of
from tb_npu_plugin.analysis.ranks.cluster_rules import ClusterFinding, ClusterRule
from tb_npu_plugin.messages import Message

#: Part of the step that each rule is about.
_PARTS: dict[ClusterRule, Part] = {
    "step_interval": "free",
    "flops_per_second": "computing",
    "stage_flops": "computing",
    "link": "communication",
    "communication": "communication",
    "within_stage": "communication",
    "between_stages": "bubble",
}
#: Rules about a share of communication: it contains waits, which the ledgers judge.
_SHARES: tuple[ClusterRule, ...] = ("communication", "within_stage", "between_stages")


def find(run: RunData) -> list[Finding]:
    """What MindInsight would report by the means of the steps, but for ranks and links that are as their peers."""
    found = cluster_findings(run.spans, courses_of(run.spans), "mean")
    return [_finding(one, run) for one in found if one.fires and one.outlier is not False]


def _finding(one: ClusterFinding, run: RunData) -> Finding:
    link = (one.src, one.dst) if one.src is not None and one.dst is not None else None
    return Finding(
        rule=RULE.id,
        category=RULE.category,
        subject=Subject(None if link else one.rank, stage=one.stage, link=link),
        message=_message(one),
        cost_ns=0 if one.rule in _SHARES else min(one.gain_ns or 0, run.step_ns),
        part=_PARTS[one.rule],
        confidence=Confidence("measured" if one.outlier else "inferred", one.peers),
        evidence=(Evidence("distributed"),),
        fix=(Message("fix.cluster_outlier.link") if link else Message("fix.cluster_outlier"),),
    )


def _message(one: ClusterFinding) -> Message:
    rank, stage, share = f"rank {one.rank}", one.stage or "–", percent(one.share)
    if one.rule == "step_interval":
        return Message("finding.cluster_outlier.step_interval", rank=rank, time=duration(one.value or 0), share=share)
    if one.rule == "flops_per_second":
        return Message("finding.cluster_outlier.flops_per_second", rank=rank, share=share)
    if one.rule == "stage_flops":
        return Message("finding.cluster_outlier.stage_flops", stage=stage, share=share)
    if one.rule == "link":
        figures = {"transport": one.transport or "–", "value": f"{one.value or 0:.2f}", "share": share}
        return Message("finding.cluster_outlier.link", link=f"{one.src} → {one.dst}", **figures)
    if one.rule == "between_stages":
        return Message("finding.cluster_outlier.between_stages", share=share)
    if one.rule == "within_stage":
        return Message("finding.cluster_outlier.within_stage", stage=stage, share=share)
    return Message("finding.cluster_outlier.communication", share=share)


def missing(run: RunData) -> Optional[Unchecked]:
    """Figures of two ranks or more of MindSpore up to 2.2."""
    if sum(any(span.rows(table) for table in NEEDS) for span in run.spans) > 1:
        return None
    return Unchecked(RULE.id, Message("unchecked.no_points"), "", "not_applicable")


RULE = Rule("cluster_outlier", "ranks", find, missing)
