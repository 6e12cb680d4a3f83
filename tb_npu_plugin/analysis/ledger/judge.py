"""Finds the largest loss of a run, and the ranks that cause it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean, median
from typing import Literal, Optional

from tb_npu_plugin.analysis.ledger.chains import Chains
from tb_npu_plugin.analysis.ledger.model import Entry, RankLedger
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.analysis.steps.of_span import averaged_of_span

#: A run is healthy if, on each rank, all losses together and each loss alone are below these shares of the step.
HEALTHY_LOSSES, HEALTHY_LOSS = 0.1, 0.05
#: A rank determines the step alone if it waits for at most this share of its step.
_MOST_WAITING = 0.1
#: The waits for that rank are the loss only from this share of the step on.
_LEAST_AWAITED = 0.05
#: A second culprit is named if the waits for it are at least this share of the waits for the first one. If more are, none is:
#: ranks wait for each other.
_SECOND, _MOST_CULPRITS = 0.5, 2
#: Stage of ranks that were not profiled.
_UNKNOWN_STAGE = 0
#: Computing explains waits if it is at least this share of them.
_MOST_EXPLAINED = 0.5
#: From this share of the step on, unexplained time makes the judgement uncertain.
_UNEXPLAINED = 0.1

#: A culprit waits itself for at most this share of the longest waiting of a rank.
_MOST_OWN = 0.5
#: A stage is to blame if it works for at least this many times the mean of the others.
_LEAST_WORK = 1.05

JudgementKind = Literal["loss", "unexplained", "healthy", "unknown"]


@dataclass(frozen=True)
class Judgement:
    """What determines the step.

    Attributes:
        ledger: Ledger of the rank with the loss; if healthy, of the longest step; None without ledgers.
        entry: Loss of that rank; None if healthy or unknown.
        culprits: Ranks that it waits for, the worst first; the rank itself, if the others wait while it is idle; () for other
            losses.
        stage: Pipeline stage that it waits for; None if it is not a whole stage.
    """

    kind: JudgementKind
    ledger: Optional[RankLedger] = None
    entry: Optional[Entry] = None
    culprits: tuple[int, ...] = ()
    stage: Optional[int] = None


def judge(run: RunCommunication, ledgers: Sequence[RankLedger], chains: Chains) -> Judgement:
    """Judge a run by the ledgers and chains of all its lines."""
    ledgers = sorted((one for one in ledgers if one.window_ns > 0), key=_place)
    if not ledgers:
        return Judgement("unknown")
    if all(map(_is_healthy, ledgers)):
        unsure = next(((one, entry) for one in ledgers for entry in one.entries if _may_lose(one, entry)), None)
        if unsure is not None:
            return Judgement("unexplained", *unsure)
        return Judgement("healthy", max(ledgers, key=lambda one: one.window_ns))
    least = min(ledgers, key=_waiting_share)
    most = max(ledgers, key=_share)
    culprits, stage = _culprits(run, ledgers, chains, _LEAST_AWAITED * most.window_ns)
    longest, noise = _MOST_OWN * most.total("waiting"), _LEAST_AWAITED * most.window_ns
    waits = {one.rank: _most_waiting(one) for one in ledgers}
    culprits = tuple(rank for rank in culprits if waits.get(rank, 0) <= longest and _waits_less(rank, ledgers, noise))
    if not chains.total:
        stage = _slow_stage(ledgers)
    alone = next((one for one in reversed(ledgers) if culprits == (one.rank,)), None)
    if alone is not None:
        held = max(ledgers, key=lambda one: one.ends_at(alone.rank))
        longer = held.total("waiting") - alone.total("waiting")
        if min(held.ends_at(alone.rank), longer) >= _LEAST_AWAITED * held.window_ns:
            own = _largest(alone)
            if own.entry == "idle" and own.ns >= longer:
                return replace(_of_entry(alone, own, (), None), culprits=culprits)
            return _of_entry(held, _longest_wait(held), culprits, stage)
    largest = _largest(most)
    is_of_stage = stage is not None and _share(most) - _share(least) >= _LEAST_AWAITED
    if (largest.entry == "waiting" and is_of_stage) or _waiting_share(least) > _MOST_WAITING:
        return _of_entry(most, largest, culprits, stage)
    # If the rank that waits least is healthy, the rank with the largest loss is shown.
    shown = max(ledgers, key=_loss_share) if _is_healthy(least) else least
    return _of_entry(shown, _largest(shown), (), None)


def _waits_less(rank: int, ledgers: Sequence[RankLedger], noise: float) -> bool:
    """Whether a rank waits less than its stage: who holds others up is waited for by its own stage first. True without peers."""
    own = [one for one in ledgers if one.rank == rank]
    stage = pipeline_stage(own[0].span.capture) if own else None
    peers = [one.total("waiting") for one in ledgers if one.rank != rank and pipeline_stage(one.span.capture) == stage]
    if stage is None or not peers:
        return True
    return max(one.total("waiting") for one in own) <= median(peers) - noise


def _place(ledger: RankLedger) -> tuple[int, ...]:
    """Sort key, so that the order of folders and devices decides nothing: by rank, the longest waiting last, which stands for a
    rank with several ledgers."""
    rank = -1 if ledger.rank is None else ledger.rank
    return rank, ledger.total("waiting"), ledger.window_ns, ledger.losses_ns


def _share(ledger: RankLedger) -> float:
    return ledger.total("waiting") / ledger.window_ns


def _may_lose(ledger: RankLedger, entry: Entry) -> bool:
    """Whether an entry of computing may hide so much that the ledger is not healthy: kernels may wait for other ranks inside."""
    hidden = entry.ns if entry.needs == "kernels" else entry.ns - entry.low_ns
    return entry.entry == "computing" and not _is_healthy(ledger, hidden)


def _most_waiting(ledger: RankLedger) -> int:
    """Largest possible waiting, ns."""
    return sum(one.high_ns for one in ledger.entries if one.entry == "waiting")


def _waiting_share(ledger: RankLedger) -> float:
    """Largest possible share of waiting."""
    return _most_waiting(ledger) / ledger.window_ns


def _is_healthy(ledger: RankLedger, hidden_ns: int = 0) -> bool:
    """hidden_ns: loss inside computing."""
    losses = [one.high_ns for one in ledger.entries if one.entry != "computing"] + [
        ledger.before_ns,
        ledger.after_ns,
        ledger.outside_ns,
        hidden_ns,
    ]
    # Time that is either waiting or transfer is in the upper bounds of both.
    twice = sum(one.high_ns - one.low_ns for one in ledger.entries if one.entry == "transfer")
    window = ledger.window_ns
    return sum(losses) - twice < HEALTHY_LOSSES * window and max(losses) < HEALTHY_LOSS * window


def _loss_share(ledger: RankLedger) -> float:
    largest = _largest(ledger)
    ns = ledger.total("waiting") if largest.entry == "waiting" else largest.ns
    return ns / ledger.window_ns


def _largest(ledger: RankLedger) -> Entry:
    """The largest loss, the time before the first task included. All waits count together, by what is certain of them, and the
    longest one stands for them."""
    ns, outside = ledger.before_ns, ledger.outside_ns
    before = Entry("idle", "preparing", ns, ns, ns)
    rest = Entry("unexplained", "outside", outside, outside, outside, needs="trace")
    others = [one for one in ledger.entries if one.entry not in ("computing", "waiting")]
    largest = max([*others, before, rest], key=lambda one: one.ns)
    waits = sum(one.low_ns for one in ledger.entries if one.entry == "waiting")
    return _longest_wait(ledger) if waits and waits >= largest.ns else largest


def _longest_wait(ledger: RankLedger) -> Entry:
    return max((one for one in ledger.entries if one.entry == "waiting"), key=lambda one: one.ns)


def _of_entry(ledger: RankLedger, entry: Entry, culprits: tuple[int, ...], stage: Optional[int]) -> Judgement:
    is_known = entry.entry != "unexplained" or entry.ns < _UNEXPLAINED * ledger.window_ns
    kind: JudgementKind = "loss" if is_known else "unexplained"
    is_waiting = entry.entry == "waiting"
    return Judgement(kind, ledger, entry, culprits if is_waiting else (), stage if is_waiting else None)


def _culprits(
    run: RunCommunication, ledgers: Sequence[RankLedger], chains: Chains, noise: float
) -> tuple[tuple[int, ...], Optional[int]]:
    """The ranks that the others wait for, and their pipeline stage.

    A rank counts if it was computing, idle or not profiled. If its kernels have no times, it counts only for its stage; without
    stages for itself, as it neither waited nor communicated.

    Args:
        noise: Waits of one rank per step that name no other, ns.
    """
    by_stage: Counter[int] = Counter()
    unknown: set[Optional[int]] = set()  # stages with ranks whose kernels have no times
    ranks = [line.span.capture.rank for line in run.lines]
    of_line: list[Counter[int]] = [Counter() for _ in ranks]
    stage_of = {line.span.capture.rank: pipeline_stage(line.span.capture) for line in run.lines}
    has_stages = len({*stage_of.values()}) > 1
    is_whole = len(run.profiled) == run.world_size
    for waiting, waits, own in zip(ranks, chains.of_line, of_line):
        for (_, rank, kind), time in (end for ends in waits.values() for end in ends.items()):
            if kind == "error":
                continue
            stage = stage_of.get(rank)
            by_stage[_UNKNOWN_STAGE if stage is None else stage] += time
            if kind == "transfer":  # of the layers of a stage, and nobody's fault
                continue
            if kind == "unknown" and has_stages:
                unknown.add(stage)
            # Other stages wait for all ranks of a stage in turn: these compare only if all that wait are profiled.
            elif rank is not None and (is_whole or stage in (None, stage_of[waiting]) or kind == "idle"):
                own[rank] += time
    by_rank = sum(of_line, Counter[int]())
    longer = {rank: time - _of_peers(rank, by_rank, stage_of) for rank, time in by_rank.items()}
    worst = max(longer.values(), default=0)
    found = sorted((rank for rank in longer if longer[rank] >= _SECOND * worst), key=lambda rank: -longer[rank])
    # A sum over many ranks and steps proves nothing: one rank must wait for it for longer than for its peers.
    held = max((own[found[0]] - _of_peers(found[0], own, stage_of) for own in of_line), default=0) if found else 0
    steps = max((len(averaged_of_span(line.span, line.steps)) for line in run.lines), default=1)
    is_resolved = chains.unresolved_ns < _SECOND * worst  # else that rank may be the culprit, or wait itself
    culprits = tuple(found) if held >= steps * noise and len(found) <= _MOST_CULPRITS and is_resolved else ()
    stand_out = culprits and not {stage_of.get(rank) for rank in culprits} & unknown
    return culprits, None if stand_out else _stage_of(by_stage, sum(chains.total.values()), ledgers)


def _of_peers(rank: int, by_rank: Counter[int], stage_of: Mapping[Optional[int], Optional[int]]) -> float:
    """For how long the median of the other ranks of a stage is awaited, ns; 0 without stages."""
    stage = stage_of.get(rank)
    peers = [by_rank[other] for other, own in stage_of.items() if other not in (None, rank) and own == stage]
    return float(median(peers)) if peers and len({*stage_of.values()}) > 1 and stage is not None else 0.0


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


def _stage_of(by_stage: Counter[int], waiting: int, ledgers: Sequence[RankLedger]) -> Optional[int]:
    """The most awaited stage, if the others wait for it at least twice as long as for any other, and for most of all waiting, and
    it works longer: the first and the last stage wait for different times even if all work alike."""
    works: dict[int, list[int]] = {}
    for ledger in ledgers:
        if (stage := pipeline_stage(ledger.span.capture)) is not None:
            certain = sum(one.low_ns for one in ledger.entries if one.entry in ("computing", "transfer"))
            works.setdefault(stage, []).append(certain)
    found = by_stage.most_common(2)
    if len(works) < 2 or not found or found[0][1] < _MOST_EXPLAINED * waiting:
        return None
    if len(found) > 1 and found[1][1] > _SECOND * found[0][1]:
        return None
    others = [mean(times) for stage, times in works.items() if stage != found[0][0]]
    own = works.get(found[0][0])
    return found[0][0] if own is not None and mean(own) >= _LEAST_WORK * mean(others) else None
