"""The verdict: one sentence for a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Optional

from tb_npu_plugin.analysis.findings.ledger_sentence import listed, parts_of, sentence_of
from tb_npu_plugin.analysis.findings.model import SEVERITIES, Finding, Part, Subject, severity_of
from tb_npu_plugin.analysis.findings.run_data import RankLine, RunData
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.analysis.kernels.roofline import distance_of
from tb_npu_plugin.analysis.ledger.judge import Judgement
from tb_npu_plugin.messages import Message

#: Rules about a rank that the others wait for.
AWAITED = ("straggler", "unprofiled_rank")
#: Parts of a step below this share are left out of the sentence.
_LEAST_SHARE = 0.01
#: One late rank or cause is named if it has at least this share of the waiting or idle time.
_MOST = 0.5


@dataclass(frozen=True)
class RunVerdict:
    """One sentence for the run."""

    rule: str
    """Rule of the finding that explains the largest loss; "loss" if none does, "unexplained" if the cause of the loss was not
    recorded, "healthy", or "unknown" without step times."""
    message: Message
    """The sentence."""
    cost_ns: int
    """Time at stake per step of that finding; 0 without one."""
    share: Optional[float]
    """Its share of step time, from 0 to 1; null without step times."""


def verdict_of(findings: Sequence[Finding], run: RunData) -> RunVerdict:
    """The verdict of the costliest finding that is not low and has no cause among the others, if it explains the largest loss
    of the ledgers; else that loss. findings: the highest cost first."""
    if not run.step_ns or run.judgement.kind == "unknown":
        return RunVerdict("unknown", Message("verdict.cpu" if run.is_of_cpu else "verdict.unknown"), 0, None)
    step = duration(run.step_ns)
    costly = _explaining(findings, run)
    if costly is None and run.judgement.kind in ("loss", "unexplained"):
        return _of_ledger(run, findings, step)
    if costly is None:
        is_short = any(one.cost_ns >= SEVERITIES[-1][1] * run.step_ns for one in findings if not one.causes)
        parts = _parts(run, None, findings)
        if is_short:
            return RunVerdict("healthy", Message("verdict.short", step=step, parts=parts), 0, 0.0)
        text = Message("verdict.healthy", step=step, parts=parts, roofline=_roofline(run))
        return RunVerdict("healthy", text, 0, 0.0)
    share = costly.cost_ns / run.step_ns
    figures = {"time": duration(costly.cost_ns), "share": percent(share), "step": step}
    parts = _parts(run, costly, findings)
    message = Message("verdict.finding", what=_what(costly), parts=parts, **figures)
    return RunVerdict(costly.rule, message, costly.cost_ns, share)


def _explaining(findings: Sequence[Finding], run: RunData) -> Finding | None:
    """The costliest finding that is not low, if it costs as much as the largest loss of the ledgers; else the costliest one
    about that loss; else None."""
    found = _costly(findings, run)
    entry = run.judgement.entry
    if not found or entry is None or found[0].cost_ns >= entry.ns:
        return found[0] if found else None
    return next((one for one in found if _is_about(one, run.judgement)), None)


def _costly(findings: Sequence[Finding], run: RunData) -> list[Finding]:
    """Findings that are not low and have no cause among the others. What costs more than its part of any step rests on tables
    that are cut."""
    found = [one for one in findings if not one.causes and severity_of(one, run.step_ns) != "low"]
    return [one for one in found if one.cost_ns <= _most_of(one.part, run)]


def _most_of(part: Part, run: RunData) -> float:
    """Upper bound of what a finding about waiting or idle time can cost, ns."""
    kinds = {"waiting": ("waiting", "communication", "transfer"), "free": ("idle", "unexplained")}.get(part)
    if kinds is None or not run.ledgers:
        return float("inf")
    return max(sum(one.ns for one in ledger.entries if one.entry in kinds) for ledger in run.ledgers)


def _is_about(finding: Finding, judgement: Judgement) -> bool:
    """Whether a finding explains the largest loss."""
    entry = judgement.entry
    assert entry is not None
    is_large = finding.cost_ns >= _MOST * entry.ns
    if entry.entry == "waiting":
        is_of_rank = finding.subject.rank in judgement.culprits
        is_of_stage = is_large and finding.subject.stage is not None and finding.subject.stage == judgement.stage
        explains = finding.part in ("waiting", "bubble") or (finding.part == "computing" and is_large)
        is_of_all = is_large and finding.part == "bubble" and not judgement.culprits and judgement.stage is None
        return is_of_all or (explains and (is_of_rank or is_of_stage))
    parts = {"transfer": ("communication",), "communication": ("communication", "waiting", "bubble")}
    return is_large and finding.part in parts.get(entry.entry, ("free", "preparing"))


def _of_ledger(run: RunData, findings: Sequence[Finding], step: str) -> RunVerdict:
    """The verdict of the largest loss, which no finding explains, and what else could be saved."""
    judgement = run.judgement
    assert judgement.ledger is not None and judgement.entry is not None
    waits = judgement.entry.entry == "waiting"
    cost = judgement.ledger.total("waiting") if waits else judgement.entry.ns
    found = _costly(findings, run)
    about = (one for one in found if judgement.stage is not None and one.subject.stage == judgement.stage)
    other = next(about, found[0] if found else None)
    also: Message | str = ""
    if other is not None:
        figures = {"time": duration(other.cost_ns), "share": percent(other.cost_ns / run.step_ns)}
        also = Message("verdict.also", what=_what(other), **figures)
    sentence, parts = sentence_of(judgement, run), parts_of(judgement.ledger)
    text = Message("verdict.ledger", what=sentence, step=step, parts=parts, also=also)
    return RunVerdict(judgement.kind, text, cost, cost / judgement.ledger.window_ns)


def title_of(rule: str) -> Message:
    """Title of a rule."""
    return Message(f"rule.{rule}")


def _what(finding: Finding) -> Message:
    """The rule and what its finding is about."""
    subject = _name(finding.subject)
    if subject is None:
        return title_of(finding.rule)
    if finding.rule in AWAITED:
        return Message("verdict.waiting_for", subject=subject)
    return Message("verdict.of", title=title_of(finding.rule), subject=subject)


def _name(subject: Subject) -> str | Message | None:
    if subject.rank is not None:
        return f"rank {subject.rank}"
    if subject.link is not None:
        return " → ".join(map(str, subject.link))
    if subject.stage is not None:
        return Message("verdict.stage", stage=subject.stage)
    return subject.worker or subject.kernel or subject.operator


def _line_of(run: RunData, finding: Optional[Finding]) -> Optional[RankLine]:
    """The rank of the finding; if it was not profiled, the one that waits longest; else the longest one."""
    about = [line for line in run.lines if finding is not None and line.span.capture.rank == finding.subject.rank]
    is_awaited = finding is not None and finding.rule in AWAITED and not about
    return max(
        about or run.lines,
        key=lambda one: ((one.sums.exposed_waiting or 0) if is_awaited else 0, one.whole_ns),
        default=None,
    )


def _parts(run: RunData, finding: Optional[Finding], findings: Sequence[Finding]) -> Message | str:
    """What the mean step of a rank consists of, the longest part first."""
    line = _line_of(run, finding)
    if line is None or not line.whole_ns:
        return ""
    sums, whole = line.sums, line.whole_ns
    exposed, bubble = sums.communication_not_overlapped or 0, sums.bubble or 0
    waiting = sums.exposed_waiting
    bubble = min(bubble, exposed - (waiting or 0))
    rest = exposed - bubble - (waiting or 0)
    parts: list[tuple[int, Callable[[str], Message]]] = [
        (sums.computing or 0, lambda share: Message("verdict.part.computing", share=share)),
        (waiting or 0, lambda share: _waiting(run, line, share)),
        (bubble, lambda share: Message("verdict.part.bubble", share=share)),
        (rest, lambda share: _communication(run, line, share, rest, findings)),
        (sums.copying or 0, lambda share: Message("verdict.part.copying", share=share)),
        (sums.free or 0, lambda share: _idle(run, line, share)),
    ]
    parts.sort(key=lambda part: -part[0])
    shown = [text(percent(time / whole)) for time, text in parts if time >= _LEAST_SHARE * whole]
    return Message("verdict.parts", rank=line.title, parts=listed(shown))


def _roofline(run: RunData) -> Message:
    """How far the kernels of the rank of the sentence are from what its device can do."""
    line = _line_of(run, None)
    kernels = next((one for one in run.kernels if line is not None and one.span is line.span), None)
    found = None if kernels is None else distance_of(kernels.table, kernels.device)
    if found is None:
        return Message("verdict.roofline_unknown")
    figures = {"known": percent(found.known_share), "mfu": percent(found.mfu)}
    if found.share is None:
        return Message("verdict.mfu", **figures)
    return Message("verdict.roofline", share=percent(found.share), **figures)


def _communication(run: RunData, line: RankLine, share: str, time_ns: int, findings: Sequence[Finding]) -> Message:
    """Exposed communication without waiting and bubble. Names what most of it is lost to, where that holds even if all
    overlapped communication is lost to it, too."""
    least = (line.sums.overlapped or 0) + _MOST * time_ns
    causes = [
        one
        for one in findings
        if one.part == "communication" and one.subject.rank == line.span.capture.rank is not None and not one.causes
    ]
    cause = max(causes, key=lambda one: one.cost_ns, default=None)
    is_known = line.sums.exposed_waiting is not None or (line.sums.bubble or 0) > 0
    text = Message("verdict.part.transfer" if is_known else "verdict.part.communication", share=share)
    if cause is None or cause.cost_ns * run.step_count < least:
        return text
    return Message("verdict.part.because", part=text, cause=title_of(cause.rule))


def _waiting(run: RunData, line: RankLine, share: str) -> Message:
    """Names the rank that most of the waiting is for."""
    times: dict[int, int] = {}
    for budget in run.budgets:
        if budget.span == line.sums.span and budget.device_id == line.sums.device_id:
            for late in budget.waiting_for:
                if late.rank is not None:
                    times[late.rank] = times.get(late.rank, 0) + (late.exposed or 0)
    rank = max(times, key=lambda one: times[one], default=None)
    if rank is None or times[rank] < _MOST * (line.sums.exposed_waiting or 0):
        return Message("verdict.part.waiting_several", share=share)
    return Message("verdict.part.waiting", share=share, rank=f"rank {rank}")


def _idle(run: RunData, line: RankLine, share: str) -> Message:
    """Names the cause of most of the idle time."""
    devices = next((devices for span, devices in run.idle if span is line.span), [])
    device = next((one for one in devices if one.device_id == line.sums.device_id), None)
    times: dict[str, int] = {}
    for one in device.by_cause if device is not None else ():
        times[one.cause] = times.get(one.cause, 0) + one.time_ns
    cause = max(times, key=lambda one: times[one], default="unknown")
    if cause == "unknown" or times[cause] < _MOST * (line.sums.free or 0):
        return Message("verdict.part.idle", share=share)
    return Message("verdict.part.idle_because", share=share, cause=Message(f"verdict.idle.{cause}"))
