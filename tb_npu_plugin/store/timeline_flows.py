"""Flows of a trace: arrows from slice to slice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.scan import TraceEvents
from tb_npu_plugin.store.timeline_rows import Rows
from tb_npu_plugin.tables import NULL_INT

Index = NDArray[np.int64]


@dataclass
class Flows:
    """Pairs of slice ids, by `source`. kind: index into the categories of the trace. unmatched: ends without the
    other end or without a slice, by category."""

    source: Index
    target: Index
    kind: NDArray[np.int32]
    unmatched: dict[int, int]


def make_flows(events: TraceEvents, rows: Rows, base: int, track_of: Callable[[Index], Index]) -> Flows:
    """Join flow events by category and id, and find the slices that they start and end in.

    base: what slice times count from. track_of: event rows to track numbers, -1 without a track.
    A step ("t") ends one arrow and starts the next; each "f" ends one that begins at the latest start before it.
    """
    points = events.of_phase("stf")
    points = points[(events.ts[points] != NULL_INT) & (events.flow[points] >= 0)]
    key = events.category[points].astype(np.int64) * (len(events.flows) + 1) + events.flow[points]
    rank = np.select([events.phase[points] == ord("s"), events.phase[points] == ord("t")], [0, 1], 2)
    order = np.lexsort((rank, events.ts[points], key))
    points, key, rank = points[order], key[order], rank[order]
    begin, end = _pair(key, rank)
    first, last = points[begin], points[end]
    track = track_of(points)
    times = events.ts[points] - base
    enclosing = (events.enclosing[points] != 0) | (rank < 2)
    slices = rows.find(track, times, enclosing)
    matched = (slices[begin] >= 0) & (slices[end] >= 0)
    alone = np.ones(len(points), dtype=bool)
    alone[begin[matched]] = alone[end[matched]] = False
    kinds, counts = np.unique(events.category[points[alone]], return_counts=True)
    source, target = slices[begin][matched], slices[end][matched]
    kind = events.category[first[matched]]
    by_source = np.lexsort((last[matched], source))
    return Flows(
        source[by_source],
        target[by_source],
        kind[by_source].astype(np.int32),
        dict(zip(kinds.tolist(), counts.tolist())),
    )


def _pair(key: Index, rank: Index) -> tuple[Index, Index]:
    """(begin, end) positions of arrows in points sorted by (key, time, rank): rank 0 starts, 1 goes on, 2 ends."""
    position = np.arange(len(key))
    latest = np.maximum.accumulate(np.where(rank < 2, position, -1)) if len(key) else position
    before = np.append(-1, latest[:-1])[: len(key)]  # strictly before each point
    ends = np.flatnonzero(rank > 0)
    begin = before[ends]
    other = (begin < 0) | (key[np.maximum(begin, 0)] != key[ends])
    # The start of an arrow into the past stands after its end: take the first start of that key.
    starts = np.flatnonzero(rank == 0)
    place = np.searchsorted(key[starts], key[ends])
    later = starts[np.minimum(place, max(len(starts) - 1, 0))] if len(starts) else np.zeros(len(ends), dtype=np.int64)
    exists = (place < len(starts)) & (key[later] == key[ends]) if len(starts) else np.zeros(len(ends), dtype=bool)
    begin = np.where(other, np.where(exists, later, -1), begin)
    good = begin >= 0
    return begin[good], ends[good]
