"""A host all of whose ranks compute, or idle, longer than those of the other hosts."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean, median
from typing import Optional

from tb_npu_plugin.analysis.comparison.excess import Excess, excess_of
from tb_npu_plugin.analysis.findings.ledger_sentence import excess_text, text_of
from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Part, Rule, Subject, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.analysis.ledger.model import RankLedger
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.analysis.run.devices import RankDevice
from tb_npu_plugin.messages import Message

#: Least excess of the host over the median of the others, as a share of the step, and of that median.
_LEAST_OF_STEP, _LEAST_OF_OTHERS = 0.01, 0.05


def find(run: RunData) -> list[Finding]:
    """The host whose ranks all take longer than each rank of the other hosts."""
    hosts = _by_host(run)
    stages = {frozenset(pipeline_stage(one.span.capture) for one in ledgers) for ledgers in hosts.values()}
    if len(stages) > 1:  # stages do different work
        return []
    found = []
    rules: tuple[tuple[Part, Callable[[RankLedger], int]], ...] = (("computing", _computing), ("free", _idle))
    for part, time_of in rules:
        one = _slowest(hosts, time_of)
        if one is not None:
            found.append(_finding(run, part, *one, len(hosts[one[0]])))
    return found


def _by_host(run: RunData) -> dict[str, list[RankLedger]]:
    hosts: dict[str, list[RankLedger]] = {}
    for ledger in run.ledgers:
        host = ledger.span.capture.host
        if host:
            hosts.setdefault(host, []).append(ledger)
    return hosts


def _computing(ledger: RankLedger) -> int:
    return ledger.total("computing")


def _idle(ledger: RankLedger) -> int:
    """Time for which the host is to blame: tasks that were launched late, and gaps before steps."""
    late = (one.ns for one in ledger.entries if one.detail in ("late", "gap"))
    return sum(late) + ledger.before_ns


def _slowest(
    hosts: dict[str, list[RankLedger]], time_of: Callable[[RankLedger], int]
) -> Optional[tuple[str, float, float]]:
    """(host, mean time of its ranks, median of the other ranks, ns); None if no host stands out."""
    if len(hosts) < 2:
        return None
    means = {host: fmean(map(time_of, ledgers)) for host, ledgers in hosts.items()}
    host = max(means, key=lambda one: means[one])
    others = [time_of(one) for other, ledgers in hosts.items() if other != host for one in ledgers]
    window = max(one.window_ns for one in hosts[host])
    excess = means[host] - median(others)
    is_whole = min(map(time_of, hosts[host])) > max(others)
    is_large = excess >= max(_LEAST_OF_STEP * window, _LEAST_OF_OTHERS * median(others))
    return (host, means[host], median(others)) if is_whole and is_large else None


def _finding(run: RunData, part: Part, host: str, own: float, others: float, ranks: int) -> Finding:
    figures = {"host": host, "time": duration(own), "others": duration(others)}
    is_computing = part == "computing"
    message = Message("finding.slow_host.idle", **figures)
    if is_computing:
        share = percent(own / others - 1) if others else "–"
        text = Message("finding.slow_host.computing", share=share, **figures)
        message = text_of([text, excess_text(_excess(run, host))])
    return Finding(
        rule=RULE.id,
        category=RULE.category,
        subject=Subject(worker=host),
        message=message,
        cost_ns=min(round(own - others), run.step_ns),
        part=part,
        confidence=Confidence("confirmed" if ranks > 1 else "measured", ranks),
        evidence=(Evidence("distributed"),),
        fix=(Message("fix.slow_host.computing") if is_computing else Message("fix.slow_host.idle"),),
        check=Message("check.slow_host"),
    )


def _excess(run: RunData, host: str) -> Optional[Excess]:
    """What the ranks of a host run longer than those of the others."""
    lines: dict[bool, list[RankDevice]] = {True: [], False: []}
    for line in run.communication.lines:
        lines[line.span.capture.host == host].append(line)
    return excess_of(lines[True], lines[False])


def missing(run: RunData) -> Optional[Unchecked]:
    """Ranks of two hosts or more."""
    return None if len(_by_host(run)) > 1 else Unchecked(RULE.id, Message("unchecked.one_host"), "", "not_applicable")


RULE = Rule("slow_host", "ranks", find, missing)
