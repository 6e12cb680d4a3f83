"""The device idles while the host waits for batches of the PyTorch DataLoader."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from tb_npu_plugin.analysis.data_pipeline import loader
from tb_npu_plugin.analysis.findings.idle import IdleCost, finding_of, highest_cost
from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Rule, Subject, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData, median_of
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.analysis.idle.input_bound import HANDOVER_NS
from tb_npu_plugin.analysis.steps.of_span import elapsed_steps
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import SpanData

#: Least share of the elapsed time of the steps, where it is unknown whether the device was idle meanwhile.
_LEAST_SHARE = 0.1


def find(run: RunData) -> list[Finding]:
    """The rank that loses most time: idle time where a trace shows it, else the host's waits for batches."""
    found = highest_cost(run, "data_loading")
    if found is not None and found.cost_ns >= HANDOVER_NS:
        found = replace(found, cost_ns=found.cost_ns + _before_first_task(run, found) // run.step_count)
        message = Message("finding.input_bound.idle", rank=found.rank, time=found.time)
        return [finding_of(found, RULE.id, RULE.category, message, (Message("fix.input_bound"),))]
    explained = {span.token for span, _ in run.idle}
    waits = [one for span in run.spans if span.token not in explained and (one := _of_rank(run, span)) is not None]
    return sorted(waits, key=lambda one: -one.cost_ns)[:1]


def _before_first_task(run: RunData, found: IdleCost) -> int:
    """Waits before the first task of the capture, ns: no task precedes them, so they are in no gap."""
    operators = found.span.table("operators")
    waits = None if operators is None else loader(operators)
    first = next((one for one in run.budgets if one.span == found.span.token), None)
    if waits is None or first is None:
        return 0
    return min(max(waits.total_ns - sum(found.own.values()) * run.all_steps, 0), first.preparing or 0)


def _of_rank(run: RunData, span: SpanData) -> Optional[Finding]:
    operators, elapsed = span.table("operators"), elapsed_steps(span)
    waits = None if operators is None else loader(operators)
    if waits is None or not elapsed or not _LEAST_SHARE <= waits.total_ns / elapsed <= 1:
        return None
    return Finding(
        rule=RULE.id,
        category=RULE.category,
        subject=Subject.of(span),
        message=Message(
            "finding.input_bound",
            mean=duration(waits.total_ns / waits.calls),
            share=percent(waits.total_ns / elapsed, 1),
        ),
        cost_ns=waits.total_ns // run.all_steps,
        part="free",
        confidence=Confidence("inferred"),
        evidence=(Evidence("data_pipeline", span.token),),
        fix=(Message("fix.input_bound"),),
        check=Message("check.input_bound"),
        costs={"data_loading": waits.total_ns // run.all_steps},
    )


def excess_of(run: RunData, rank: Optional[int]) -> float:
    """Time that the host of a rank waits for batches, less the median of the other ranks, ns per step; 0 if one is unknown."""
    waits = {span.capture.rank: _waits(span) for span in run.spans}
    own, others = waits.get(rank), [time for other, time in waits.items() if other != rank]
    known = [time for time in others if time is not None]
    return (own - median_of(known)) / run.all_steps if own is not None and known and len(known) == len(others) else 0.0


def _waits(span: SpanData) -> Optional[int]:
    """Time that the host waits for batches, ns; 0 without a loader, None without operators."""
    operators = span.table("operators")
    found = None if operators is None else loader(operators)
    return None if operators is None else 0 if found is None else found.total_ns


def missing(run: RunData) -> Optional[Unchecked]:
    """A trace, or operators of the host."""
    if run.idle or any(span.table("operators") is not None for span in run.spans):
        return None
    return Unchecked(RULE.id, Message("unchecked.no_operators"), "activities=[ProfilerActivity.CPU, ...]")


RULE = Rule("input_bound", "input", find, missing)
