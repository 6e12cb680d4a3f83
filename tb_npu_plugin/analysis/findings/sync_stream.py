"""The host blocks until the device is done, and the device idles until it launches again. Reads that block are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Optional

from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.idle import finding_of, highest_cost, missing_launches
from tb_npu_plugin.analysis.findings.late_launches import AFTER_SYNC
from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Rule, Subject
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.idle.causes import host_slices
from tb_npu_plugin.analysis.idle.places import operators_and_frames
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import SpanData, Timeline, timeline_of

# Counts the operators that block the host until the device is done: `.item()`, `nonzero`, copies.

#: The second operator calls the first one: a read counts once.
_INNER, _OUTER = "aten::_local_scalar_dense", "aten::item"


@dataclass(frozen=True)
class BlockingRead:
    """Calls of one operator from one Python line."""

    operator: str
    """The operator that blocks."""
    frame: Optional[str]
    """File, line and function that call it; null without stacks."""
    calls: int
    """Calls in the capture."""


def blocking_reads(timeline: Timeline) -> Sequence[BlockingRead]:
    """The most frequent first. Synchronizations outside operators are left out."""
    calls = host_slices(timeline, "synchronization")
    counts: Counter[tuple[int, int]] = Counter()
    seen: set[int] = set()  # an operator may synchronize several times
    for operator, frame in zip(*(places.tolist() for places in operators_and_frames(timeline, calls))):
        if operator >= 0 and operator not in seen:
            seen.add(operator)
            counts[int(timeline.name[operator]), int(timeline.name[frame]) if frame >= 0 else -1] += 1
    names = timeline.names
    if any(names[operator] == _INNER for operator, _ in counts):
        counts = Counter({key: count for key, count in counts.items() if names[key[0]] != _OUTER})
    return [
        BlockingRead(names[operator], names[frame] if frame >= 0 else None, count)
        for (operator, frame), count in counts.most_common()
    ]


#: Fewer reads in a step are left out where none of them costs much.
_LEAST_READS = 3
#: Number of places that are named.
_NAMED = 3
_FIX = Fix(
    "fix.sync_stream", torch="fix.sync_stream.torch", gpu="fix.sync_stream.gpu", mindspore="fix.sync_stream.mindspore"
)


def find(run: RunData) -> list[Finding]:
    """The rank that loses most by synchronizations; without one, the rank with the most reads, at no cost."""
    found = highest_cost(run, "synchronization", AFTER_SYNC)
    if found is not None:
        message = Message(
            "finding.sync_stream", rank=found.rank, time=found.time, share=found.percent, place=found.place
        )
        finding = finding_of(found, RULE.id, RULE.category, message, _FIX.of(run))
        reads = _reads(found.span, run.all_steps)
        return [
            finding if reads is None else replace(finding, message=Message("verdict.then", first=message, rest=reads))
        ]
    counts = {span.token: sum(one.calls for one in blocking_reads(timeline_of(span))) for span, _ in run.idle}
    span = max((span for span, _ in run.idle), key=lambda one: counts[one.token], default=None)
    if span is None or counts[span.token] < _LEAST_READS * run.all_steps:
        return []
    reads = _reads(span, run.all_steps)
    assert reads is not None
    return [
        Finding(
            rule=RULE.id,
            category=RULE.category,
            subject=Subject.of(span),
            message=reads,
            cost_ns=0,
            part="free",
            confidence=Confidence("measured"),
            evidence=(Evidence("operator", span.token),),
            fix=_FIX.of(run),
        )
    ]


def _reads(span: SpanData, steps: int) -> Optional[Message]:
    """How often the host reads from the device, and where; None without reads."""
    found = blocking_reads(timeline_of(span))
    if not found:
        return None
    places = ", ".join(
        f"{_count(one.calls / steps)} × {one.operator}" + (f" · {one.frame}" if one.frame else "")
        for one in found[:_NAMED]
    )
    rank = span.worker_label if span.capture.rank is None else f"Rank {span.capture.rank}"
    count = sum(one.calls for one in found) / steps
    return Message("finding.sync_stream.reads", rank=rank, count=_count(count), places=places)


def _count(count: float) -> str:
    text = f"{count:.1f}"
    return text[:-2] if text.endswith(".0") else text


RULE: Rule = Rule("sync_stream", "host", find, lambda run: missing_launches(run, RULE.id))
