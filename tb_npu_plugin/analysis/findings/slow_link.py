"""A link that is slower than links with the same transport, operator type and size of pieces."""

from __future__ import annotations

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
    """Traffic of a link over all steps, bytes and ns. calls: operators that moved it; None: unknown."""

    src: int
    dst: int
    transport: str
    op_type: str
    size: int
    time: int
    calls: Optional[int]

    @property
    def speed(self) -> float:
        return self.size / self.time


#: A slow link, the median speed of comparable links, and their number with this one.
_Slow = tuple[_Traffic, float, int]


def find(run: RunData) -> list[Finding]:
    """Links well below the median of comparable links, the slowest first. Of both directions and several operator types
    between two ranks, the worst is reported."""
    steps = len({link.step for link in run.links})
    known = [one for one in _sum_up(run.links) if one.time > 0 and one.size >= _LEAST_BYTES * steps]
    alike = [found for peers in _comparable(known) for found in _slow_of(peers, steps)]
    worst: dict[frozenset[int], Finding] = {}
    judged: tuple[tuple[ConfidenceKind, Iterable[_Slow]], ...]
    judged = (("measured", alike), ("inferred", _slower_than_smaller(known, steps)))
    for kind, slow in judged:
        for one, median, peers in sorted(slow, key=lambda found: found[0].speed / found[1]):
            finding = _finding(one, median, peers, steps, Confidence(kind))
            worst.setdefault(frozenset((one.src, one.dst)), finding)
    return list(worst.values())


def _finding(one: _Traffic, median: float, peers: int, steps: int, confidence: Confidence) -> Finding:
    return Finding(
        rule=RULE.id,
        category=RULE.category,
        subject=Subject(link=(one.src, one.dst), operator=one.op_type or None),
        message=Message(
            "finding.slow_link",
            src=one.src,
            dst=one.dst,
            speed=speed(one.speed),
            share=percent(1 - one.speed / median),
            count=peers - 1,
            type=f"{one.transport}, {one.op_type or '–'}",
        ),
        cost_ns=round((one.time - one.size / median) / steps),
        cost_kind="upper bound",
        part="communication",
        confidence=confidence,
        evidence=(Evidence("distributed", table="links", row=f"{one.src} {one.dst}"),),
        fix=(Message("fix.slow_link", src=one.src, dst=one.dst),),
        check=Message("check.slow_link", src=one.src, dst=one.dst),
    )


def _slow_of(peers: Sequence[_Traffic], steps: int) -> Iterable[_Slow]:
    if len(peers) < LEAST_PEERS:
        return
    median = median_of([one.speed for one in peers])
    spread = median_of([abs(one.speed - median) for one in peers])
    for one in peers:
        lost = one.time - one.size / median
        if median - one.speed > max(_DIFFERS * median, _SPREAD * spread) and lost >= _LEAST_LOST_NS * steps:
            yield one, median, len(peers)


def _slower_than_smaller(links: Sequence[_Traffic], steps: int) -> Iterable[_Slow]:
    """As _slow_of, for links with too few of similar pieces: large pieces are at least as fast as small ones, so that a
    link at half the speed of links with smaller pieces is slow."""
    for kind in {_kind(link) for link in links}:
        same = [link for link in links if _kind(link) == kind]
        for one in same:
            smaller = [other for other in same if _piece(other) * (1 + _SIMILAR) < _piece(one)]
            median = median_of([other.speed for other in smaller])
            lost = one.time - one.size / median if median else 0.0
            if len(smaller) >= LEAST_PEERS and one.speed < _HALF * median and lost >= _LEAST_LOST_NS * steps:
                yield one, median, len(smaller) + 1


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
        empty = _Traffic(src, dst, link.transport, link.op_type or "", 0, 0, 0)
        one = sums.get(key, empty)
        calls = None if one.calls is None or not link.calls else one.calls + link.calls
        sums[key] = replace(one, size=one.size + link.size_bytes, time=one.time + link.time_ns, calls=calls)
    return list(sums.values())


def missing(run: RunData) -> Optional[Unchecked]:
    """Traffic of links."""
    if run.links or len(run.lines) < 2:
        return None
    return Unchecked(RULE.id, Message("unchecked.no_links"), "profiler_level=ProfilerLevel.Level1")


RULE = Rule("slow_link", "communication", find, missing)
