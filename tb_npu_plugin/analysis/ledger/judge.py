"""What determines the step of a run: an entry of the ledgers, and who is to blame for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Optional

from tb_npu_plugin.analysis.ledger.chains import Chains
from tb_npu_plugin.analysis.ledger.model import Entry, RankLedger
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.analysis.run.communication import RunCommunication

#: A run is healthy if the losses of each rank are below this share of its step, and each loss below the second one.
HEALTHY_LOSSES, HEALTHY_LOSS = 0.1, 0.05
#: A rank determines the step alone if it waits for at most this share of it.
_MOST_WAITING = 0.1
#: Least share of the step that others wait for the computing of the rank that determines it.
_LEAST_AWAITED = 0.05
#: A second culprit is named if it holds the others up for at least this share of the first one's time.
_SECOND = 0.5
#: From this share of the step on, what is unexplained may hold the largest loss.
_UNEXPLAINED = 0.1

JudgementKind = Literal["loss", "unexplained", "healthy", "unknown"]


@dataclass(frozen=True)
class Judgement:
    """What determines the step.

    Attributes:
        ledger: Ledger of the rank that shows it best; None without ledgers.
        entry: Its largest loss; None if healthy or unknown. Of a rank that others wait for, its computing.
        culprits: Ranks that the others wait for, the worst first.
        stage: Pipeline stage of the culprits, if others wait for a stage.
    """

    kind: JudgementKind
    ledger: Optional[RankLedger] = None
    entry: Optional[Entry] = None
    culprits: tuple[int, ...] = ()
    stage: Optional[int] = None


def judge(run: RunCommunication, ledgers: Sequence[RankLedger], chains: Chains) -> Judgement:
    """Judge a run. ledgers, chains: of all its lines."""
    ledgers = [one for one in ledgers if one.window_ns > 0]
    if not ledgers:
        return Judgement("unknown")
    if all(map(_is_healthy, ledgers)):
        return Judgement("healthy", max(ledgers, key=lambda one: one.window_ns))
    least = min(ledgers, key=_most_waiting)
    most = max(ledgers, key=lambda one: one.total("waiting") / one.window_ns)
    culprits, stage = _culprits(run, chains)
    if _most_waiting(least) > _MOST_WAITING:
        return _of_entry(most, _largest(most), culprits, stage)
    awaited = most.total("waiting") - least.total("waiting")
    if least.rank in culprits and awaited >= _LEAST_AWAITED * most.window_ns:
        largest = _largest(least)
        if awaited >= largest.ns:
            return _of_entry(most, _largest(most, "waiting"), culprits, stage)
    return _of_entry(least, _largest(least), (), None)


def _most_waiting(ledger: RankLedger) -> float:
    """Largest possible share of waiting."""
    return sum(one.high_ns for one in ledger.entries if one.entry == "waiting") / ledger.window_ns


def _is_healthy(ledger: RankLedger) -> bool:
    losses = [one.high_ns for one in ledger.entries if one.entry != "computing"] + [ledger.before_ns]
    bounded = sum(one.high_ns - one.low_ns for one in ledger.entries if one.entry == "transfer")
    whole = ledger.window_ns
    return sum(losses) - bounded < HEALTHY_LOSSES * whole and max(losses) < HEALTHY_LOSS * whole


def _largest(ledger: RankLedger, *kinds: str) -> Entry:
    """The largest entry but computing; waits for several ranks count as one."""
    waiting = [one for one in ledger.entries if one.entry == "waiting"]
    total = sum(one.ns for one in waiting)
    rest = [one for one in ledger.entries if one.entry not in ("computing", "waiting")]
    largest = max(rest, key=lambda one: one.ns, default=None)
    if waiting and (kinds == ("waiting",) or largest is None or total >= largest.ns):
        return max(waiting, key=lambda one: one.ns)
    assert largest is not None
    return largest


def _of_entry(ledger: RankLedger, entry: Entry, culprits: tuple[int, ...], stage: Optional[int]) -> Judgement:
    is_known = entry.entry != "unexplained" or entry.ns < _UNEXPLAINED * ledger.window_ns
    kind: JudgementKind = "loss" if is_known else "unexplained"
    return Judgement(kind, ledger, entry, culprits if entry.entry == "waiting" else (), stage)


def _culprits(run: RunCommunication, chains: Chains) -> tuple[tuple[int, ...], Optional[int]]:
    """The ranks whose own computing or idle time the others wait for. A rank whose times were not recorded counts for its
    pipeline stage."""
    by_rank: Counter[int] = Counter()
    by_stage: Counter[int] = Counter()
    for (line, peer, kind), time in chains.total.items():
        capture = run.lines[line].span.capture if line >= 0 else None
        rank = peer if capture is None else capture.rank
        if kind not in ("computing", "idle", "unknown", "unprofiled"):
            continue
        stage = None if capture is None else pipeline_stage(capture)
        if stage is not None:
            by_stage[stage] += time
        if rank is not None and rank >= 0 and kind != "unknown":
            by_rank[rank] += time
    worst = by_rank.most_common(2)
    ranks = tuple(rank for rank, time in worst if time >= _SECOND * worst[0][1])
    return ranks, _stage_of(run, by_stage)


def _stage_of(run: RunCommunication, by_stage: Counter[int]) -> Optional[int]:
    """The stage that holds the others up, if it holds them up for more than twice as long as any other."""
    found = by_stage.most_common(2)
    if len(found) < 2 or found[1][1] > _SECOND * found[0][1]:
        return None
    return found[0][0]
