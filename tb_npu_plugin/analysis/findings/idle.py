"""What rules about a cause of idle time share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Optional, Union

import numpy as np

from tb_npu_plugin.analysis.findings.model import Category, Confidence, Evidence, Finding, Rule, Subject, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData, median_of
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.analysis.idle.input_bound import LEAST_SHARE
from tb_npu_plugin.analysis.idle.model import CAUSES, Cause, DeviceIdle, code_of
from tb_npu_plugin.analysis.idle.places import places_of
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.tables import IntArray

#: Number of longest intervals whose operators are examined.
_NAMED = 1000
#: Number of longest intervals that are evidence.
_SHOWN = 3


@dataclass(frozen=True)
class IdleCost:
    """Idle time of one cause on the device with the most of it. ranks: how many ranks reach LEAST_SHARE."""

    span: SpanData
    idle: DeviceIdle
    cause: Cause
    cost_ns: int
    share: float
    ranks: int

    @cached_property
    def longest(self) -> IntArray:
        """The longest intervals of the cause, as indices of `idle.parts`."""
        parts = self.idle.parts
        own = np.flatnonzero(parts.cause == code_of(self.cause))
        return own[np.argsort(parts.start[own] - parts.end[own], kind="stable")[:_NAMED]]

    @property
    def rank(self) -> str:
        """Name of the rank at the start of a sentence."""
        rank = self.span.capture.rank
        return self.span.worker_label if rank is None else f"Rank {rank}"

    @property
    def time(self) -> str:
        """Idle time per step."""
        return duration(self.cost_ns)

    @property
    def percent(self) -> str:
        """Share of step time."""
        return percent(self.share, 1)

    @property
    def place(self) -> Union[str, Message]:
        """Operator and Python frame with the most idle time."""
        timeline, parts, rows = self.span.timeline, self.idle.parts, self.longest
        places = places_of(self.idle, timeline, rows)
        times: dict[tuple[str, ...], int] = {}
        lengths = (parts.end - parts.start)[rows].tolist()
        for operator, frame, time in zip(places.operator.tolist(), places.frame.tolist(), lengths):
            names = tuple(timeline.names[int(timeline.name[one])] for one in (operator, frame) if one >= 0)
            times[names] = times.get(names, 0) + time
        best = max(times, key=lambda names: (bool(names), times[names]))
        return " · ".join(best) if best else Message("finding.idle.unnamed")

    def evidence(self) -> tuple[Evidence, ...]:
        """The longest intervals."""
        base, parts = self.span.timeline.base_ns, self.idle.parts
        return tuple(
            Evidence("trace", self.span.token, start_ns=base + int(parts.start[row]), end_ns=base + int(parts.end[row]))
            for row in self.longest[:_SHOWN].tolist()
        )


def highest_cost(run: RunData, cause: Cause) -> Optional[IdleCost]:
    """The device with the most idle time of a cause; None if that is below LEAST_SHARE of step time."""
    if not run.step_ns:
        return None
    costs = [(idle.cost_of(cause) // run.step_count, span, idle) for span, devices in run.idle for idle in devices]
    least = LEAST_SHARE * run.step_ns
    ranks = len({span.token for cost, span, _ in costs if cost >= least})
    cost, span, idle = max(costs, key=lambda one: one[0], default=(0, None, None))
    if span is None or idle is None or cost < least:
        return None
    return IdleCost(span, idle, cause, cost, cost / run.step_ns, ranks)


def excess_of(run: RunData, rank: Optional[int], cause: str) -> float:
    """Idle time of a rank for a cause, less the median of the other ranks, ns per step; 0 if one of them is unknown."""
    costs: dict[bool, list[float]] = {True: [], False: []}
    for span, devices in run.idle:
        costs[span.capture.rank == rank] += [
            one.cost_of(known) for one in devices for known in CAUSES if known == cause
        ]
    own, others = costs[True], costs[False]
    return (max(own) - median_of(others)) / run.step_count if own and others else 0.0


def finding_of(
    found: IdleCost, rule: str, category: Category, message: Message, fix: Message, operator: Optional[str] = None
) -> Finding:
    """The finding of a rule about this cost."""
    rank = found.span.capture.rank
    return Finding(
        rule=rule,
        category=category,
        subject=Subject(rank, None if rank is not None else found.span.worker_label, operator=operator),
        message=message,
        cost_ns=found.cost_ns,
        cost_kind="upper bound",
        part="free",
        confidence=Confidence("confirmed" if found.ranks > 1 else "measured", found.ranks),
        evidence=(Evidence("idle", found.span.token), *found.evidence()),
        fix=(fix,),
        check=Message("check.idle"),
        costs={found.cause: found.cost_ns},
    )


def idle_rule(rule: str, category: Category, cause: Cause, codes: tuple[str, str, str]) -> Rule:
    """The rule about a cause whose time is known from launches. codes: of the finding, and of the fix for PyTorch and for
    MindSpore."""

    def find(run: RunData) -> list[Finding]:
        found = highest_cost(run, cause)
        if found is None:
            return []
        text, torch_fix, mindspore_fix = codes
        message = Message(text, rank=found.rank, time=found.time, share=found.percent, place=found.place)
        return [finding_of(found, rule, category, message, Message(torch_fix if run.is_torch else mindspore_fix))]

    return Rule(rule, category, find, lambda run: missing_launches(run, rule))


def missing_trace(run: RunData, rule: str) -> Optional[Unchecked]:
    """The trace of a rank."""
    return None if run.idle else Unchecked(rule, Message("unchecked.no_idle"), "")


def missing_launches(run: RunData, rule: str) -> Optional[Unchecked]:
    """The trace of a rank, with the launches of its tasks."""
    if run.idle and all(idle.clock_error_ns is None for _, devices in run.idle for idle in devices):
        return Unchecked(rule, Message("unchecked.no_launches"), "profiler_level=ProfilerLevel.Level1")
    return missing_trace(run, rule)
