"""Figures well above those of their peers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Optional

from tb_npu_plugin.analysis.findings.run_data import median_of

#: Least number of peers for a median.
LEAST_PEERS = 3
#: Least relative excess of an outlier over the median.
_LEAST_EXCESS = 0.1


class Outlier(NamedTuple):
    """A figure above the median of its peers, itself included."""

    place: int
    value: float
    median: float


def outliers(
    values: Sequence[Optional[float]], groups: Sequence[Optional[int]], least_peers: int = LEAST_PEERS
) -> list[Outlier]:
    """The outliers of each group, the furthest above its median first. Unknown values, and those of group None, are
    ignored, and so are groups with fewer known values than `least_peers`."""
    found = [outlier for known in _peers_of(values, groups, least_peers) for outlier in _outliers_of(known)]
    return sorted(found, key=lambda one: -one.value / one.median)


def over_median(values: Sequence[Optional[float]], groups: Sequence[Optional[int]]) -> list[Optional[float]]:
    """Each value over the median of its group; None where `outliers` ignores it, or the median is 0."""
    out: list[Optional[float]] = [None] * len(values)
    for known in _peers_of(values, groups, LEAST_PEERS):
        median = median_of([value for value, _ in known])
        for value, index in known if median > 0 else ():
            out[index] = value / median
    return out


def _peers_of(
    values: Sequence[Optional[float]], groups: Sequence[Optional[int]], least_peers: int
) -> list[list[tuple[float, int]]]:
    """(value, index) of the known values of each group that has at least `least_peers` of them."""
    peers: dict[int, list[tuple[float, int]]] = {}
    for index, (value, group) in enumerate(zip(values, groups)):
        if value is not None and group is not None:
            peers.setdefault(group, []).append((value, index))
    return [known for known in peers.values() if len(known) >= least_peers]


def _outliers_of(known: Sequence[tuple[float, int]]) -> list[Outlier]:
    """The highest value, and further ones only if all of them are as far above the rest: at most half of the peers."""
    median = median_of([value for value, _ in known])
    if median <= 0:
        return []
    ordered = sorted(known, key=lambda one: (-one[0], one[1]))
    high = [one for one in ordered[: len(known) // 2] if one[0] > median * (1 + _LEAST_EXCESS)]
    count = min(len(high), 1)
    for place, (value, _) in enumerate(high):
        if value > ordered[place + 1][0] * (1 + _LEAST_EXCESS):
            count = place + 1
    return [Outlier(index, value, median) for value, index in high[:count]]
