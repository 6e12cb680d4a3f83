"""Writes the sentence about the judgement of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from tb_npu_plugin.analysis.comparison.excess import Excess
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.analysis.idle.model import CauseTime
from tb_npu_plugin.analysis.ledger.judge import Judgement
from tb_npu_plugin.analysis.ledger.model import Entry, EntryKind, RankLedger
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.analysis.steps.iterations import main_groups
from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.formats import FORMATS, KINETO
from tb_npu_plugin.schema.registry import file_of

#: The sentence leaves out parts below this share of the step.
_LEAST_SHARE = 0.01
#: Most kernels that the sentence names.
_MOST_KERNELS = 3
#: The cause of idle time is named if it has at least this share of it.
_MOST = 0.5
#: The time between iterations is named if it has at least this share of the time from the first to the last.
_LEAST_BETWEEN = 0.1
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
    "waiting": "verdict.part.waiting_several",
    "idle": "verdict.part.idle",
    "unexplained": "verdict.part.idle",
    "forward_backward": "verdict.part.passes",
    "tail": "verdict.part.passes",
    "or_idle": "verdict.part.or_idle",
    "gap": "verdict.part.gap",
}


def sentence_of(judgement: Judgement, run: RunData, is_explained: bool) -> Message:
    """The sentence about a judgement of kind "loss" or "unexplained". is_explained: a finding explains the loss."""
    ledger, entry = judgement.ledger, judgement.entry
    assert ledger is not None and entry is not None
    if entry.entry == "waiting":
        return _waiting(judgement, ledger, run)
    figures = {"rank": _title(ledger), "share": percent(entry.ns / ledger.window_ns), "time": duration(entry.ns)}
    if entry.entry == "computing" and entry.low_ns < entry.ns:
        inside = entry.ns - entry.low_ns
        figures |= {"share": percent(inside / ledger.window_ns), "time": duration(inside)}
        return Message("verdict.unexplained", what=Message("verdict.unexplained.inside", **figures))
    if entry.entry == "computing":
        file = file_of("kernels", ledger.span.format).name
        return Message("verdict.unexplained", what=Message("verdict.unexplained.computing", file=file, **figures))
    if entry.entry == "unexplained":
        what = _unexplained(entry, ledger, run, figures)
        return what if judgement.kind == "loss" or is_explained else Message("verdict.unexplained", what=what)
    if entry.entry == "communication" and len(run.ledgers) > 1:
        return Message("verdict.loss.communication_bounded", low=duration(0), high=duration(entry.ns), **figures)
    if entry.low_ns == entry.ns:
        return Message(_LOSSES[entry.detail or entry.entry], **figures)
    exposed = entry.ns + ledger.total("waiting")
    figures |= {"share": percent(exposed / ledger.window_ns), "time": duration(exposed)}
    bounds = {"low": duration(exposed - entry.high_ns), "high": duration(exposed - entry.low_ns)}
    return Message("verdict.loss.communication_bounded", **bounds, **figures)


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
    figures["rank"] = figures["rank"][:1].lower() + figures["rank"][1:]
    names = [f"rank {rank}" for rank in judgement.culprits]
    if not run.communication.profiled.issuperset(judgement.culprits) and not run.communication.has_unnumbered:
        return Message("verdict.loss.unprofiled", culprit=", ".join(names), **figures)
    if len(names) > 1:
        return Message("verdict.loss.waiting_two", culprit=", ".join(names), **figures)
    inside = {one.detail for one in waits} - {"collective", "p2p"}
    culprit = names[0].capitalize()
    if len(inside) == len({one.detail for one in waits}):
        return Message("verdict.loss.waiting_inside", culprit=culprit, kernel=", ".join(sorted(inside)), **figures)
    return Message("verdict.loss.waiting", culprit=culprit, **figures)


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


def iterations_text(run: RunData, text: Message) -> Message:
    """A sentence about iterations, with what they do: "Decode, 32 requests: …". The mean is of one phase."""
    groups = main_groups(run.iterations)
    if not groups:
        return text
    which = Message(f"run.phase.{groups[0].phase or 'unknown'}")
    requests = [one.requests for one in groups if one.requests is not None]
    if requests:
        low, high = min(requests), max(requests)
        which = Message("run.iterations.requests", phase=which, requests=str(low) if low == high else f"{low} – {high}")
    kernels, iterations = sum(one.graph_kernels for one in groups), sum(len(one.steps) for one in groups)
    if kernels:
        which = Message("run.iterations.graph", which=which, kernels=round(kernels / iterations))
    return text_of([Message("verdict.of_iterations", which=which, text=text), _between_text(run)])


def _between_text(run: RunData) -> Message | str:
    """The time between iterations, on the device that has most of it; "" for less than a tenth."""
    found = max((one.between for one in run.ledgers if one.between), key=lambda one: one.total_ns, default=None)
    if found is None or found.total_ns < _LEAST_BETWEEN * found.span_ns:
        return ""
    share = percent(found.total_ns / found.span_ns)
    return Message("verdict.between", time=duration(found.total_ns), share=share, span=duration(found.span_ns))


def excess_text(found: Optional[Excess]) -> Message | str:
    """What ranks run longer than the others; "" if nothing stands out."""
    if found is None or not found.kind:
        return ""
    if found.kind == "clock":
        return Message("verdict.excess.clock", factor=f"{found.factor or 1:.2f}")
    if found.kind == "kernel":
        first = found.computing[0]
        figures = {"kernel": first.type or "", "shapes": first.shapes or "", "factor": f"{found.factor or 1:.1f}"}
        return Message("verdict.excess.kernel", time=duration(first.excess_ns), **figures)
    kernels = ", ".join(f"{name} + {duration(ns)}" for name, ns in found.by_type[:_MOST_KERNELS])
    if found.vocabulary is None:
        return Message("verdict.excess.work", kernels=kernels)
    size, ns = found.vocabulary
    return Message("verdict.excess.vocabulary", kernels=kernels, size=size, time=duration(ns))


def listed(parts: Sequence[Message]) -> Message | str:
    """The parts, separated by commas."""
    out: Message | str = parts[-1] if parts else ""
    for one in reversed(parts[:-1]):
        out = Message("verdict.list", first=one, rest=out)
    return out


def text_of(sentences: Sequence[Message | str]) -> Message:
    """The sentences that are not empty, in one text."""
    first, *others = [one for one in sentences if isinstance(one, Message)]
    return Message("verdict.then", first=first, rest=text_of(others)) if others else first


def parts_of(ledger: RankLedger, run: RunData) -> Message:
    """The parts of the mean step of a rank, the longest first."""
    sums: dict[tuple[str, Optional[int]], int] = {}
    for one in ledger.entries:
        key = _PARTS[one.detail if one.detail in _PARTS else _kind(one)], one.culprit
        sums[key] = sums.get(key, 0) + one.ns
    least = _LEAST_SHARE * ledger.window_ns
    longest = sorted(((ns, *key) for key, ns in sums.items() if ns >= least), key=lambda one: -one[0])
    parts = [_part(code, percent(ns / ledger.window_ns), rank, ledger, run) for ns, code, rank in longest]
    code = "verdict.capture_parts" if run.period == "capture" else "verdict.parts"
    return Message(code, rank=_title(ledger), parts=listed(parts))


def _kind(entry: Entry) -> EntryKind:
    """What may be waiting is communication."""
    return "communication" if entry.entry == "transfer" and 2 * entry.low_ns < entry.ns else entry.entry


def _part(code: str, share: str, rank: Optional[int], ledger: RankLedger, run: RunData) -> Message:
    if rank is not None:
        return Message("verdict.part.waiting", share=share, rank=f"rank {rank}")
    cause = _idle_cause(ledger, run) if code == _PARTS["idle"] else None
    if cause is not None:
        return Message("verdict.part.idle_because", share=share, cause=Message(f"verdict.idle.{cause}"))
    return Message(code, share=share)


def _idle_cause(ledger: RankLedger, run: RunData) -> Optional[str]:
    """The cause of most of the idle time, if it is known."""
    times: dict[str, int] = {}
    for one in _idle_times(ledger, run):
        times[one.cause] = times.get(one.cause, 0) + one.time_ns
    cause = max(times, key=lambda one: times[one], default="unknown")
    return None if cause == "unknown" or times[cause] < _MOST * sum(times.values()) else cause


def _idle_times(ledger: RankLedger, run: RunData) -> Sequence[CauseTime]:
    """Idle time of the rank by cause and launch; () without a trace."""
    devices = next((devices for span, devices in run.idle if span is ledger.span), [])
    device = next((one for one in devices if one.device_id == ledger.device_id), None)
    return () if device is None else device.by_cause


def _unexplained(entry: Entry, ledger: RankLedger, run: RunData, figures: dict[str, str]) -> Message:
    """The sentence about idle time without a recorded cause. It gives the range over all ranks: no rank stands out."""
    if entry.detail == "outside":
        return Message("verdict.unexplained.outside", **figures)
    if any(one.detail == "gap" for one in ledger.entries):
        return Message("verdict.unexplained.gap", **figures)
    ledgers, why = run.ledgers, _why(ledger, run)
    if len(ledgers) == 1:
        return Message("verdict.unexplained.idle", why=why, **figures)
    shares = _range([one.total("idle", "unexplained") / one.window_ns for one in ledgers])
    return Message("verdict.unexplained.idle_of_ranks", share=shares, count=len(ledgers), why=why)


def _why(ledger: RankLedger, run: RunData) -> Message:
    """Why the cause of idle time is unknown: the trace is missing, not read yet, or does not show it."""
    span, times = ledger.span, _idle_times(ledger, run)
    if span.format == KINETO.id:
        if any(one.graph_kernels * 2 > one.kernels for one in main_groups(run.iterations)):
            return Message("verdict.why.graph")
        unknown = sum(one.time_ns for one in times if one.launch == "unknown")
        lacks_launches = unknown >= _MOST * sum(one.time_ns for one in times)
        return Message("unchecked.no_launches" if lacks_launches else "verdict.why.gpu")
    specs = {path.rpartition("/")[2]: FORMATS[span.format].file(kind) for path, kind in span.kinds.items()}
    trace = next((name for name, spec in specs.items() if spec is not None and "trace" in spec.tables), None)
    if trace is None:
        return Message("verdict.why.missing", file=file_of("trace", span.format).name)
    return Message("verdict.why.unread" if span.timeline is None else "verdict.why.untold", file=trace)


def _range(shares: Sequence[float]) -> str:
    low, high = percent(min(shares)), percent(max(shares))
    return high if low == high else f"{low} – {high}"


def _title(ledger: RankLedger) -> str:
    return ledger.span.worker_label if ledger.rank is None else f"Rank {ledger.rank}"
