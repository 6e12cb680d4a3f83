"""The rank that the others wait for: it computes longer, runs the same kernels slower, arrives last, or idles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Rule, Subject, Unchecked
from tb_npu_plugin.analysis.findings.outliers import LEAST_PEERS, outliers
from tb_npu_plugin.analysis.findings.run_data import RankLine, RunData, median_of
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.messages import Message

#: Differences in communication or idle time below this share of the step are ignored.
_LEAST_DIFFERENCE = 0.1
#: Least single wait of the others, as a share of the step. In host-bound runs, hosts that start 0.1 ms apart stay that far
#: apart at each collective, so that the sum of the waits is many times the loss. Healthy simulated runs reach 3.2 %. If no
#: collective is recorded (level 0), the device of the late rank must have idled that much longer than the others.
_LEAST_LATE = 0.05
#: Least single wait in short steps, ns: hosts of healthy runs start up to 0.3 ms apart.
_LEAST_APART_NS = 300_000
#: Least share of a rank's computing in kernels that other ranks also ran.
_LEAST_COMPARED = 0.5
#: While a rank idles, the others wait for at least this share of that time; they may still have work at first.
_LEAST_HELD = 0.5
#: A rank is late because of its host if its device idles for at least this share of the others' wait.
_EXPLAINS = 0.5


#: What to do, by the kind of a straggler.
_FIX = {
    "computes": "fix.straggler.computes",
    "arrives": "fix.straggler.arrives",
    "host": "fix.straggler.host",
}
#: Sentence about the last rank, by whether its host is to blame and whether ranks have stages.
_LAST = {
    (False, False): "finding.straggler.last",
    (False, True): "finding.straggler.last_stage",
    (True, False): "finding.straggler.last_host",
    (True, True): "finding.straggler.last_stage_host",
}


@dataclass(frozen=True)
class Straggler:
    """A slow rank and how it is known. kind: key of _FIX. cost_ns: per step."""

    line: RankLine
    kind: str
    message: Message
    cost_ns: float


def find(run: RunData) -> list[Finding]:
    """Each slow rank once, with the strongest evidence."""
    found: dict[int, Straggler] = {}
    for one in (*_computes_longer(run), *_runs_slower(run), *_arrives_last(run), *_idles(run)):
        found.setdefault(id(one.line), one)
    return [_finding(run, one) for one in found.values()]


def _finding(run: RunData, one: Straggler) -> Finding:
    rank, others = one.line.span.capture.rank, len(run.lines) - 1
    is_confirmed = one.kind != "computes" and others > 1  # the others show it by waiting
    return Finding(
        rule=RULE.id,
        category=RULE.category,
        subject=Subject(rank, None if rank is not None else one.line.span.worker_label, one.line.stage),
        message=one.message,
        cost_ns=round(one.cost_ns),
        cost_kind="upper bound",
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
    for index, value, median in outliers([line.sums.computing for line in lines], run.stages):
        line, count = lines[index], run.step_count
        message = Message(key, rank=line.title, time=duration(value / count), share=percent(value / median - 1))
        out.append(Straggler(line, "computes", message, (value - median - _filled(run, index)) / count))
    return out


def _filled(run: RunData, index: int) -> float:
    """Bubble that a rank fills with what it computes longer: that of its stage less its own, ns over all steps."""
    stage, own = run.stages[index], run.lines[index].sums.bubble or 0
    bubbles = [line.sums.bubble or 0 for line, other in zip(run.lines, run.stages) if other == stage]
    return max(median_of(bubbles) - own, 0.0)


def _runs_slower(run: RunData) -> list[Straggler]:
    """Compare ranks with few peers by the kernels that others ran, too, across pipeline stages."""
    lines, count = run.lines, run.step_count
    ratios = [_ratio_of_same_kernels(line) for line in lines]
    out = []
    for index, ratio, _ in outliers(ratios, [0] * len(lines), least_peers=2):
        stage, sums = run.stages[index], lines[index].sums
        has_peers = stage is not None and run.stages.count(stage) >= LEAST_PEERS
        if has_peers or sums.same_kernels is None or sums.same_kernels_expected is None:
            continue
        message = Message(
            "finding.straggler.slower_kernels",
            rank=lines[index].title,
            share=percent(ratio - 1),
            time=duration(sums.same_kernels / count),
            expected=duration(sums.same_kernels_expected / count),
        )
        cost = sums.same_kernels - sums.same_kernels_expected
        out.append(Straggler(lines[index], "computes", message, cost / count))
    return out


def _ratio_of_same_kernels(line: RankLine) -> Optional[float]:
    taken, expected = line.sums.same_kernels, line.sums.same_kernels_expected
    if taken is None or not expected or taken < _LEAST_COMPARED * (line.sums.computing or 0):
        return None
    return taken / expected


def _arrives_last(run: RunData) -> list[Straggler]:
    """Ranks that all others of their stage wait for, the longest wait first.

    All members of a collective end together, so each other rank communicates longer by a good part of its step. Only
    ranks of one stage are compared: stages wait differently, and a rank that waits for a late stage receives longer, and
    so communicates as long as its peers.
    """
    out: list[tuple[float, Straggler]] = []
    longest, step = max((line.whole_ns for line in run.lines), default=0), run.step_ns
    for stage in dict.fromkeys(run.stages):
        if stage is None:
            continue
        lines = [line for line, other in zip(run.lines, run.stages) if other == stage]
        times = [_communication(line) for line in lines]
        known = sorted((time, index) for index, time in enumerate(times) if time is not None)
        if len(known) < len(lines) or len(lines) < 2:
            continue
        (least, index), (others, _) = known[:2]
        line = lines[index]
        wait = _longest_wait(line, run)
        if others - least > _LEAST_DIFFERENCE * longest and wait > max(_LEAST_LATE * step, _LEAST_APART_NS):
            kind = "host" if _is_idle_most(line, run, others - least) else "arrives"
            message = _last_text(run, line, least, others, kind)
            out.append((others - least, Straggler(line, kind, message, wait)))
    return [one for _, one in sorted(out, key=lambda pair: -pair[0])]


def _communication(line: RankLine) -> Optional[int]:
    bare = line.sums.communication_not_overlapped
    return None if bare is None else bare + (line.sums.overlapped or 0)


def _longest_wait(line: RankLine, run: RunData) -> float:
    """Longest wait of the others at one collective of a step; without collectives, the idle time beside the others'."""
    late = line.sums.late
    return _idle_beside(line, run) if late is None else late / run.marked_steps


def _idle_beside(line: RankLine, run: RunData) -> float:
    """Longest idle stretch of a rank less the median of the others."""
    others = [other.sums.idle_at_once or 0 for other in run.lines if other is not line]
    return ((line.sums.idle_at_once or 0) - median_of(others)) / run.marked_steps


def _is_idle_most(line: RankLine, run: RunData, wait: float) -> bool:
    idle = line.sums.idle_at_once or 0
    return idle >= _EXPLAINS * wait and all(
        other is line or (other.sums.idle_at_once or 0) < idle for other in run.lines
    )


def _last_text(run: RunData, line: RankLine, least: float, others: float, kind: str) -> Message:
    count = run.step_count
    parts = {"rank": line.title, "time": duration(least / count), "others": duration(others / count)}
    if kind == "host":
        parts["idle"] = duration((line.sums.idle_at_once or 0) / run.marked_steps)
    return Message(_LAST[kind == "host", run.has_stages], **parts)


def _idles(run: RunData) -> list[Straggler]:
    """Ranks that idle much longer in one stretch than the others, while each of those spends most of that time in one
    communication. Needs no peers of the same stage: an idle rank waits for nothing."""
    if any(line.sums.computing is None for line in run.lines):
        return []
    least = max(_LEAST_DIFFERENCE * run.step_ns, _LEAST_APART_NS)
    late = [line for line in run.lines if _idle_beside(line, run) > least]
    others = [line.sums.longest_communication or 0 for line in run.lines if line not in late]
    held = min(others, default=0)
    out = []
    for line in sorted(late, key=lambda one: -(one.sums.idle_at_once or 0)):
        idle = line.sums.idle_at_once or 0
        if held >= _LEAST_HELD * idle and others:
            figures = {"time": duration(idle / run.marked_steps), "others": duration(held / run.marked_steps)}
            message = Message("finding.straggler.idles", rank=line.title, **figures)
            out.append(Straggler(line, "host", message, idle / run.marked_steps))
    return out


def missing(run: RunData) -> Optional[Unchecked]:
    """Two ranks or more with step times."""
    if len(run.lines) < 2:
        return Unchecked(RULE.id, Message("unchecked.one_rank"), "")
    known: Sequence[RankLine] = [line for line in run.lines if line.whole_ns]
    return None if len(known) > 1 else Unchecked(RULE.id, Message("unchecked.no_step_times"), "")


RULE = Rule("straggler", "ranks", find, missing)
