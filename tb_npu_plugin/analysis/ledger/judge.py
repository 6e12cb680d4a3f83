"""Finds the largest loss of a run, and the ranks that cause it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Optional

from tb_npu_plugin.analysis.ledger.chains import Chains
from tb_npu_plugin.analysis.ledger.model import Entry, RankLedger
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.analysis.run.communication import RunCommunication

#: A run is healthy if, on each rank, all losses together and each loss alone are below these shares of the step.
HEALTHY_LOSSES, HEALTHY_LOSS = 0.1, 0.05
#: A rank determines the step alone if it waits for at most this share of its step.
_MOST_WAITING = 0.1
#: The waits for that rank are the loss only from this share of the step on.
_LEAST_AWAITED = 0.05
#: A second culprit is named if the waits for it are at least this share of the waits for the first one.
_SECOND = 0.5
#: Computing explains waits if it is at least this share of them.
_MOST_EXPLAINED = 0.5
#: From this share of the step on, unexplained time makes the judgement uncertain.
_UNEXPLAINED = 0.1

JudgementKind = Literal["loss", "unexplained", "healthy", "unknown"]


@dataclass(frozen=True)
class Judgement:
    """What determines the step.

    Attributes:
        ledger: Ledger of the rank with the loss; if healthy, of the longest step; None without ledgers.
        entry: Loss of that rank; None if healthy or unknown.
        culprits: Ranks that it waits for, the worst first; () for other losses.
        stage: Pipeline stage that it waits for; None if it is not a whole stage.
    """

    kind: JudgementKind
    ledger: Optional[RankLedger] = None
    entry: Optional[Entry] = None
    culprits: tuple[int, ...] = ()
    stage: Optional[int] = None


def judge(run: RunCommunication, ledgers: Sequence[RankLedger], chains: Chains) -> Judgement:
    """Judge a run by the ledgers and chains of all its lines."""
    ledgers = [one for one in ledgers if one.window_ns > 0]
    if not ledgers:
        return Judgement("unknown")
    if all(map(_is_healthy, ledgers)):
        unsure = next(((one, entry) for one in ledgers for entry in one.entries if entry.needs == "kernels"), None)
        if unsure is not None:
            return Judgement("unexplained", *unsure)
        return Judgement("healthy", max(ledgers, key=lambda one: one.window_ns))
    least = min(ledgers, key=_waiting_share)
    most = max(ledgers, key=lambda one: one.total("waiting") / one.window_ns)
    culprits, stage = _culprits(run, chains) if chains.total else ((), _slow_stage(ledgers))
    if _waiting_share(least) > _MOST_WAITING:
        return _of_entry(most, _largest(most), culprits, stage)
    awaited = most.total("waiting") - least.total("waiting")
    largest = _largest(least)
    if least.rank in culprits and awaited >= max(_LEAST_AWAITED * most.window_ns, largest.ns):
        return _of_entry(most, _longest_wait(most), culprits, stage)
    return _of_entry(least, largest, (), None)


def _waiting_share(ledger: RankLedger) -> float:
    """Largest possible share of waiting."""
    return sum(one.high_ns for one in ledger.entries if one.entry == "waiting") / ledger.window_ns


def _is_healthy(ledger: RankLedger) -> bool:
    losses = [one.high_ns for one in ledger.entries if one.entry != "computing"] + [ledger.before_ns]
    # Time that is either waiting or transfer is in the upper bounds of both.
    twice = sum(one.high_ns - one.low_ns for one in ledger.entries if one.entry == "transfer")
    window = ledger.window_ns
    return sum(losses) - twice < HEALTHY_LOSSES * window and max(losses) < HEALTHY_LOSS * window


def _largest(ledger: RankLedger) -> Entry:
    """The largest loss, the time before the first task included. All waits count together, and the longest one stands for
    them."""
    ns = ledger.before_ns
    before = Entry("idle", "preparing", ns, ns, ns, None, "")
    others = [one for one in ledger.entries if one.entry not in ("computing", "waiting")]
    largest = max([*others, before], key=lambda one: one.ns)
    waits = ledger.total("waiting")
    return _longest_wait(ledger) if waits and waits >= largest.ns else largest


def _longest_wait(ledger: RankLedger) -> Entry:
    return max((one for one in ledger.entries if one.entry == "waiting"), key=lambda one: one.ns)


def _of_entry(ledger: RankLedger, entry: Entry, culprits: tuple[int, ...], stage: Optional[int]) -> Judgement:
    is_known = entry.entry != "unexplained" or entry.ns < _UNEXPLAINED * ledger.window_ns
    kind: JudgementKind = "loss" if is_known else "unexplained"
    return Judgement(kind, ledger, entry, culprits if entry.entry == "waiting" else (), stage)


def _culprits(run: RunCommunication, chains: Chains) -> tuple[tuple[int, ...], Optional[int]]:
    """The ranks that the others wait for, and their pipeline stage.

    A rank counts if it was computing, idle or not profiled. If its kernels have no times, it counts only for its stage.
    """
    by_rank: Counter[int] = Counter()
    by_stage: Counter[int] = Counter()
    for (line, peer, kind), time in chains.total.items():
        if kind not in ("computing", "idle", "unknown", "unprofiled"):
            continue
        capture = run.lines[line].span.capture if line >= 0 else None
        rank = peer if capture is None else capture.rank
        stage = None if capture is None else pipeline_stage(capture)
        if stage is not None:
            by_stage[stage] += time
        if rank is not None and rank >= 0 and kind != "unknown":
            by_rank[rank] += time
    worst = by_rank.most_common(2)
    ranks = tuple(rank for rank, time in worst if time >= _SECOND * worst[0][1])
    return ranks, _stage_of(by_stage)


def _slow_stage(ledgers: Sequence[RankLedger]) -> Optional[int]:
    """Without known waits: the stage that computes longest, if that is most of the least time that the others must wait."""
    computing: dict[int, list[int]] = {}
    waiting: dict[int, list[int]] = {}
    for one in ledgers:
        stage = pipeline_stage(one.span.capture)
        if stage is not None:
            computing.setdefault(stage, []).append(one.total("computing"))
            waiting.setdefault(stage, []).append(one.total("waiting"))
    means = sorted(((sum(times) / len(times), stage) for stage, times in computing.items()), reverse=True)
    if len(means) < 2:
        return None
    (longest, stage), (second, _) = means[:2]
    least = min(min(times) for other, times in waiting.items() if other != stage)
    return stage if longest - second >= _MOST_EXPLAINED * least > 0 else None


def _stage_of(by_stage: Counter[int]) -> Optional[int]:
    """The most awaited stage, if the others wait for it at least twice as long as for any other."""
    found = by_stage.most_common(2)
    if len(found) < 2 or found[1][1] > _SECOND * found[0][1]:
        return None
    return found[0][0]
