"""Finds outliers among the ranks of a MindSpore job up to 2.2: MindInsight's rules with its limits, and a more robust
criterion. Source: docs/facts/mindinsight.md, Rules with thresholds.

MindInsight compares with the mean of all ranks. That fires if pipeline stages differ by design, and one slow rank moves
the mean. So each finding also has the median and the spread of its peers (the ranks of the same stage), and whether it
is an outlier among them, from three peers on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal, Optional

#: MindInsight's limits, as ratios: difference of a rank or link from the mean; share of communication.
DIFFERS, COMMUNICATES = 0.2, 0.1
#: Minimum number of peers to judge the spread.
LEAST_PEERS = 3
#: Limit in standard deviations, and the factor of the median absolute deviation that estimates one.
SPREAD, DEVIATION = 3.0, 1.4826
#: Minimum traffic of a judged link, bytes per step: small transfers never reach its bandwidth.
LEAST_TRAFFIC_BYTES = 1_000_000

ClusterRule = Literal[
    "step_interval", "flops_per_second", "link", "communication", "between_stages", "within_stage", "stage_flops"
]


@dataclass(frozen=True)
class RankFigures:
    """Means of one rank: ns, million floating-point operations, 1e9 of them per second. None: unknown."""

    rank: Optional[int]
    stage: Optional[int]
    interval_ns: Optional[int]
    computation_ns: Optional[int]
    communication_alone_ns: Optional[int]
    receive_alone_ns: Optional[int]
    collective_alone_ns: Optional[int]
    flops: Optional[float]
    flops_rate: Optional[float]


@dataclass(frozen=True)
class LinkFigures:
    """Traffic of a link over `steps` steps, as recorded by `rank`; src and dst are ranks inside the group."""

    rank: Optional[int]
    stage: Optional[int]
    src: int
    dst: int
    transport: str
    size_bytes: int
    time_ns: int
    steps: int

    @property
    def bandwidth(self) -> float:
        """1e9 bytes per second: total bytes over total time."""
        return self.size_bytes / self.time_ns


@dataclass(frozen=True)
class ClusterFinding:
    """Result of one of MindInsight's rules."""

    rule: ClusterRule
    """Which rule."""
    fires: bool
    """MindInsight would report it: `share` is above `limit`."""
    share: float
    """Difference from the mean in the worse direction, or share of communication."""
    limit: float
    """MindInsight's limit of `share`."""
    rank: Optional[int] = None
    """The rank that the finding is about."""
    stage: Optional[int] = None
    """The pipeline stage that the finding is about."""
    src: Optional[int] = None
    """Sender of the link that the finding is about, inside the group."""
    dst: Optional[int] = None
    """Receiver of the link that the finding is about, inside the group."""
    transport: Optional[str] = None
    """Transport of that link."""
    value: Optional[float] = None
    """Value of the rank, link or stage: ns (step_interval), 1e9 bytes per second (link), 1e9 floating-point operations
    per second (flops_per_second), a million of them (stage_flops), else a ratio."""
    mean: Optional[float] = None
    """Mean of all; unit of `value`."""
    peers: int = 0
    """Number of comparable ranks or links, itself included."""
    median: Optional[float] = None
    """Median of the peers; unit of `value`."""
    outlier: Optional[bool] = None
    """It is an outlier among the peers; None with too few peers."""
    gain_ns: Optional[int] = None
    """Step time saved if it reached the median of the peers; None: unknown."""
    basis: Literal["mean", "recorded"] = "mean"
    """Source of the figures: computed means, or the averages in the files."""


def findings(mode: str | None, ranks: Sequence[RankFigures], links: Sequence[LinkFigures]) -> list[ClusterFinding]:
    """Findings of all applicable rules, each with the worst rank, link or stage. mode: "data", "model", "pipeline"."""
    found = [
        _worst_rank("step_interval", ranks, {at: rank.interval_ns for at, rank in enumerate(ranks)}, higher=True),
        _worst_rank("flops_per_second", ranks, {at: rank.flops_rate for at, rank in enumerate(ranks)}, higher=False),
    ]
    for transport in sorted({link.transport for link in links}):
        found.append(_worst_link([link for link in links if link.transport == transport]))
    if mode == "pipeline":
        found += _pipeline(ranks)
    else:
        found.append(_check_share("communication", ranks, ranks, "communication_alone_ns", None))
    return [one for one in found if one is not None]


def _worst_rank(
    rule: ClusterRule, ranks: Sequence[RankFigures], values: Mapping[int, float | None], higher: bool
) -> ClusterFinding | None:
    """The rank that differs most from the mean in the worse direction."""
    known = {at: float(value) for at, value in values.items() if value is not None}
    if len(known) < 2:
        return None
    mean = fmean(known.values())
    worst = max(known, key=lambda at: known[at] if higher else -known[at])
    value = known[worst]
    if not mean:
        return None
    share = (value / mean - 1) if higher else (mean - value) / mean
    peers = [known[at] for at in known if ranks[at].stage == ranks[worst].stage]
    middle = median(peers)
    return ClusterFinding(
        rule,
        share > DIFFERS,
        share,
        DIFFERS,
        rank=ranks[worst].rank,
        stage=ranks[worst].stage,
        value=value,
        mean=mean,
        peers=len(peers),
        median=middle,
        outlier=_stands_out(value, peers, higher),
        gain_ns=round(value - middle) if higher and len(peers) > 1 else None,
    )


def _stands_out(value: float, peers: Sequence[float], higher: bool) -> bool | None:
    """Whether a value is an outlier among its peers and differs from their median by more than MindInsight's limit."""
    if len(peers) < LEAST_PEERS:
        return None
    middle = median(peers)
    spread = DEVIATION * median(abs(peer - middle) for peer in peers)
    distance = value - middle if higher else middle - value
    return distance > max(SPREAD * spread, DIFFERS * middle)


def _worst_link(links: Sequence[LinkFigures]) -> ClusterFinding | None:
    """The slowest link of one transport, among links with enough traffic."""
    judged = [link for link in links if link.time_ns and link.size_bytes >= LEAST_TRAFFIC_BYTES * link.steps]
    if len(judged) < 2:
        return None
    mean = fmean(link.bandwidth for link in judged)
    worst = min(judged, key=lambda link: link.bandwidth)
    share = (mean - worst.bandwidth) / mean
    speeds = [link.bandwidth for link in judged]
    middle = median(speeds)
    gain = (worst.time_ns - worst.size_bytes / middle) / worst.steps
    return ClusterFinding(
        "link",
        share > DIFFERS,
        share,
        DIFFERS,
        rank=worst.rank,
        stage=worst.stage,
        src=worst.src,
        dst=worst.dst,
        transport=worst.transport,
        value=worst.bandwidth,
        mean=mean,
        peers=len(judged),
        median=middle,
        outlier=_stands_out(worst.bandwidth, speeds, higher=False),
        gain_ns=max(0, round(gain)),
    )


def _pipeline(ranks: Sequence[RankFigures]) -> list[ClusterFinding | None]:
    stages: dict[int, list[RankFigures]] = defaultdict(list)
    for rank in ranks:
        if rank.stage is not None:
            stages[rank.stage].append(rank)
    found = [_check_share("between_stages", ranks, ranks, "receive_alone_ns", None)]
    found += [
        _check_share("within_stage", own, own, "collective_alone_ns", stage) for stage, own in sorted(stages.items())
    ]
    return [*found, _stage_flops(stages)]


def _check_share(
    rule: ClusterRule, ranks: Sequence[RankFigures], whole: Sequence[RankFigures], key: str, stage: int | None
) -> ClusterFinding | None:
    """Share of one kind of communication in computing and all communication. The possible gain is the excess over the
    limit, per step and rank."""
    part = [getattr(rank, key) for rank in ranks]
    all_of = [(rank.computation_ns, rank.communication_alone_ns) for rank in whole]
    if not part or None in part or any(None in pair for pair in all_of):
        return None
    total = sum(a + b for a, b in all_of if a is not None and b is not None)
    if not total:
        return None
    share = sum(part) / total
    gain = round(sum(part) / len(part) - COMMUNICATES * total / len(all_of))
    return ClusterFinding(
        rule,
        share > COMMUNICATES,
        share,
        COMMUNICATES,
        stage=stage,
        value=share,
        peers=len(part),
        gain_ns=gain if gain > 0 else None,
    )


def _stage_flops(stages: Mapping[int, Sequence[RankFigures]]) -> ClusterFinding | None:
    """The stage with the most work per rank."""
    means = {
        stage: fmean(rank.flops for rank in own if rank.flops is not None)
        for stage, own in stages.items()
        if any(rank.flops is not None for rank in own)
    }
    if len(means) < 2:
        return None
    mean = fmean(means.values())
    worst = max(means, key=lambda stage: means[stage])
    share = means[worst] / mean - 1 if mean else 0.0
    return ClusterFinding(
        "stage_flops",
        share > DIFFERS,
        share,
        DIFFERS,
        stage=worst,
        value=means[worst],
        mean=mean,
        peers=len(means),
        median=median(means.values()),
    )
