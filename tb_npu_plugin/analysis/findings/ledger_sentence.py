"""Writes the sentence about the judgement of a run."""

from __future__ import annotations

from collections.abc import Sequence

from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.analysis.ledger.judge import Judgement
from tb_npu_plugin.analysis.ledger.model import Entry, RankLedger
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.formats import FORMATS, KINETO
from tb_npu_plugin.schema.registry import file_of

#: The sentence leaves out parts below this share of the step.
_LEAST_SHARE = 0.01
#: Kind of an entry, or launch of idle time -> sentence.
_LOSSES = {
    "transfer": "verdict.loss.transfer",
    "communication": "verdict.loss.communication",
    "copies": "verdict.loss.copies",
    "late": "verdict.loss.idle_late",
    "before": "verdict.loss.idle_before",
    "preparing": "verdict.loss.before",
}
#: Kind of an entry -> its words in the list of the parts of a step.
_PARTS = {
    "computing": "verdict.part.computing",
    "transfer": "verdict.part.transfer",
    "communication": "verdict.part.communication",
    "copies": "verdict.part.copying",
    "idle": "verdict.part.idle",
    "unexplained": "verdict.part.idle",
}


def sentence_of(judgement: Judgement, run: RunData) -> Message:
    """The sentence about a judgement of kind "loss" or "unexplained"."""
    ledger, entry = judgement.ledger, judgement.entry
    assert ledger is not None and entry is not None
    if entry.entry == "waiting":
        return _waiting(judgement, ledger, run)
    figures = {"rank": _title(ledger), "share": percent(entry.ns / ledger.window_ns), "time": duration(entry.ns)}
    if entry.entry == "unexplained":
        what = _unexplained(ledger, run.ledgers, figures)
        return what if judgement.kind == "loss" else Message("verdict.unexplained", what=what)
    is_certain = entry.low_ns == entry.ns
    return Message(_LOSSES[entry.detail or entry.entry] if is_certain else "verdict.loss.communication", **figures)


def _waiting(judgement: Judgement, ledger: RankLedger, run: RunData) -> Message:
    waits = [one for one in ledger.entries if one.entry == "waiting"]
    least = sum(one.low_ns for one in waits)
    most = min(sum(one.high_ns for one in waits), ledger.window_ns)
    share = _range([least / ledger.window_ns, most / ledger.window_ns])
    time = duration(ledger.total("waiting")) if least == most else f"{duration(least)} – {duration(most)}"
    figures = {"rank": _title(ledger), "share": share, "time": time}
    if judgement.stage is not None:
        waiting = [one for one in run.ledgers if pipeline_stage(one.span.capture) != judgement.stage]
        shares = _range([one.total("waiting") / one.window_ns for one in waiting])
        return Message("verdict.loss.stage", stage=judgement.stage, share=shares, computing=_computing(run))
    if not judgement.culprits:
        return _unnamed(max(waits, key=lambda one: one.ns), run, figures)
    profiled = {one.rank for one in run.ledgers}
    names = ", ".join(f"rank {rank}" for rank in judgement.culprits)
    is_profiled = profiled.issuperset(judgement.culprits)
    return Message("verdict.loss.waiting" if is_profiled else "verdict.loss.unprofiled", culprit=names, **figures)


def _unnamed(entry: Entry, run: RunData, figures: dict[str, str]) -> Message:
    """The sentence about waits for unknown ranks. entry: the longest wait."""
    if entry.culprit is not None or len(run.communication.profiled) == run.communication.world_size:
        return Message("verdict.loss.waiting_several", **figures)
    return Message("verdict.loss.waiting_p2p" if entry.detail == "p2p" else "verdict.loss.waiting_unknown", **figures)


def _computing(run: RunData) -> Message | str:
    """Mean computing of each stage: "stage 1: 231 ms, stage 2: 401 ms"."""
    by_stage: dict[int, list[int]] = {}
    for one in run.ledgers:
        stage = pipeline_stage(one.span.capture)
        if stage is not None:
            by_stage.setdefault(stage, []).append(one.total("computing"))
    return listed(
        [
            Message("verdict.loss.computing_of", stage=stage, time=duration(sum(times) / len(times)))
            for stage, times in sorted(by_stage.items())
        ]
    )


def listed(parts: Sequence[Message]) -> Message | str:
    """The parts, separated by commas."""
    out: Message | str = parts[-1] if parts else ""
    for one in reversed(parts[:-1]):
        out = Message("verdict.list", first=one, rest=out)
    return out


def parts_of(ledger: RankLedger) -> Message:
    """The parts of the mean step of a rank, the longest first."""
    texts = [(one.ns, _part(one, percent(one.ns / ledger.window_ns))) for one in ledger.entries]
    shown = [text for ns, text in sorted(texts, key=lambda one: -one[0]) if ns >= _LEAST_SHARE * ledger.window_ns]
    return Message("verdict.parts", rank=_title(ledger), parts=listed(shown))


def _part(entry: Entry, share: str) -> Message:
    if entry.entry == "waiting":
        if entry.culprit is None:
            return Message("verdict.part.waiting_several", share=share)
        return Message("verdict.part.waiting", share=share, rank=f"rank {entry.culprit}")
    if entry.entry == "idle" and entry.detail == "late":
        return Message("verdict.part.idle_because", share=share, cause=Message("verdict.idle.host_late"))
    is_unsure = entry.entry == "transfer" and 2 * entry.low_ns < entry.ns
    return Message(_PARTS["communication" if is_unsure else entry.entry], share=share)


def _unexplained(ledger: RankLedger, ledgers: Sequence[RankLedger], figures: dict[str, str]) -> Message:
    """The sentence about idle time without a recorded cause. It gives the range over all ranks: no rank stands out."""
    why = _why(ledger.span)
    if len(ledgers) == 1:
        return Message("verdict.unexplained.idle", why=why, **figures)
    shares = _range([one.total("idle", "unexplained") / one.window_ns for one in ledgers])
    return Message("verdict.unexplained.idle_of_ranks", share=shares, count=len(ledgers), why=why)


def _why(span: SpanData) -> Message:
    """Why the cause of idle time is unknown: the trace is missing, not read yet, or does not show it."""
    if span.format == KINETO.id:
        return Message("verdict.why.gpu")
    names = [file.rpartition("/")[2] for file in span.files]
    specs = {name: FORMATS[span.format].file(name) for name in names}
    trace = next((name for name, spec in specs.items() if spec is not None and "trace" in spec.tables), None)
    if trace is None:
        return Message("verdict.why.missing", file=file_of("trace", span.format).name)
    return Message("verdict.why.unread" if span.timeline is None else "verdict.why.untold", file=trace)


def _range(shares: Sequence[float]) -> str:
    low, high = percent(min(shares)), percent(max(shares))
    return high if low == high else f"{low} – {high}"


def _title(ledger: RankLedger) -> str:
    return ledger.span.worker_label if ledger.rank is None else f"Rank {ledger.rank}"
