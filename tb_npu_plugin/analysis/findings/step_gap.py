"""MindSpore up to 2.2: a rank whose steps begin long before their forward pass."""

from __future__ import annotations

from typing import Optional

from tb_npu_plugin.analysis.data_pipeline import Pipeline, analyse_pipeline
from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Rule, Subject, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration, percent, rank_name
from tb_npu_plugin.analysis.ledger.model import RankLedger
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import SpanData

#: Least share of the step.
_LEAST_SHARE = 0.01
_PIPELINE = ("minddata_ops", "minddata_batches")


def find(run: RunData) -> list[Finding]:
    """The rank with the longest gap, and the operator that delays its data pipeline."""
    ledger = max(run.ledgers, key=_gap, default=None)
    if ledger is None or _gap(ledger) < _LEAST_SHARE * ledger.window_ns:
        return []
    gap = _gap(ledger)
    figures = {"time": duration(gap), "share": percent(gap / ledger.window_ns)}
    name = rank_name(ledger.span)
    slow, is_busy = next((found for span in run.spans if (found := _bottleneck(span)) is not None), (None, False))
    message = Message("finding.step_gap", rank=name, **figures)
    fix = Message("fix.step_gap")
    if slow is not None:
        message = Message("finding.step_gap.data", rank=name, operator=slow, **figures)
        fix = Message("fix.step_gap.busy") if is_busy else Message("fix.step_gap.data")
    return [
        Finding(
            rule=RULE.id,
            category=RULE.category,
            subject=Subject.of(ledger.span, operator=slow),
            message=message,
            cost_ns=gap,
            part="free",
            confidence=Confidence("inferred"),
            evidence=(Evidence("step_trace", ledger.span.token), Evidence("data_pipeline", ledger.span.token)),
            fix=(fix,),
            check=Message("check.step_gap"),
        )
    ]


def _gap(ledger: RankLedger) -> int:
    return sum(one.ns for one in ledger.entries if one.detail == "gap")


def _bottleneck(span: SpanData) -> Optional[tuple[str, bool]]:
    """Name of the operator that delays the data pipeline, and whether all cores of the machine are busy; None if the pipeline
    keeps up, or was not recorded."""
    if not any(span.rows(table) for table in _PIPELINE):
        return None
    found: Pipeline = analyse_pipeline(*(span.table(table) for table in (*_PIPELINE, "minddata_cpu")))
    if found.bottleneck is None or found.verdict == "compute":
        return None
    is_busy = any(one.rule == "busy_machine" for one in found.findings)
    return next(((op.kind, is_busy) for op in found.ops if op.op_id == found.bottleneck), None)


def missing(run: RunData) -> Optional[Unchecked]:
    """Points of the steps, which MindSpore up to 2.2 records."""
    if any(span.rows("iterations") for span in run.spans):
        return None
    return Unchecked(RULE.id, Message("unchecked.no_points"), "", "not_applicable")


RULE = Rule("step_gap", "input", find, missing)
