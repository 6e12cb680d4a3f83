"""What stands out in a step or a time range: which part, on which rank, against what, and which kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from statistics import median
from typing import Literal, NamedTuple, Optional

import numpy as np

from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration, percent, rank_name
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.kernels.kinds import is_computing
from tb_npu_plugin.analysis.kernels.meaning import FOLDED
from tb_npu_plugin.analysis.ledger.model import RankLedger
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.analysis.run.devices import RankDevice
from tb_npu_plugin.analysis.run.strips import Strip, part_times, strip_of
from tb_npu_plugin.analysis.steps.partition import Step
from tb_npu_plugin.intervals import overlaps
from tb_npu_plugin.messages import Message
from tb_npu_plugin.tables import known

#: Parts of the time of a device. "idle": nothing runs.
PartKind = Literal["computing", "waiting", "transfer", "copies", "idle"]
#: What a rank is compared with: the other ranks, its other steps, its whole capture.
Against = Literal["ranks", "steps", "capture"]
Window = tuple[int, int]
#: Parts that hold a rank up, by what they are compared with. Waiting and transfer of other steps are one figure.
COMPARED: Mapping[Against, tuple[PartKind, ...]] = {
    "ranks": ("computing", "idle", "copies", "transfer"),
    "steps": ("computing", "idle", "copies"),
}
#: Smaller differences do not stand out, as a share of the range.
_LEAST = 0.05
#: Kernels that are listed.
_MOST_KERNELS = 20


@dataclass(frozen=True)
class Parts:
    """Time of a device, ns. The sum is the range, as far as it was recorded."""

    computing: int = 0
    waiting: int = 0
    transfer: int = 0
    copies: int = 0
    idle: int = 0

    @property
    def total(self) -> int:
        """Their sum."""
        return sum(self.of(kind) for kind in KINDS)

    def of(self, kind: PartKind) -> int:
        """A part."""
        return int(getattr(self, kind))


KINDS: tuple[PartKind, ...] = tuple(one.name for one in fields(Parts))  # type: ignore[misc]


@dataclass(frozen=True)
class RankParts:
    """What a rank did in the range. awaited: waiting by name of the rank at its root, ns."""

    line: RankDevice
    window: Window
    parts: Parts
    awaited: Counter[str]

    @property
    def name(self) -> str:
        """ "rank 3"."""
        return rank_name(self.line.span)


class KernelDifference(NamedTuple):
    """Computing kernels of a type in the range, ns."""

    type: str
    """Type; the name where no file has types."""
    ns: int
    """On the rank that stands out."""
    other_ns: int
    """What it is compared with: the median of the other ranks, or of the other steps."""


@dataclass(frozen=True)
class Explanation:
    """What stands out. rank: index in `ranks`; None: nothing does, or no rank has times."""

    sentences: Sequence[Message]
    kind: Optional[PartKind]
    against: Against
    rank: Optional[int]
    ns: int
    other_ns: int
    ranks: Sequence[RankParts]
    kernels: Sequence[KernelDifference]


#: Of a range without device tasks.
NOTHING = Explanation([Message("explain.nothing")], None, "ranks", None, 0, 0, [], [])


class _Excess(NamedTuple):
    """By how much a part of a rank exceeds what it is compared with."""

    ns: float
    rank: int
    kind: PartKind
    own_ns: int
    other_ns: float
    against: Against


def explain_step(run: RunData, step: Optional[str]) -> Explanation:
    """About a step of all ranks, or with None about the mean step, without kernels: the parts are those of its ledgers."""
    lines = {(line.span.token, line.device_id): line for line in run.communication.lines}
    ranks = []
    for ledger in run.ledgers if step is None else run.ledgers_in([step]):
        line = lines[ledger.span.token, ledger.device_id]
        window = (0, 0) if step is None else _window_of(line, step)
        awaited: Counter[str] = Counter()
        for one in ledger.entries:
            if one.culprit not in (None, ledger.rank):  # not itself, by an error of the clocks
                awaited[str(one.culprit)] += one.ns
        ranks.append(RankParts(line, window, _parts_of(ledger), awaited))
    rest = [[one for one in rank.line.steps if step is not None and one.step != step] for rank in ranks]
    others = [[_usual(one) for one in steps] for steps in rest]
    windows = [[_window_of(rank.line, one.step) for one in steps] for rank, steps in zip(ranks, rest)]
    return _explain(ranks, others, windows)


def explain_range(
    run: RunCommunication, windows: Mapping[int, Window], strip: Optional[Callable[[int], Optional[Strip]]] = None
) -> Explanation:
    """About a time range.

    Args:
        windows: Index of a line -> its range, ns since the epoch by its clock.
        strip: What a line does over time, if it is known already.
    """
    ranks, captures = [], []
    for at, window in windows.items():
        found = strip_of(run, at) if strip is None else strip(at)
        if found is None:
            continue
        awaited: Counter[str] = Counter()
        for wait in found.waits:
            inside = min(wait.end, window[1]) - max(wait.start, window[0])
            if inside > 0 and wait.rank not in (None, str(run.lines[at].span.capture.rank)):
                awaited[wait.rank] += inside
        own, capture = (_of_strip(found, edges) for edges in (window, found.times.extent))
        ranks.append(RankParts(run.lines[at], window, own, awaited))
        captures.append(capture)
    return _explain(ranks, [[] for _ in ranks], [[] for _ in ranks], captures)


def _of_strip(strip: Strip, window: Window) -> Parts:
    times = part_times(strip.times, strip.waiting, np.array(window, dtype=np.int64))
    computing, overlapped, waiting, transfer, copies, idle = times[:, 0].tolist()
    return Parts(computing + overlapped, waiting, transfer, copies, idle)


def _parts_of(ledger: RankLedger) -> Parts:
    return Parts(
        ledger.total("computing"),
        ledger.total("waiting"),
        ledger.total("transfer", "communication"),
        ledger.total("copies"),
        ledger.total("idle", "unexplained"),
    )


def _usual(step: Step) -> Parts:
    """The parts of another step; all of its exposed communication as transfer."""
    return Parts(step.computing or 0, 0, step.communication_not_overlapped or 0, step.copying or 0, step.free or 0)


def _window_of(line: RankDevice, step: Optional[str]) -> Window:
    """Start and end of a step on a device; (0, 0) if unknown."""
    found = next((one for one in line.steps if one.step == step), None)
    if found is None or found.start_ns is None or found.total_ns is None:
        return 0, 0
    return found.start_ns, found.start_ns + found.total_ns


def _explain(
    ranks: Sequence[RankParts],
    steps: Sequence[Sequence[Parts]],
    windows: Sequence[Sequence[Window]],
    whole: Sequence[Parts] = (),
) -> Explanation:
    """steps, windows: the other steps of each rank. whole: the capture of each rank."""
    length = max((one.parts.total for one in ranks), default=0)
    if not length:
        return replace(NOTHING, ranks=ranks)
    found = [one for one in (*_over_ranks(ranks), *_over_steps(ranks, steps)) if one.ns >= _LEAST * length]
    if not found:
        return _even(ranks, whole)
    most = max(one.ns for one in found)
    # Of nearly equal ones, as the ranks of a stage, the one that others wait for longest.
    close = [one for one in found if one.ns >= (1 - _LEAST) * most]
    first = max(close, key=lambda one: (max(_waits_for(ranks, one.rank), default=0), one.ns))
    rank = ranks[first.rank]
    if first.against == "ranks":
        compared = [(one.line, one.window) for at, one in enumerate(ranks) if at != first.rank]
    else:
        compared = [(rank.line, window) for window in windows[first.rank]]
    kernels = _differences(rank, compared)
    figures = {
        "rank": _named(rank.name),
        "time": duration(first.own_ns),
        "excess": duration(first.ns),
        "percent": f" ({percent(first.ns / first.other_ns)})" if first.other_ns else "",
    }
    sentences = [Message(f"explain.{first.against}.{first.kind}", **figures)]
    if waits := _waits_for(ranks, first.rank):
        code = "explain.awaited" if len(waits) > 1 else "explain.awaited_1"
        sentences.append(Message(code, count=len(waits), time=duration(max(waits))))
    if first.kind == "computing" and kernels:
        top = kernels[0]
        factor = f" (×{top.ns / top.other_ns:.2f})" if top.other_ns else ""
        sentences.append(
            Message("explain.kernel", type=top.type, excess=duration(top.ns - top.other_ns), factor=factor)
        )
    return Explanation(
        sentences, first.kind, first.against, first.rank, first.own_ns, round(first.other_ns), ranks, kernels
    )


def _over_ranks(ranks: Sequence[RankParts]) -> Iterator[_Excess]:
    """The excess of each part of each rank over the median of the others."""
    for at, rank in enumerate(ranks):
        others = [one.parts for number, one in enumerate(ranks) if number != at]
        for kind in COMPARED["ranks"] if others and not _waits_longer(ranks, at) else ():
            usual = median(one.of(kind) for one in others)
            yield _Excess(rank.parts.of(kind) - usual, at, kind, rank.parts.of(kind), usual, "ranks")


def _over_steps(ranks: Sequence[RankParts], steps: Sequence[Sequence[Parts]]) -> Iterator[_Excess]:
    """The excess of each part of each rank over its median in the other steps."""
    for at, (rank, others) in enumerate(zip(ranks, steps)):
        for kind in COMPARED["steps"] if others and not _waits_longer(ranks, at) else ():
            usual = median(one.of(kind) for one in others)
            yield _Excess(rank.parts.of(kind) - usual, at, kind, rank.parts.of(kind), usual, "steps")


def _waits_longer(ranks: Sequence[RankParts], at: int) -> bool:
    """Whether a rank waits longer than the others: then it does not hold them up."""
    others = [one.parts.waiting for number, one in enumerate(ranks) if number != at]
    return bool(others) and ranks[at].parts.waiting > median(others)


def _waits_for(ranks: Sequence[RankParts], at: int) -> list[int]:
    """How long each other rank that waits for a rank does, ns."""
    name = str(ranks[at].line.span.capture.rank)
    return [one.awaited[name] for number, one in enumerate(ranks) if number != at and one.awaited[name] > 0]


def _even(ranks: Sequence[RankParts], whole: Sequence[Parts]) -> Explanation:
    """Nothing stands out: the largest part, and who is waited for."""
    at = sorted(range(len(ranks)), key=lambda number: ranks[number].parts.total)[len(ranks) // 2]
    rank = ranks[at]
    kind = max(KINDS, key=rank.parts.of)
    own, total = rank.parts.of(kind), rank.parts.total
    part = Message(f"explain.part.{kind}")
    figures = {"part": part, "time": duration(own), "share": percent(own / total), "window": duration(total)}
    if len(ranks) > 1:
        sentences = [Message("explain.even", rank=rank.name, **figures)]
    elif whole and whole[0].total:
        usual = percent(whole[0].of(kind) / whole[0].total)
        sentences = [Message("explain.single", rank=_named(rank.name), usual=usual, **figures)]
    else:
        sentences = [Message("explain.alone", rank=_named(rank.name), **figures)]
    longest = max(ranks, key=lambda one: max(one.awaited.values(), default=0))
    if longest.awaited:
        name, time = longest.awaited.most_common(1)[0]
        if time >= _LEAST * total:
            sentences.append(Message("explain.wait", rank=_named(longest.name), late=name, time=duration(time)))
    return Explanation(sentences, kind, "ranks" if len(ranks) > 1 else "capture", None, own, 0, ranks, [])


def _named(name: str) -> str:
    """A name at the start of a sentence."""
    return name[:1].upper() + name[1:]


def _differences(rank: RankParts, compared: Sequence[tuple[RankDevice, Window]]) -> list[KernelDifference]:
    """The kernel types by difference, the largest excess first."""
    own, others = kernel_times(rank.line, *rank.window), [kernel_times(line, *window) for line, window in compared]
    if not own or not any(others):
        return []
    names = dict.fromkeys(name for one in (own, *others) for name in one)
    found = [KernelDifference(name, own[name], round(median(one[name] for one in others))) for name in names]
    return sorted(found, key=lambda one: (one.other_ns - one.ns, one.type))[:_MOST_KERNELS]


def kernel_times(line: RankDevice, start: int, end: int) -> Counter[str]:
    """Time of computing kernels inside [start, end), ns, by type; by folded name if one has no type, as at Level0."""
    kernels = line.kernels()
    if kernels is None or start >= end:
        return Counter()
    begin, length = kernels.ints("start_ns"), kernels.ints("dur_ns")
    rows = np.flatnonzero(known(length) & overlaps(begin, length, start, end) & is_computing(kernels))
    label = kernels.text("type").take(rows)
    if (label.codes < 0).any():
        label = kernels.text(FOLDED.key).take(rows)
    inside = np.minimum(begin[rows] + length[rows], end) - np.maximum(begin[rows], start)
    groups = Groups([label], len(rows))
    return Counter(dict(zip((name or "" for name in label.take(groups.first).tolist()), groups.sum(inside).tolist())))
