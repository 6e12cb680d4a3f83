"""The verdict: one sentence for a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor
from typing import Optional

from tb_npu_plugin.analysis.findings.ledger_sentence import excess_text, iterations_text, parts_of, sentence_of, text_of
from tb_npu_plugin.analysis.findings.model import SEVERITIES, Finding, Subject, severity_of
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.analysis.kernels.roofline import distance_of
from tb_npu_plugin.analysis.ledger.judge import HEALTHY_LOSS, Judgement, JudgementKind
from tb_npu_plugin.analysis.ledger.model import RankLedger
from tb_npu_plugin.messages import Message

#: Rules about a rank that the others wait for.
AWAITED = ("straggler", "unprofiled_rank")
#: A finding explains a loss if it costs at least this share of it.
_MOST = 0.5


@dataclass(frozen=True)
class RunVerdict:
    """One sentence for the run."""

    kind: JudgementKind
    """See Judgement."""
    ledger: Optional[RankLedger]
    """Of the rank that the verdict is about; None without step times."""
    rule: str
    """Rule of the finding that explains the largest loss; "loss" if none does, "unexplained" if the cause of the loss was not
    recorded, "healthy", or "unknown" without step times."""
    conclusion: Message
    """The loss, why, and what could be saved."""
    message: Message
    """The conclusion, and what the mean step consists of."""
    cost_ns: int
    """Time at stake per step of that finding; 0 without one."""
    share: Optional[float]
    """Its share of step time, from 0 to 1; null without step times."""


def verdict_of(findings: Sequence[Finding], run: RunData) -> RunVerdict:
    """The verdict; of iterations, with what they do."""
    found = _verdict(findings, run)
    return replace(
        found, conclusion=iterations_text(run, found.conclusion), message=iterations_text(run, found.message)
    )


def _verdict(findings: Sequence[Finding], run: RunData) -> RunVerdict:
    """The largest loss of the ledgers and the finding that explains it; a finding that costs more comes first. findings: the
    highest cost first."""
    if not run.step_ns or run.judgement.kind == "unknown":
        text = Message("verdict.cpu" if run.recorded.is_of_cpu else "verdict.unknown")
        return RunVerdict("unknown", None, "unknown", text, text, 0, None)
    judgement, costly = run.judgement, _costly(findings, run)
    # The ledger holds all losses of the step: of a healthy run, only what is inside computing can exceed them.
    most = next((one for one in costly if judgement.kind != "healthy" or one.part == "computing"), None)
    explaining = next((one for one in costly if _is_about(one, judgement)), None)
    loss = 0 if judgement.entry is None else judgement.entry.ns
    is_larger = most is not None and most.cost_ns >= loss and most is not explaining
    if most is not None and is_larger and judgement.kind != "unexplained":
        return _of_finding(most, run)
    if judgement.kind != "healthy":
        return _of_ledger(run, explaining, costly)
    ledger = judgement.ledger
    assert ledger is not None
    step, parts = duration(run.step_ns), parts_of(ledger, run)
    if run.unjudged:
        text = Message("verdict.unjudged", ranks=", ".join(run.unjudged))
        return RunVerdict("unexplained", ledger, "unexplained", text, text_of([text, parts]), 0, 0.0)
    if not costly and any(one.cost_ns >= SEVERITIES[-1][1] * run.step_ns for one in findings if not one.causes):
        text = Message("verdict.short", step=step)
    else:
        least = min(one.total("computing") / one.window_ns for one in run.ledgers if one.window_ns > 0)
        figures = {"step": step, "share": percent(floor(100 * least) / 100), "most": percent(HEALTHY_LOSS)}
        text = text_of([Message("verdict.healthy", **figures), _roofline(run, ledger)])
    return RunVerdict("healthy", ledger, "healthy", text, text_of([text, parts]), 0, 0.0)


def _of_finding(finding: Finding, run: RunData) -> RunVerdict:
    """The verdict of a finding that costs more than the largest loss, such as one inside computing."""
    ledger, share = _ledger_of(finding, run), finding.cost_ns / run.step_ns
    figures = {"time": duration(finding.cost_ns), "share": percent(share), "step": duration(run.step_ns)}
    parts = parts_of(ledger, run) if ledger is not None else ""
    text = Message("verdict.finding", what=_what(finding), **figures)
    return RunVerdict(run.judgement.kind, ledger, finding.rule, text, text_of([text, parts]), finding.cost_ns, share)


def _costly(findings: Sequence[Finding], run: RunData) -> list[Finding]:
    """Findings that are not low and have no cause among the others."""
    return [one for one in findings if not one.causes and severity_of(one, run.step_ns) != "low"]


def _is_about(finding: Finding, judgement: Judgement) -> bool:
    """Whether a finding explains the largest loss."""
    entry = judgement.entry
    if entry is None:
        return False
    is_large = finding.cost_ns >= _MOST * entry.ns
    if entry.entry == "waiting":
        is_of_rank = finding.subject.rank in judgement.culprits
        is_of_stage = is_large and finding.subject.stage is not None and finding.subject.stage == judgement.stage
        explains = finding.part in ("waiting", "bubble") or (finding.part == "computing" and is_large)
        is_of_all = is_large and finding.part == "bubble" and not judgement.culprits and judgement.stage is None
        return is_of_all or (explains and (is_of_rank or is_of_stage))
    parts = {"transfer": ("communication",), "communication": ("communication", "waiting", "bubble")}
    return is_large and finding.part in parts.get(entry.entry, ("free", "preparing"))


def _of_ledger(run: RunData, explaining: Optional[Finding], costly: Sequence[Finding]) -> RunVerdict:
    """The verdict of the largest loss: what explains it, and what could be saved. costly: the costliest finding first."""
    judgement = run.judgement
    ledger, entry = judgement.ledger, judgement.entry
    assert ledger is not None and entry is not None
    saves: Message | str = ""
    of_stage = (one for one in costly if judgement.stage is not None and one.subject.stage == judgement.stage)
    saving = explaining or next(of_stage, costly[0] if costly else None)
    if saving is not None:
        figures = {"time": duration(saving.cost_ns), "share": percent(saving.cost_ns / run.step_ns)}
        saves = Message("verdict.saves", what=_what(saving), **figures)
    waits = entry.entry == "waiting"
    simulated = Message("verdict.simulated") if run.recorded.is_simulated else ""
    sentence = sentence_of(judgement, run, explaining is not None)
    text = text_of([sentence, excess_text(run.excess) if waits else "", saves, simulated])
    length = Message("verdict.capture" if run.period == "capture" else "verdict.step", step=duration(run.step_ns))
    message = text_of([text, length, parts_of(ledger, run)])
    if explaining is not None:
        cost = explaining.cost_ns
        return RunVerdict("loss", ledger, explaining.rule, text, message, cost, cost / run.step_ns)
    cost = ledger.total("waiting") if waits else entry.ns
    return RunVerdict(judgement.kind, ledger, judgement.kind, text, message, cost, cost / ledger.window_ns)


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


def _ledger_of(finding: Finding, run: RunData) -> Optional[RankLedger]:
    """That of the rank of the finding, else of the judgement."""
    rank = finding.subject.rank
    return next((one for one in run.ledgers if one.rank == rank is not None), run.judgement.ledger)


def _roofline(run: RunData, ledger: RankLedger) -> Message:
    """How far the kernels of a rank are from what its device can do."""
    kernels = next((one for one in run.kernels if one.span is ledger.span), None)
    found = None if kernels is None else distance_of(kernels.table, kernels.device)
    if found is None:
        return Message("verdict.roofline_unknown")
    figures = {"known": percent(found.known_share), "mfu": percent(found.mfu)}
    if found.share is None:
        return Message("verdict.mfu", **figures)
    return Message("verdict.roofline", share=percent(found.share), **figures)
