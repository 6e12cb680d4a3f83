"""A link that is slower than links with the same transport, operator type and size of pieces."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Optional

from tb_npu_plugin.analysis.communication.statistics import Link
from tb_npu_plugin.analysis.findings.model import (
    Confidence,
    ConfidenceKind,
    Evidence,
    Finding,
    Rule,
    Subject,
    Unchecked,
)
from tb_npu_plugin.analysis.findings.outliers import LEAST_PEERS
from tb_npu_plugin.analysis.findings.run_data import RunData, median_of
from tb_npu_plugin.analysis.findings.text import percent, speed
from tb_npu_plugin.analysis.findings.transfers import LEAST_UNALIGNED, share_of_unaligned
from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.torch_npu_json import LOCAL

#: Least relative distance to the median, as in analysis/ranks/cluster_rules.py.
_DIFFERS = 0.2
_SPREAD = 3 * 1.4826
#: Least bytes per step: small transfers measure latency, not the link.
_LEAST_BYTES = 100_000
#: Least loss of a slow link, ns per step. Healthy links of real runs lose less: there, 1 to 5 % of the transfers between two
#: ranks (1.2 to 19 MB) take up to 45 us longer than the median of transfers of the same size.
_LEAST_LOST_NS = 50_000
#: Largest relative difference of piece sizes on comparable links: data parallel and tensor parallel groups send pieces of
#: different size at different speed.
_SIMILAR = 0.25
#: The same for total sizes, if the number of pieces is unknown.
_SIMILAR_TOTAL = 0.1
#: Largest speed of a slow link relative to links with smaller pieces.
_HALF = 0.5


@dataclass(frozen=True)
class _Traffic:
    """Traffic of a link in a group over all steps, bytes and ns. calls: operators that moved it; None: unknown."""

    src: int
    dst: int
    group: Optional[str]
    transport: str
    op_type: str
    size: int
    time: int
    calls: Optional[int]

    @property
    def speed(self) -> float:
        return self.size / self.time


#: Usual bandwidth of a link, 1e9 bytes per second, as MindStudio Insight labels it; "RDMA" is one port.
_USUAL = {"HCCS": 18.0, "PCIE": 20.0, "RDMA": 12.5}
#: Least bytes per operator on a link that is compared with the usual bandwidth.
_LEAST_PIECE = 4_000_000
#: Operators between two ranks: their directions follow each other, those of collectives run at once.
_BETWEEN_TWO = ("send", "receive")


@dataclass(frozen=True)
class _Slow:
    """A slow link by one operator type. expected: bytes per ns of comparable links; peers: their number with this one, 0 if
    there are none."""

    link: _Traffic
    expected: float
    peers: int
    kind: ConfidenceKind

    @property
    def lost(self) -> float:
        """Time beyond the expected one, ns over all steps."""
        return self.link.time - self.link.size / self.expected

    @property
    def order(self) -> tuple[bool, float]:
        """The surest first, then the slowest."""
        return self.kind != "measured", self.link.speed / self.expected


def find(run: RunData) -> list[Finding]:
    """Links well below the median of comparable links, the slowest first. Of both directions and several operator types
    between two ranks, the worst is reported."""
    steps = len({link.step for link in run.links})
    known = [one for one in _sum_up(run.links) if one.time > 0 and one.size >= _LEAST_BYTES * steps]
    groups = _comparable(known)
    alike = [one for peers in groups for one in _slow_of(peers)]
    is_few = len({frozenset((one.src, one.dst)) for one in known}) < LEAST_PEERS
    alone = [one for peers in groups for one in _alone(peers, is_few) if not _has_other_reason(run, one.link)]
    found = [one for one in (*alike, *_slower_than_smaller(known), *alone) if one.lost >= _LEAST_LOST_NS * steps]
    pairs: dict[frozenset[int], list[_Slow]] = {}
    for one in sorted(found, key=lambda one: one.order):
        pairs.setdefault(frozenset((one.link.src, one.link.dst)), []).append(one)
    return [_finding(slow[0], round(_cost(slow) / steps)) for slow in pairs.values()]


def _cost(slow: Sequence[_Slow]) -> float:
    """Time lost by the link in both directions and all operator types, ns over all steps."""
    sent: dict[int, float] = {}
    collective: dict[str, float] = {}
    for one in slow:
        if one.link.op_type.lower() in _BETWEEN_TWO:
            sent[one.link.src] = max(sent.get(one.link.src, 0.0), one.lost)
        else:
            collective[one.link.op_type] = max(collective.get(one.link.op_type, 0.0), one.lost)
    return sum(sent.values()) + sum(collective.values())


def _finding(slow: _Slow, cost_ns: int) -> Finding:
    one = slow.link
    figures: dict[str, str | int] = {"src": one.src, "dst": one.dst, "speed": speed(one.speed)}
    if slow.peers:
        share, kind = percent(1 - one.speed / slow.expected), f"{one.transport}, {one.op_type or '–'}"
        message = Message("finding.slow_link", share=share, count=slow.peers - 1, type=kind, **figures)
    else:
        usual = speed(slow.expected)
        message = Message("finding.slow_link.alone", usual=usual, transport=one.transport, **figures)
    return Finding(
        rule=RULE.id,
        category=RULE.category,
        subject=Subject(link=(one.src, one.dst), operator=one.op_type or None),
        message=message,
        cost_ns=cost_ns,
        part="communication",
        confidence=Confidence(slow.kind),
        evidence=(Evidence("distributed", table="links", row=f"{one.src} {one.dst}"),),
        fix=(Message("fix.slow_link", src=one.src, dst=one.dst),),
        check=Message("check.slow_link", src=one.src, dst=one.dst),
    )


def _slow_of(peers: Sequence[_Traffic]) -> Iterable[_Slow]:
    """Links well below the median of links with similar pieces."""
    if len(peers) < LEAST_PEERS:
        return
    median = median_of([one.speed for one in peers])
    spread = median_of([abs(one.speed - median) for one in peers])
    for one in peers:
        if median - one.speed > max(_DIFFERS * median, _SPREAD * spread):
            yield _Slow(one, median, len(peers), "measured")


def _slower_than_smaller(links: Sequence[_Traffic]) -> Iterable[_Slow]:
    """For links with too few of similar pieces: large pieces are at least as fast as small ones, so that a link at half the
    speed of links with smaller pieces is slow."""
    kinds: dict[tuple[str, str, bool], list[_Traffic]] = {}
    for one in sorted(links, key=_piece):
        kinds.setdefault(_kind(one), []).append(one)
    for own in kinds.values():
        smaller, speeds = 0, list[float]()  # those before `smaller`, by speed
        for one in own:
            while _piece(own[smaller]) * (1 + _SIMILAR) < _piece(one):
                insort(speeds, own[smaller].speed)
                smaller += 1
            if smaller >= LEAST_PEERS and one.speed < _HALF * _middle(speeds):
                yield _Slow(one, _middle(speeds), smaller + 1, "inferred")


def _middle(values: Sequence[float]) -> float:
    """Median of sorted values."""
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def _alone(peers: Sequence[_Traffic], is_few: bool) -> Iterable[_Slow]:
    """Links that are far below the usual bandwidth of their transport: where the run has few links, or of a few comparable ones
    another is twice as fast."""
    if is_few or len({frozenset((one.src, one.dst)) for one in peers}) < LEAST_PEERS:
        fastest = max(one.speed for one in peers)
        for one in peers:
            usual = _USUAL.get(one.transport, 0.0)
            is_slow = one.speed < _HALF * usual and (is_few or one.speed < _HALF * fastest)
            if is_slow and one.calls and _piece(one) >= _LEAST_PIECE:
                yield _Slow(one, usual, 0, "inferred")


def _has_other_reason(run: RunData, link: _Traffic) -> bool:
    """Whether the packets of the transport are not aligned, or an operator of the group comes near the usual bandwidth: a slow
    link slows all of them, also those that nothing computes beside."""
    transport = link.transport
    for span in run.spans:
        packets, moved = span.table("comm_packets"), span.table("comm_bandwidth")
        if packets is not None and share_of_unaligned(packets, transport) >= LEAST_UNALIGNED:
            return True
        if moved is not None:
            size, time = moved.ints("size_bytes"), moved.ints("time_ns")
            rows = moved.text("transport").equals(transport) & (moved.ints("rollup") != 1)
            rows &= moved.text("group").equals(link.group) if link.group is not None else True
            rows &= (size >= _LEAST_PIECE) & (time > 0)
            if (size[rows] >= _HALF * _USUAL.get(transport, 0.0) * time[rows]).any():
                return True
    return False


def _comparable(links: Sequence[_Traffic]) -> list[list[_Traffic]]:
    """Groups of links with the same transport and operator type, and similar pieces."""
    groups: list[list[_Traffic]] = []
    for one in sorted(links, key=lambda link: (*_kind(link), _piece(link))):
        first = groups[-1][0] if groups else None
        similar = _SIMILAR_TOTAL if one.calls is None else _SIMILAR
        if first is not None and _kind(first) == _kind(one) and _piece(one) <= _piece(first) * (1 + similar):
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _kind(link: _Traffic) -> tuple[str, str, bool]:
    return link.transport, link.op_type, link.calls is None


def _piece(link: _Traffic) -> float:
    return link.size / (link.calls or 1)


def _sum_up(links: Iterable[Link]) -> list[_Traffic]:
    """Sums of the known values over the steps. Ranks are those of the job, or of the group if unknown."""
    sums: dict[tuple[object, ...], _Traffic] = {}
    for link in links:
        if link.size_bytes is None or link.time_ns is None or link.transport is None or link.transport == LOCAL:
            continue
        src = link.src if link.src_rank is None else link.src_rank
        dst = link.dst if link.dst_rank is None else link.dst_rank
        key = (link.transport, link.op_type, link.group, src, dst)
        empty = _Traffic(src, dst, link.group, link.transport, link.op_type or "", 0, 0, 0)
        one = sums.get(key, empty)
        calls = None if one.calls is None or not link.calls else one.calls + link.calls
        sums[key] = replace(one, size=one.size + link.size_bytes, time=one.time + link.time_ns, calls=calls)
    return list(sums.values())


def missing(run: RunData) -> Optional[Unchecked]:
    """Traffic of links."""
    if run.links or len(run.lines) < 2:
        return None
    return Unchecked(RULE.id, Message("unchecked.no_links"), "profiler_level=ProfilerLevel.Level1")


RULE = Rule("slow_link", "communication", find, missing, device="NPU", needs_ranks=True)
