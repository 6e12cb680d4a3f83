"""What rules about a cause of idle time share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Optional, Union

import numpy as np

from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.model import (
    Category,
    Confidence,
    ConfidenceKind,
    Device,
    Evidence,
    Finding,
    Rule,
    Subject,
    Unchecked,
)
from tb_npu_plugin.analysis.findings.run_data import RunData, median_of
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.analysis.idle.input_bound import LEAST_SHARE
from tb_npu_plugin.analysis.idle.model import DeviceIdle
from tb_npu_plugin.analysis.idle.places import places_of
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import SpanData, timeline_of
from tb_npu_plugin.schema.trace import PYTHON_FUNCTION
from tb_npu_plugin.tables import IntArray

#: Number of longest intervals whose operators are examined.
_NAMED = 1000
#: Number of longest intervals that are evidence.
_SHOWN = 3


@dataclass(frozen=True)
class IdleCost:
    """Idle time of some items (late_launches.idle_items) on the device with the most of it.

    own: by item, ns per step; cost_ns: of the run, ns per step; ranks: how many ranks reach LEAST_SHARE; rows: of
    `idle.parts`.
    """

    span: SpanData
    idle: DeviceIdle
    own: Mapping[str, int]
    cost_ns: int
    step_ns: int
    ranks: int
    rows: IntArray

    @cached_property
    def longest(self) -> IntArray:
        """The longest intervals, as indices of `idle.parts`."""
        parts, own = self.idle.parts, self.rows
        return own[np.argsort(parts.start[own] - parts.end[own], kind="stable")[:_NAMED]]

    @property
    def rank(self) -> str:
        """Name of the rank at the start of a sentence."""
        rank = self.span.capture.rank
        return self.span.worker_label if rank is None else f"Rank {rank}"

    @property
    def time(self) -> str:
        """Idle time per step."""
        return duration(sum(self.own.values()))

    @property
    def percent(self) -> str:
        """Share of step time."""
        return percent(sum(self.own.values()) / self.step_ns, 1)

    @property
    def place(self) -> Union[str, Message]:
        """Operator and Python frame with the most idle time."""
        timeline, parts, rows = timeline_of(self.span), self.idle.parts, self.longest
        places = places_of(self.idle, timeline, rows)
        times: dict[tuple[str, ...], int] = {}
        lengths = (parts.end - parts.start)[rows].tolist()
        for *found, time in zip(places.filler.tolist(), places.operator.tolist(), places.frame.tolist(), lengths):
            slices = dict.fromkeys(one for one in found if one >= 0)
            names = tuple(timeline.names[int(timeline.name[one])] for one in slices)
            times[names] = times.get(names, 0) + time
        best = max(times, key=lambda names: (bool(names), times[names]))
        return " · ".join(best) if best else Message("finding.idle.unnamed")

    @property
    def is_of_script(self) -> bool:
        """Python code, and no operator, fills most of the time."""
        timeline, parts, rows = timeline_of(self.span), self.idle.parts, self.longest
        filler = places_of(self.idle, timeline, rows).filler
        is_python = (filler >= 0) & (timeline.category[filler] == timeline.category_code(PYTHON_FUNCTION))
        lengths = (parts.end - parts.start)[rows]
        return bool(2 * lengths[is_python].sum() > lengths.sum())

    def evidence(self) -> tuple[Evidence, ...]:
        """The longest intervals."""
        base, parts = timeline_of(self.span).base_ns, self.idle.parts
        return tuple(
            Evidence("trace", self.span.token, start_ns=base + int(parts.start[row]), end_ns=base + int(parts.end[row]))
            for row in self.longest[:_SHOWN].tolist()
        )


def highest_cost(run: RunData, *items: str) -> Optional[IdleCost]:
    """The device with the most idle time of these items; None if that is below LEAST_SHARE of step time.

    Ranks wait for those that idle: where several do in turn, the run loses what one idles, and what it waits for the others
    meanwhile. The cost is at most the idle time of the rank.
    """
    if not run.step_ns:
        return None
    found = [(sum(one.cost_of(item) for item in items) // run.step_count, one) for one in run.idle_items]
    least = LEAST_SHARE * run.step_ns
    time, most = max(found, key=lambda one: one[0], default=(0, None))
    if most is None or time < least:
        return None
    times = {one.span.token: own for own, one in found}
    cost = max(_cost(run, own, _waits(run, one.span, times) // run.step_count, one.span) for own, one in found)
    parts = {item: most.cost_of(item) // run.step_count for item in items}
    ranks = len({one.span.token for cost, one in found if cost >= least})
    rows = np.concatenate([most.rows[item] for item in items])
    return IdleCost(most.span, most.idle, parts, cost, run.step_ns, ranks, rows)


def _cost(run: RunData, own: int, waits: int, span: SpanData) -> int:
    """Idle time of a rank and its waits for the idle time of others: together at most its idle time, ns per step."""
    free = max(
        (one.total("idle", "unexplained") + one.before_ns for one in run.ledgers if one.span is span),
        default=own + waits,
    )
    return max(own, min(own + waits, free))


def _waits(run: RunData, span: SpanData, times: Mapping[str, int]) -> int:
    """Exposed waits of a rank for others, at most their idle time, ns over the averaged steps. times: of each span, ns per step."""
    tokens = {other.capture.rank: other.token for other in run.spans if other is not span}
    waits: dict[str, int] = {}
    for budget in (one for one in run.budgets if one.span == span.token and one.step in run.averaged):
        for late in budget.waiting_for:
            if late.rank in tokens:
                token = tokens[late.rank]
                waits[token] = waits.get(token, 0) + (late.exposed or 0)
    return sum(min(wait, times.get(token, 0) * run.step_count) for token, wait in waits.items())


def excess_of(run: RunData, rank: Optional[int], item: str) -> float:
    """Idle time of a rank for an item, less the median of the other ranks, ns per step; 0 if one of them is unknown."""
    costs: dict[bool, list[float]] = {True: [], False: []}
    for one in run.idle_items:
        costs[one.span.capture.rank == rank].append(one.cost_of(item))
    own, others = costs[True], costs[False]
    return (max(own) - median_of(others)) / run.step_count if own and others else 0.0


def finding_of(
    found: IdleCost,
    rule: str,
    category: Category,
    message: Message,
    fix: tuple[Message, ...],
    kind: ConfidenceKind = "measured",
) -> Finding:
    """The finding of a rule about this cost."""
    confirmed: ConfidenceKind = "confirmed" if found.ranks > 1 and kind == "measured" else kind
    first, *_ = found.own
    return Finding(
        rule=rule,
        category=category,
        subject=Subject.of(found.span),
        message=message,
        cost_ns=found.cost_ns,
        part="free",
        confidence=Confidence(confirmed, found.ranks),
        evidence=(Evidence("idle", found.span.token), *found.evidence()),
        fix=fix,
        check=Message("check.idle"),
        costs={**found.own, first: found.own[first] + found.cost_ns - sum(found.own.values())},
    )


def idle_rule(
    rule: str,
    category: Category,
    items: Sequence[str],
    text: str,
    fix: Union[Fix, Callable[[RunData, IdleCost], tuple[Message, ...]]],
    kind: ConfidenceKind = "measured",
    device: Optional[Device] = None,
) -> Rule:
    """The rule about items whose time is known from launches. text: code of the finding; kind: "inferred" if they may have
    other explanations."""

    def find(run: RunData) -> list[Finding]:
        found = highest_cost(run, *items)
        if found is None:
            return []
        message = Message(text, rank=found.rank, time=found.time, share=found.percent, place=found.place)
        advice = fix.of(run) if isinstance(fix, Fix) else fix(run, found)
        return [finding_of(found, rule, category, message, advice, kind=kind)]

    return Rule(rule, category, find, lambda run: missing_launches(run, rule), device)


def missing_trace(run: RunData, rule: str) -> Optional[Unchecked]:
    """The trace of a rank."""
    return None if run.idle else Unchecked(rule, Message("unchecked.no_idle"), "")


def missing_launches(run: RunData, rule: str) -> Optional[Unchecked]:
    """The trace of a rank, with the launches of its tasks."""
    if run.idle and all(idle.clock_error_ns is None for _, devices in run.idle for idle in devices):
        return Unchecked(rule, Message("unchecked.no_launches"), "")
    return missing_trace(run, rule)
