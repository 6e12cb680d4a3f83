"""The rank that the others wait for: it computes longer, runs the same kernels slower, or is idle longer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Optional

from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Rule, Subject, Unchecked
from tb_npu_plugin.analysis.findings.outliers import LEAST_PEERS, outliers
from tb_npu_plugin.analysis.findings.pipeline import bubble_of
from tb_npu_plugin.analysis.findings.rank_totals import RankTotals
from tb_npu_plugin.analysis.findings.run_data import RunData, median_of
from tb_npu_plugin.analysis.findings.text import duration, percent, rank_name
from tb_npu_plugin.analysis.ledger.model import RankLedger
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.messages import Message

#: Least wait of another rank for it, as a share of the step: if it also computes longer, and if nothing else shows it. Healthy
#: simulated runs reach 3.2 %.
_LEAST_HELD, _LEAST_HELD_ALONE = 0.01, 0.05
#: Least wait in short steps, ns: hosts of healthy runs start up to 0.3 ms apart.
_LEAST_APART_NS = 300_000
#: Least share of a rank's computing in kernels that other ranks also ran.
_LEAST_COMPARED = 0.5
#: A rank is late because of its host if its device idles for at least this share of the others' wait.
_EXPLAINS = 0.5

#: What to do, by the kind of a straggler.
_FIX = {"computes": "fix.straggler.computes", "arrives": "fix.straggler.arrives", "host": "fix.straggler.host"}


@dataclass(frozen=True)
class Held:
    """The longest wait for a rank in the mean step, ns.

    Attributes:
        observer: Ledger of the rank that waits.
        ns: What of it ends at that rank, less what that rank waits itself.
        idle, computing: Parts that end where its device is idle, and where it computes.
    """

    observer: RankLedger
    ns: float
    idle: float
    computing: float


@dataclass(frozen=True)
class Straggler:
    """A slow rank and how it is known. kind: key of _FIX. cost_ns: per step."""

    line: RankTotals
    kind: str
    message: Message
    cost_ns: float


def find(run: RunData) -> list[Finding]:
    """Each slow rank once, with the strongest evidence. If ledgers are known, the others must wait for it."""
    found: dict[int, Straggler] = {}
    for one in (*_computes_longer(run), *_runs_slower(run)):
        cost = min(one.cost_ns, _communicate_longer(run, one.line)) if run.ledgers else one.cost_ns
        if not run.ledgers or cost >= _LEAST_HELD * run.step_ns:
            found.setdefault(id(one.line), replace(one, cost_ns=cost))
    for one in (*_awaited(run), *_of_few(run), *_idles_longer(run)):
        found.setdefault(id(one.line), one)
    return [_finding(run, one) for one in found.values()]


def _peers(run: RunData, line: RankTotals) -> list[RankLedger]:
    """Ledgers of the other ranks: those of its pipeline stage, as stages always wait for each other."""
    others = [one for one in run.ledgers if one.rank != line.span.capture.rank]
    peers = [one for one in others if pipeline_stage(one.span.capture) == line.stage]
    return peers if run.has_stages and peers else others


def _communicate_longer(run: RunData, line: RankTotals) -> float:
    """How much longer another rank communicates than a rank, ns per step, where nothing computes. More than the waits: those
    beside computing delay the transfers behind them."""
    own = run.ledger_of(line)
    exposed = [one.total("waiting", "transfer", "communication") for one in _peers(run, line)]
    if own is None or not exposed:
        return 0.0
    return (max(exposed) - own.total("waiting", "transfer", "communication")) / run.repeats


def held_by(run: RunData, line: RankTotals) -> Optional[Held]:
    """The longest wait for a rank; None without one."""
    own, rank = run.ledger_of(line), line.span.capture.rank
    if own is None or rank is None:
        return None
    found = [
        Held(
            one,
            min(one.ends_at(rank), one.total("waiting") - own.total("waiting")),
            one.ends_at(rank, "idle"),
            one.ends_at(rank, "computing"),
        )
        for one in _peers(run, line)
    ]
    longest = max(found, key=lambda one: one.ns, default=None)
    if longest is None or longest.ns <= 0:
        return None
    times = (longest.ns, longest.idle, longest.computing)
    return Held(longest.observer, *(time / run.repeats for time in times))


def _awaited(run: RunData) -> list[Straggler]:
    """The culprits of the ledgers."""
    out = []
    for line in run.lines:
        held = held_by(run, line) if line.span.capture.rank in run.judgement.culprits else None
        if held is not None and held.ns >= max(_LEAST_HELD_ALONE * run.step_ns, _LEAST_APART_NS):
            figures = {"rank": line.title, "observer": rank_name(held.observer.span), "time": duration(held.ns)}
            if held.computing >= _EXPLAINS * held.ns:
                message = Message("finding.straggler.awaited_computing", computing=duration(held.computing), **figures)
                kind = "computes"
            else:
                message = Message("finding.straggler.awaited", idle=duration(held.idle), **figures)
                kind = "host" if held.idle >= _EXPLAINS * held.ns else "arrives"
            out.append(Straggler(line, kind, message, held.ns))
    return out


def _of_few(run: RunData) -> list[Straggler]:
    """Ranks with too few peers for a median that compute longer than these, which communicate longer in turn."""
    key = "finding.straggler.computes_stage" if run.has_stages else "finding.straggler.computes"
    out = []
    for line in run.lines:
        own, peers = run.ledger_of(line), _peers(run, line)
        alike = [one.total("computing") for one in peers if pipeline_stage(one.span.capture) == line.stage]
        if own is None or not 0 < len(alike) < LEAST_PEERS - 1:
            continue
        median = median_of(alike)
        longer = min((own.total("computing") - median) / run.repeats, _communicate_longer(run, line))
        if longer >= max(_LEAST_HELD_ALONE * run.step_ns, _LEAST_APART_NS):
            figures = {
                "time": duration(own.total("computing") / run.repeats),
                "share": percent(own.total("computing") / median - 1),
            }
            out.append(Straggler(line, "computes", Message(key, rank=line.title, **figures), longer))
    return out


def _idles_longer(run: RunData) -> list[Straggler]:
    """Ranks that are idle more than twice as long as the others, which communicate longer: also where computing hides their waits,
    which then delay the transfers behind them."""
    out = []
    for line in run.lines:
        own = run.ledger_of(line)
        idle = [one.total("idle", "unexplained") for one in _peers(run, line)]
        if own is None or not idle:
            continue
        longer = (own.total("idle", "unexplained") - median_of(idle)) / run.repeats
        communicate = _communicate_longer(run, line)
        if longer * run.repeats > median_of(idle) and min(longer, communicate) >= max(
            _LEAST_HELD_ALONE * run.step_ns, _LEAST_APART_NS
        ):
            message = Message(
                "finding.straggler.idles", rank=line.title, time=duration(longer), communicate=duration(communicate)
            )
            out.append(Straggler(line, "host", message, min(longer, communicate)))
    return out


def _finding(run: RunData, one: Straggler) -> Finding:
    others = len(run.lines) - 1
    is_confirmed = one.kind != "computes" and others > 1  # the others show it by waiting
    return Finding(
        rule=RULE.id,
        category=RULE.category,
        subject=Subject.of(one.line.span, stage=one.line.stage),
        message=one.message,
        cost_ns=round(one.cost_ns),
        part="waiting",
        confidence=Confidence("confirmed", others) if is_confirmed else Confidence("measured"),
        evidence=_evidence(run, one.line.span.token),
        fix=(Message(_FIX[one.kind]),),
        check=Message("check.straggler", rank=one.line.name),
    )


def _evidence(run: RunData, span: str) -> tuple[Evidence, ...]:
    """The step in which the others wait longest for the rank at one collective, and its trace meanwhile."""
    hold = run.communication.longest_hold(span)
    if hold is None:
        return Evidence("distributed"), Evidence("trace", span)
    return (
        Evidence("distributed", step=hold.step),
        Evidence("trace", span, start_ns=hold.start, end_ns=hold.end, step=hold.step),
    )


def _computes_longer(run: RunData) -> list[Straggler]:
    lines = run.lines
    key = "finding.straggler.computes_stage" if run.has_stages else "finding.straggler.computes"
    out = []
    for index, value, median in outliers([line.computing for line in lines], run.stages):
        line, count = lines[index], run.step_count
        message = Message(key, rank=line.title, time=duration(value / count), share=percent(value / median - 1))
        out.append(Straggler(line, "computes", message, (value - median - _filled(run, index)) / count))
    return out


def _filled(run: RunData, index: int) -> float:
    """Bubble that a rank fills with what it computes longer: that of its stage less its own, ns over all steps."""
    own = bubble_of(run, run.lines[index])
    bubbles = [bubble_of(run, line) for line, stage in zip(run.lines, run.stages) if stage == run.stages[index]]
    return max(median_of(bubbles) - own, 0.0) * run.step_count


def _runs_slower(run: RunData) -> list[Straggler]:
    """Compare ranks with few peers by the kernels that others ran, too, across pipeline stages."""
    lines, count = run.lines, run.step_count
    ratios = [_ratio_of_same_kernels(line) for line in lines]
    out = []
    for index, ratio, _ in outliers(ratios, [0] * len(lines), least_peers=2):
        stage, line = run.stages[index], lines[index]
        has_peers = stage is not None and run.stages.count(stage) >= LEAST_PEERS
        if has_peers or line.same_kernels is None or line.same_kernels_expected is None:
            continue
        message = Message(
            "finding.straggler.slower_kernels",
            rank=line.title,
            share=percent(ratio - 1),
            time=duration(line.same_kernels / count),
            expected=duration(line.same_kernels_expected / count),
        )
        cost = line.same_kernels - line.same_kernels_expected
        out.append(Straggler(line, "computes", message, cost / count))
    return out


def _ratio_of_same_kernels(line: RankTotals) -> Optional[float]:
    taken, expected = line.same_kernels, line.same_kernels_expected
    if taken is None or not expected or taken < _LEAST_COMPARED * (line.computing or 0):
        return None
    return taken / expected


def missing(run: RunData) -> Optional[Unchecked]:
    """Two ranks or more with step times."""
    if len(run.lines) < 2:
        return Unchecked(RULE.id, Message("unchecked.one_rank"), "")
    known: Sequence[RankTotals] = [line for line in run.lines if line.whole_ns]
    return None if len(known) > 1 else Unchecked(RULE.id, Message("unchecked.no_step_times"), "")


RULE = Rule("straggler", "ranks", find, missing, needs_ranks=True)
