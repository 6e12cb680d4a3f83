"""Flows of a trace: arrows from slice to slice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.recording import is_plausible
from tb_npu_plugin.scan import TraceEvents
from tb_npu_plugin.schema.trace import HOST_TO_DEVICE
from tb_npu_plugin.store.timeline.device_steps import graph_calls
from tb_npu_plugin.store.timeline.rows import RowTable

Index = NDArray[np.int64]
#: Minimum number of points per batch: with smaller ones, many small categories would be slow.
_BATCH = 1 << 18


@dataclass
class Flows:
    """Pairs of slice ids, sorted by `source`.

    Attributes:
        kind: Index into the categories of the trace.
        launched: Tasks of the device whose launch is a flow without a slice at its start, as at level 0.
        launch: Time of each of these launches, ns after the origin.
        ends: Events that are ends of these pairs and launches.
        unmatched: Number of flow events without a partner or without a slice, by category.
    """

    source: Index
    target: Index
    kind: NDArray[np.int32]
    launched: Index
    launch: Index
    ends: Index
    unmatched: dict[int, int]


def make_flows(events: TraceEvents, rows: RowTable, base: int, track_of: Callable[[Index], Index]) -> Flows:
    """Join flow events by category and id, and find the slices where they start and end.

    A step event ("t") ends one arrow and starts the next. An end event ("f") ends an arrow from the latest start before
    it. Kineto writes an end in place of the start at a call that replays a graph.

    Args:
        base: Origin of slice times, ns since the epoch.
        track_of: Maps event rows to track numbers, -1 without a track.
    """
    points = events.of_phase("stf")
    points = points[is_plausible(events.ts[points]) & (events.flow[points] >= 0)]
    points = points[np.argsort(events.category[points], kind="stable")]
    calls = graph_calls(events)
    calls = calls[is_plausible(events.ts[calls])]
    replays = rows.find(track_of(calls), events.ts[calls] - base, np.ones(len(calls), dtype=bool))
    parts = [_join(events, rows, base, track_of(part), part, replays) for part in _batches(events, points)]
    source, target, kind, last = (np.concatenate([part.arrows[i] for part in parts]) for i in range(4))
    by_source = np.lexsort((last, source))
    kinds, counts = np.unique(np.concatenate([part.alone for part in parts]), return_counts=True)
    unmatched = dict(zip(kinds.tolist(), counts.tolist()))
    launched, launch, ends = (
        np.concatenate([getattr(part, key) for part in parts]) for key in ("launched", "launch", "ends")
    )
    return Flows(source[by_source], target[by_source], kind[by_source], launched, launch, ends, unmatched)


def _batches(events: TraceEvents, points: Index) -> Iterator[Index]:
    """Batches of at least _BATCH points, sorted by category, that do not split categories; at least one batch."""
    kind = events.category[points]
    heads = np.append(np.flatnonzero(np.append(True, kind[1:] != kind[:-1])), len(points))
    first = 0
    for end in heads[1:].tolist():
        if end - first >= _BATCH or end == len(points):
            yield points[first:end]
            first = end
    if not len(points):
        yield points


@dataclass(frozen=True)
class _Joined:
    """arrows: source, target, kind and end event of each arrow; launched, launch, ends: as in Flows; alone: kinds of the
    other events."""

    arrows: tuple[Index, Index, NDArray[np.int32], Index]
    launched: Index
    launch: Index
    ends: Index
    alone: NDArray[np.int32]


def _join(events: TraceEvents, rows: RowTable, base: int, track: Index, points: Index, replays: Index) -> _Joined:
    """The arrows among flow events. track: track of each event. replays: slices of calls that replay a graph."""
    key = events.category[points].astype(np.int64) * (len(events.flows) + 1) + events.flow[points]
    rank = np.select([events.phase[points] == ord("s"), events.phase[points] == ord("t")], [0, 1], 2)
    order = np.lexsort((rank, events.ts[points], key))
    points, key, rank, track = points[order], key[order], rank[order], track[order]
    enclosing = (events.enclosing[points] != 0) | (rank < 2)
    slices = rows.find(track, events.ts[points] - base, enclosing)
    heads = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: len(key)])
    rank[heads[np.isin(slices[heads], replays[replays >= 0])]] = 0
    begin, end = _pair(key, rank)
    kind = events.category[points]
    launches = [code for code in np.unique(kind).tolist() if events.category_name(code) == HOST_TO_DEVICE]
    has_end = slices[end] >= 0
    is_launch = has_end & (slices[begin] < 0) & np.isin(kind[begin], launches)
    matched = has_end & (slices[begin] >= 0)
    alone = np.ones(len(points), dtype=bool)
    for chosen in (is_launch, matched):
        alone[begin[chosen]] = alone[end[chosen]] = False
    launched, launch = slices[end[is_launch]], events.ts[points[begin[is_launch]]] - base
    begin, end = begin[matched], end[matched]
    arrows = slices[begin], slices[end], kind[begin], points[end]
    return _Joined(arrows, launched, launch, points[~alone], kind[alone])


def _pair(key: Index, rank: Index) -> tuple[Index, Index]:
    """(begin, end) indices of arrows among points sorted by (key, time, rank). rank: 0 start, 1 step, 2 end."""
    position = np.arange(len(key))
    latest = np.maximum.accumulate(np.where(rank < 2, position, -1)) if len(key) else position
    before = np.append(-1, latest[:-1])[: len(key)]  # strictly before each point
    ends = np.flatnonzero(rank > 0)
    begin = before[ends]
    other = (begin < 0) | (key[np.maximum(begin, 0)] != key[ends])
    # An arrow back in time starts after its end: use the first start of that key.
    starts = np.flatnonzero(rank == 0)
    place = np.searchsorted(key[starts], key[ends])
    later = starts[np.minimum(place, max(len(starts) - 1, 0))] if len(starts) else np.zeros(len(ends), dtype=np.int64)
    exists = (place < len(starts)) & (key[later] == key[ends]) if len(starts) else np.zeros(len(ends), dtype=bool)
    begin = np.where(other, np.where(exists, later, -1), begin)
    good = begin >= 0
    return begin[good], ends[good]
