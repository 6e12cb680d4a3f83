"""A rank without a profile that arrives last at collectives: profiled ranks wait for its notification."""

from __future__ import annotations

from typing import Optional

from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Rule, Subject, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration
from tb_npu_plugin.analysis.run.chains import End
from tb_npu_plugin.analysis.run.late_peers import LatePeer
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS

#: Ranks that others wait for less than this share of the step are ignored.
_LEAST_WAIT = 0.05
#: What of the waiting could be saved: less than the exposed waiting, or more, with what computing hides.
_STAKE = {False: "finding.unprofiled_rank.next", True: "finding.unprofiled_rank.hidden"}
#: Waits whose chain is not resolved, as a share of those for an unprofiled rank: from it on, that rank may wait for others.
_LEAST_ROOT = 0.5
#: Largest number of reported ranks in a single group.
_NAMED = 3


def find(run: RunData) -> list[Finding]:
    """The ranks that profiled ranks wait for, the longest wait first."""
    waits: dict[tuple[Optional[int], Optional[str], int], list[LatePeer]] = {}
    for wait in run.late_peers:
        key = (wait.peer_rank, None, 0) if wait.peer_rank is not None else (None, wait.group, wait.peer)
        waits.setdefault(key, []).append(wait)
    found = [
        _finding(run, one)
        for one in waits.values()
        if run.step_ns and max(_totals(run, one).values()) > _LEAST_WAIT * run.step_ns
    ]
    # In several groups one late rank makes others late in turn: those are its effects.
    found = sorted(found, key=lambda one: -one.cost_ns)[: _NAMED if _has_one_group(run) else 1]
    culprits = run.judgement.culprits
    return [
        one
        for one in found
        if one.subject.rank is None or (one.subject.rank in culprits if culprits else _is_root(run, one.subject.rank))
    ]


def _is_root(run: RunData, rank: int) -> bool:
    """Whether the waits for a rank exceed those for any rank whose own waits are not resolved: it may wait in turn."""
    ends = run.chains.total[End(-1, rank, "unprofiled")]
    return not ends or run.chains.unresolved_ns < _LEAST_ROOT * ends


def _totals(run: RunData, waits: list[LatePeer]) -> dict[Optional[int], int]:
    """Wait of each profiled rank in the mean step, ns: the entry of its ledger. A late rank of unknown number has no entry of
    its own, and steps without a ledger have none."""
    out: dict[Optional[int], int] = {}
    for wait in waits:
        out[wait.rank] = out.get(wait.rank, 0) + wait.total
    late = waits[0].peer_rank
    entries = [(one.rank, entry) for one in run.ledgers for entry in one.entries if entry.entry == "waiting"]
    for rank, total in out.items():
        own = [entry.ns for of, entry in entries if of == rank and late is not None and entry.culprit == late]
        out[rank] = sum(own) // run.repeats if own else total // run.step_count
    return out


def _finding(run: RunData, waits: list[LatePeer]) -> Finding:
    longest, totals = max(waits, key=lambda one: one.wait), _totals(run, waits)
    observer = max(totals, key=lambda rank: totals[rank])
    saved = max(sum(wait.recoverable for wait in waits if wait.rank == rank) for rank in totals) // run.step_count
    name = _name(longest)
    observers = [span for span in run.spans if span.capture.rank in totals]
    observers.sort(key=lambda span: span.capture.rank != longest.rank)
    return Finding(
        rule=RULE.id,
        category=RULE.category,
        subject=Subject(rank=longest.peer_rank, group=longest.group, operator=longest.operator),
        message=Message(
            "finding.unprofiled_rank" if _has_one_group(run) else "finding.unprofiled_rank.groups",
            rank=_title(longest),
            observer=observers[0].worker_label if observer is None else f"rank {observer}",
            total=duration(totals[observer]),
            rest=Message(_STAKE[saved > totals[observer]], time=duration(saved)),
            time=duration(longest.wait),
            operator=longest.operator,
            count=len(totals),
        ),
        cost_ns=saved,
        part="waiting",
        confidence=Confidence("confirmed" if len(totals) > 1 else "measured", len(totals)),
        evidence=(Evidence("distributed", step=longest.step), *(_evidence(span, longest) for span in observers)),
        fix=(Message("fix.unprofiled_rank", rank=name),),
        check=Message("check.straggler", rank=name),
    )


def _evidence(span: SpanData, longest: LatePeer) -> Evidence:
    """The trace of a rank that waits; of the one that waits longest, its wait."""
    if span.capture.rank != longest.rank or longest.start is None:
        return Evidence("trace", span.token)
    return Evidence("trace", span.token, start_ns=longest.start, end_ns=longest.start + longest.wait, step=longest.step)


def _has_one_group(run: RunData) -> bool:
    groups = {
        group
        for ops in run.communication.collectives
        if ops is not None
        for group in ops.take(~ops.text("kind").equals(COMM_KINDS[0])).text("group").tolist()
    }
    return len(groups) < 2


def _name(wait: LatePeer) -> Message | str:
    if wait.peer_rank is not None:
        return f"rank {wait.peer_rank}"
    return Message("finding.unprofiled_rank.local", peer=wait.peer, group=wait.group or "–")


def _title(wait: LatePeer) -> Message | str:
    """The name at the start of a sentence."""
    if wait.peer_rank is not None:
        return f"Rank {wait.peer_rank}"
    return Message("finding.unprofiled_rank.local_start", peer=wait.peer, group=wait.group or "–")


def missing(run: RunData) -> Optional[Unchecked]:
    """Some ranks are not profiled; the trace of each other is read."""
    profiled = {span.capture.rank for span in run.spans}
    if run.world_size is None or len(profiled) >= run.world_size:
        return None
    if any(span.timeline is not None for span in run.spans):
        return None
    return Unchecked(RULE.id, Message("unchecked.no_trace"), "profiler_level=ProfilerLevel.Level1")


RULE = Rule("unprofiled_rank", "ranks", find, missing, needs_ranks=True)
