"""The rows of a ledger, as the page and the report draw them, with the findings that would shorten them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Optional, TypeVar

from tb_npu_plugin.analysis.findings.ledger_sentence import listed
from tb_npu_plugin.analysis.findings.model import Finding, Part
from tb_npu_plugin.analysis.findings.text import duration
from tb_npu_plugin.analysis.ledger.bubble import BubbleParts
from tb_npu_plugin.analysis.ledger.model import ChainEnd, Entry, RankLedger
from tb_npu_plugin.analysis.parts import LEDGER
from tb_npu_plugin.messages import Message

LedgerKind = Literal[
    "computing",
    "waiting",
    "transfer",
    "communication",
    "copies",
    "idle",
    "unexplained",
    "before",
    "after",
    "outside",
    "between",
]
#: Part of a step that a finding shortens -> entries of the ledger that hold it, the likeliest first.
SHORTENS: Mapping[Part, tuple[LedgerKind, ...]] = {
    "computing": ("computing",),
    "waiting": ("waiting", "communication"),
    "bubble": ("waiting", "communication"),
    "communication": ("transfer", "communication"),
    "free": ("idle", "unexplained"),
    "preparing": ("before", "idle"),
}
#: Rule -> part of the waiting for other stages that its findings shorten.
_OF_BUBBLE = {"stage_imbalance": "waiting_uneven", "bubble": "waiting_batches"}
#: Largest number of awaited ranks with a row each, and of chain ends that are named.
_MOST_RANKS, _MOST_ENDS = 6, 3
#: Least share of the waiting for a rank that names all of it, as in widgets/budget.ts.
_NEARLY_ALL = 0.9
#: Least communication inside computing that has a row, share of the step.
_LEAST_INSIDE = 0.001
_ENDS = {
    "computing": "ledger.end.computing",
    "idle": "ledger.end.idle",
    "transfer": "ledger.end.transfer",
    "unknown": "ledger.end.unknown",
    "unprofiled": "ledger.end.unprofiled",
}
_T = TypeVar("_T")
_K = TypeVar("_K", bound=Hashable)


@dataclass(frozen=True, eq=False)
class Row:
    """Entries of one kind and detail, or a part of them; times in ns.

    Attributes:
        part: Id in LEDGER: its colour.
        what: What it consists of, and whom it waits for.
        findings: Indices of the findings that would shorten it.
        parts: Rows that it consists of: waiting by cause or by rank. Of computing: the communication inside it.
    """

    kind: LedgerKind
    part: str
    title: Message
    ns: int
    low_ns: int
    high_ns: int
    entries: Sequence[Entry] = ()
    what: list[Message] = field(default_factory=list)
    parts: Sequence[Row] = ()
    findings: list[int] = field(default_factory=list)


def rows_of(
    ledger: RankLedger,
    findings: Sequence[Finding] = (),
    stages: Optional[Mapping[Optional[int], Optional[int]]] = None,
    bubble: Optional[BubbleParts] = None,
    culprits: Collection[int] = (),
) -> list[Row]:
    """The rows of a ledger, whose sum is its window, and then the time beside it.

    Args:
        stages: Rank -> pipeline stage.
        bubble: Why the rank waits for other stages, if known.
        culprits: Ranks that the verdict names.
    """
    rows = []
    for (kind, detail), same in _grouped(ledger.entries, _kind_of).items():
        part = f"{kind}_{detail}" if f"{kind}_{detail}" in LEDGER else kind
        if kind == "waiting":
            rows.append(_waiting(same, ledger, stages or {}, bubble, culprits))
        elif kind == "computing" and ledger.hidden_ns > _LEAST_INSIDE * ledger.window_ns:
            inside = _part("computing", "computing_overlapped", ledger.hidden_ns, Message("ledger.hidden"))
            rows.append(_row(same, part, LEDGER[part].title, parts=(inside,)))
        else:
            rows.append(_row(same, part, LEDGER[part].title))
    beside: dict[LedgerKind, int] = {
        "before": ledger.before_ns,
        "after": ledger.after_ns,
        "outside": ledger.outside_ns,
        "between": ledger.between_ns,
    }
    rows += [_part(kind, kind, ns, Message("ledger.outside")) for kind, ns in beside.items() if ns > 0]
    for at, one in enumerate(findings):
        row = row_for(one, rows, ledger)
        if row is not None:
            row.findings.append(at)
            if one.part == row.kind == "waiting" and one.cost_ns > row.high_ns:
                row.what.append(Message("ledger.delays", time=duration(one.cost_ns - row.high_ns)))
    return rows


def name_of(ledger: RankLedger, ledgers: Sequence[RankLedger]) -> str:
    """ "rank 3", "rank 3 · device 1"; the worker if its rank is unknown or several of `ledgers` have it."""
    worker, rank = ledger.span.worker_label, ledger.rank
    is_unique = rank is not None and all(one.rank != rank or one.span.worker_label == worker for one in ledgers)
    name = f"rank {rank}" if is_unique else worker
    return name if ledger.device_id is None else f"{name} · device {ledger.device_id}"


def _kind_of(entry: Entry) -> tuple[LedgerKind, str]:
    return entry.entry, "" if entry.entry == "waiting" else entry.detail


def _row(
    entries: Sequence[Entry], part: str, title: Message, what: Iterable[Message] = (), parts: Sequence[Row] = ()
) -> Row:
    ns, low, high = (sum(getattr(one, key) for one in entries) for key in ("ns", "low_ns", "high_ns"))
    return Row(entries[0].entry, part, title, ns, low, high, entries, list(what), parts)


def _part(kind: LedgerKind, part: str, ns: int, *what: Message) -> Row:
    return Row(kind, part, LEDGER[part].title, ns, ns, ns, what=list(what))


def _waiting(
    entries: Sequence[Entry],
    ledger: RankLedger,
    stages: Mapping[Optional[int], Optional[int]],
    bubble: Optional[BubbleParts],
    culprits: Collection[int],
) -> Row:
    """Waiting for other stages by cause; else by rank."""
    by_rank = _grouped(entries, lambda one: one.culprit)
    causes = [] if bubble is None else list(_causes(entries, bubble))
    title = _whole_title(by_rank, stages, culprits, bool(causes))
    if causes:
        return _row(entries, "waiting", title, _facts(entries, ledger), causes)
    parts = [_row(same, "waiting", _waiting_title(rank), _facts(same, ledger)) for rank, same in by_rank.items()]
    parts.sort(key=lambda row: -row.ns)
    if len(parts) == 1:
        return parts[0]
    others = parts[_MOST_RANKS - 1 :]
    if len(others) > 1:
        rest = [one for row in others for one in row.entries]
        rest_title = Message("ledger.waiting_others", count=len(others))
        parts[_MOST_RANKS - 1 :] = [_row(rest, "waiting", rest_title, _facts(rest, ledger))]
    return _row(entries, "waiting", title, parts=parts)


def _whole_title(
    by_rank: Mapping[Optional[int], Sequence[Entry]],
    stages: Mapping[Optional[int], Optional[int]],
    culprits: Collection[int],
    is_of_stages: bool,
) -> Message:
    """The title of all waiting: the culprit that (nearly) all of it is for, or the stage."""
    times = Counter({rank: sum(one.ns for one in same) for rank, same in by_rank.items()})
    by_stage = Counter[Optional[int]]()
    for rank, time in times.items():
        by_stage[stages.get(rank)] += time
    ((first, of_rank),), ((stage, of_stage),) = times.most_common(1), by_stage.most_common(1)
    least = _NEARLY_ALL * sum(times.values())
    if first in culprits and of_rank >= least:
        return _waiting_title(first)
    if is_of_stages and stage is not None and of_stage >= least:
        return Message("ledger.waiting_for_stage", stage=stage)
    return LEDGER["waiting"].title


def _causes(entries: Sequence[Entry], bubble: BubbleParts) -> Iterator[Row]:
    """Rows of the bubble, and of the other waiting. None if the waiting is bounded, or less than the bubble."""
    rest = sum(one.ns for one in entries) - bubble.uneven - bubble.batches - bubble.idle
    if rest < 0 or any(one.low_ns != one.high_ns for one in entries):
        return
    times = {"uneven": bubble.uneven, "batches": bubble.batches, "idle": bubble.idle, "other": rest}
    for name, ns in times.items():
        if ns > 0:
            yield _part("waiting", f"waiting_{name}", ns)


def _waiting_title(rank: Optional[int]) -> Message:
    return Message("ledger.waiting_unknown") if rank is None else Message("ledger.waiting_for", rank=f"rank {rank}")


def _facts(waits: Sequence[Entry], ledger: RankLedger) -> Iterator[Message]:
    """Kinds of waits unless all are at collectives, and where their chains end."""
    kinds = _grouped(waits, lambda one: one.detail)
    if set(kinds) != {"collective"}:
        texts = listed([_kind_text(detail, sum(one.ns for one in same)) for detail, same in kinds.items()])
        if isinstance(texts, Message):
            yield texts
    ends = _grouped([end for one in waits for end in one.chain], lambda end: (end.rank, end.kind))
    sums = sorted((ChainEnd(*key, sum(one.ns for one in same)) for key, same in ends.items()), key=lambda end: -end.ns)
    if sums:
        more = [Message("ledger.end.more")] if len(sums) > _MOST_ENDS else []
        texts = listed([*map(_end, sums[:_MOST_ENDS]), *more])
        yield Message("ledger.chain", rank=name_of(ledger, ()), ends=texts)


def _kind_text(detail: str, ns: int) -> Message:
    if detail == "p2p":
        return Message("ledger.p2p", time=duration(ns))
    if detail == "collective":
        return Message("ledger.collective", time=duration(ns))
    return Message("ledger.inside", kernel=detail, time=duration(ns))


def _end(end: ChainEnd) -> Message:
    if end.kind == "error":
        return Message("ledger.end.error", time=duration(end.ns))
    who = Message("ledger.some_rank") if end.rank is None else f"rank {end.rank}"
    return Message(_ENDS[end.kind], rank=who, time=duration(end.ns))


def row_for(finding: Finding, rows: Sequence[Row], ledger: RankLedger) -> Optional[Row]:
    """The row that a finding would shorten. One about another rank shortens the waiting for it, or nothing here."""
    subject, is_of_ranks, kinds = finding.subject, finding.category == "ranks", SHORTENS[finding.part]
    is_here = subject.rank == ledger.rank is not None or subject.worker == ledger.span.worker_label
    is_elsewhere = not is_here and (subject.rank is not None or subject.worker is not None)
    if finding.cost_ns == 0 or (is_elsewhere and not is_of_ranks):
        return None
    if is_here and is_of_ranks and kinds[0] == "waiting":
        # What the others wait for: computing, or the idle time that the cause of the finding holds.
        is_idle = finding.causes and any(row.kind == "idle" and row.ns >= finding.cost_ns for row in rows)
        kinds = ("idle",) if is_idle else ("computing",)
    fitting = [row for kind in kinds for row in rows if row.kind == kind]
    if is_here or subject.rank is None:
        first = fitting[0] if fitting else None
        parts = first.parts if first is not None else ()
        cause = next((one for one in parts if one.part == _OF_BUBBLE.get(finding.rule)), first)
        return cause if cause is None or finding.cost_ns <= cause.high_ns else first
    waits = [one for row in fitting for one in ([part for part in row.parts if part.entries] or [row])]
    named = (row for row in waits if any(one.culprit == subject.rank for one in row.entries))
    ends = (row for row in waits if any(end.rank == subject.rank for one in row.entries for end in one.chain))
    return next(named, None) or next(ends, None)


def _grouped(items: Sequence[_T], key: Callable[[_T], _K]) -> dict[_K, list[_T]]:
    found: dict[_K, list[_T]] = {}
    for one in items:
        found.setdefault(key(one), []).append(one)
    return found
