"""Runs all rules over a run and concludes: findings by cost, the verdict, and what could not be checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Optional

from tb_npu_plugin.analysis.comparison.excess import Excess
from tb_npu_plugin.analysis.findings import frequency_drop, input_bound, slow_link, straggler, unprofiled_rank
from tb_npu_plugin.analysis.findings.idle import excess_of
from tb_npu_plugin.analysis.findings.model import Finding, Part, Severity, Unchecked, severity_of
from tb_npu_plugin.analysis.findings.pipeline import bubbles_of
from tb_npu_plugin.analysis.findings.registry import RULES
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration
from tb_npu_plugin.analysis.findings.verdict import RunVerdict, verdict_of
from tb_npu_plugin.analysis.ledger.bubble import BubbleParts
from tb_npu_plugin.analysis.ledger.model import EntryKind, RankLedger
from tb_npu_plugin.analysis.steps.iterations import IterationGroup
from tb_npu_plugin.messages import Message, Period, in_period
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.printable import package_logger

# Findings that explain other findings.

#: Rules about slow transfer, which a slow link explains.
_OF_SLOW_LINKS = ("small_packets", "byte_alignment", "contention")
#: What holds a rank up explains that others wait for it from this share of their wait on.
_EXPLAINS = 0.5


def with_causes(findings: Sequence[Finding], run: RunData) -> list[Finding]:
    """The findings with `causes`: the others wait for a rank because of what holds it up longer than them, where that is at
    least half of their wait; an unprofiled rank may in turn wait for a profiled one that is held up; transfer is slow because a
    link is."""
    out = []
    has_slow_link = any(one.rule == slow_link.RULE.id for one in findings)
    for finding in findings:
        if has_slow_link and finding.rule in _OF_SLOW_LINKS:
            finding = replace(finding, causes=(slow_link.RULE.id,))
        if finding.part == "waiting" and finding.subject.rank is not None:
            finding = replace(finding, causes=_causes_of_wait(finding, finding.subject.rank, findings, run))
        out.append(finding)
    return out


def _causes_of_wait(wait: Finding, rank: int, findings: Sequence[Finding], run: RunData) -> tuple[str, ...]:
    """The rules whose findings about the awaited rank explain the wait for it, by the time beyond the other ranks."""
    own = [one for one in findings if one.subject.rank == rank and one is not wait]
    if wait.rule == unprofiled_rank.RULE.id:
        others = [one for one in findings if one.subject.rank is not None and one is not wait]
        return tuple(one.rule for one in others if _holds_up(one, run) >= _EXPLAINS * wait.cost_ns)
    excess = {one.rule: _excess(one, rank, run) for one in own}
    held = {rule: time for rule, time in excess.items() if time > 0}
    return tuple(held) if sum(held.values()) >= _EXPLAINS * wait.cost_ns else ()


def _holds_up(finding: Finding, run: RunData) -> float:
    """For how long a profiled rank holds others up, ns per step: they wait for it, or it is held up longer than them."""
    return finding.cost_ns if finding.rule == straggler.RULE.id else _excess(finding, finding.subject.rank, run)


def _excess(finding: Finding, rank: Optional[int], run: RunData) -> float:
    """Time that a rank loses to what a finding is about, less the median of the other ranks, ns per step. 0 if it does not
    delay the rank, or if that of the others is unknown."""
    if finding.rule == frequency_drop.RULE.id:
        return frequency_drop.excess_of(run, rank)
    if finding.part != "free":
        return 0.0
    if finding.rule == input_bound.RULE.id and not run.idle:
        return input_bound.excess_of(run, rank)
    return sum(excess_of(run, rank, cause) for cause in finding.costs)


logger = package_logger(__name__)


@dataclass(frozen=True)
class Diagnosis:
    """All conclusions about a run. Times are ns per step. step_ns: mean of `mean_steps` whole steps, or of `repeats` repeats of a
    capture without marked steps (None with marks). step: that of `ledgers`; None: they are of the mean step. iterations: groups, if steps are iterations of a serving engine. bubbles: why a rank waits for other stages, by token of the span and
    device. culprits: ranks that the others wait for."""

    step_ns: int
    mean_steps: int
    repeats: Optional[int]
    period: Period
    iterations: Sequence[IterationGroup]
    steps: Sequence[tuple[Optional[str], int]]
    step: Optional[str]
    at_stake_ns: int
    verdict: RunVerdict
    ledgers: Sequence[RankLedger]
    bubbles: Mapping[tuple[str, Optional[int]], BubbleParts]
    excess: Optional[Excess]
    culprits: Sequence[int]
    findings: Sequence[Finding]
    unchecked: Sequence[Unchecked]
    checked: int

    def severity(self, finding: Finding) -> Severity:
        """Severity of a finding by its share of step time."""
        return severity_of(finding, self.step_ns)


def diagnose(spans: Sequence[SpanData], step: Optional[str] = None) -> Diagnosis:
    """Conclusions about a run.

    Args:
        spans: One for each rank that is read; the order does not matter.
        step: The step of `ledgers`, in place of the mean step.
    """
    return conclude(RunData(spans), step)


def conclude(run: RunData, step: Optional[str] = None) -> Diagnosis:
    """The same about a run whose figures are shared."""
    found: list[Finding] = []
    unchecked: list[Unchecked] = []
    for rule in RULES:
        try:
            missing = rule.inapplicable(run) or rule.missing(run)
            found += rule.find(run) if missing is None else ()
        except Exception as error:  # a defect of one rule must not hide what the others find
            logger.exception("rule %s failed", rule.id)
            missing = Unchecked(rule.id, Message("unchecked.defect", error=type(error).__name__), "")
        if missing is not None:
            unchecked.append(_of_trace_alone(missing) if run.recorded.has_trace_alone else missing)
    found, contradictions = _within_parts(found, run)
    unchecked += contradictions
    if run.recorded.is_simulated:
        found = [replace(one, is_of_simulation=one.part in ("free", "preparing")) for one in found]
    findings = sorted(with_causes(found, run), key=lambda one: (-one.cost_ns, one.rule, one.message))
    return Diagnosis(
        run.step_ns,
        run.mean_steps,
        None if run.is_marked or not run.steps else run.step_count,
        run.period,
        run.iterations,
        run.step_times,
        step,
        at_stake(findings, run),
        _verdict_in(verdict_of(findings, run), run.period),
        run.ledgers if step is None else run.ledgers_in([step]),
        bubbles_of(run) if step is None else {},
        run.excess,
        run.judgement.culprits,
        [_finding_in(one, run.period) for one in findings],
        [replace(one, missing=in_period(one.missing, run.period)) for one in unchecked],
        len(RULES) - len(unchecked),
    )


#: Settings that record data which only files beside the trace hold.
_BESIDE_TRACE = ("profiler_level=", "aic_metrics=", "profile_memory=")


def _of_trace_alone(unchecked: Unchecked) -> Unchecked:
    """What a rule lacks in a run of which the trace alone is there: no setting is known to have been off."""
    if not unchecked.option.startswith(_BESIDE_TRACE):
        return unchecked
    return replace(unchecked, missing=Message("unchecked.trace_alone"), option="")


def _finding_in(one: Finding, period: Period) -> Finding:
    """A finding in the words for a period."""
    check = None if one.check is None else in_period(one.check, period)
    return replace(
        one, message=in_period(one.message, period), fix=tuple(in_period(text, period) for text in one.fix), check=check
    )


def _verdict_in(one: RunVerdict, period: Period) -> RunVerdict:
    return replace(one, conclusion=in_period(one.conclusion, period), message=in_period(one.message, period))


#: Part of a step that a finding would shorten -> entries of a ledger that hold it.
_ENTRIES: Mapping[Part, tuple[EntryKind, ...]] = {
    "computing": ("computing",),
    "waiting": ("waiting", "transfer", "communication"),
    "bubble": ("waiting", "transfer", "communication"),
    "communication": ("waiting", "transfer", "communication"),
    "free": ("idle", "unexplained", "copies"),
    "preparing": ("idle", "unexplained"),
}
#: Waits and idle time that exceed their part of the step by more than this factor come from tables that are cut.
_MOST_EXCESS = 1.1


def _within_parts(found: Sequence[Finding], run: RunData) -> tuple[list[Finding], list[Unchecked]]:
    """The findings, each at most as long as its part of the step. The rules of those that rest on tables that are cut are
    unchecked."""
    kept: list[Finding] = []
    unchecked: dict[str, Unchecked] = {}
    for one in found:
        most = _longest_part(one, run)
        if most is None or one.cost_ns <= most:
            kept.append(one)
        elif one.part in ("waiting", "free") and one.cost_ns > _MOST_EXCESS * most:
            figures = {"time": duration(one.cost_ns), "most": duration(most)}
            unchecked[one.rule] = Unchecked(one.rule, Message("unchecked.contradiction", **figures), "")
        else:
            costs = {item: cost * most // one.cost_ns for item, cost in one.costs.items()}
            kept.append(replace(one, cost_ns=most, costs=costs))
    return kept, list(unchecked.values())


def _longest_part(finding: Finding, run: RunData) -> Optional[int]:
    """The part of the step that a finding would shorten, ns: of its rank, of the longest one where it is about others or several.
    None without ledgers."""
    about = [one for one in run.ledgers if one.rank == finding.subject.rank is not None]
    ledgers = about if about and finding.part not in ("waiting", "bubble") else run.ledgers
    if not ledgers:
        return None
    is_outside = finding.part in ("free", "preparing")
    return max(one.total(*_ENTRIES[finding.part]) + one.before_ns * is_outside for one in ledgers)


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
