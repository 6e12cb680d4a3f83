"""Findings that explain other findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Optional

from tb_npu_plugin.analysis.findings import frequency_drop, input_bound, slow_link, straggler, unprofiled_rank
from tb_npu_plugin.analysis.findings.idle import excess_of
from tb_npu_plugin.analysis.findings.model import Finding
from tb_npu_plugin.analysis.findings.run_data import RunData

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
