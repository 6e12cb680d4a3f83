"""Finds unprofiled ranks that arrive last at collectives, from the traces of profiled ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from tb_npu_plugin.analysis.communication.lateness import FirstWait, Tasks, longest_first_waits
from tb_npu_plugin.analysis.ranks.world import WorldRanks
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS
from tb_npu_plugin.schema.trace_events import GROUP, NOTIFY_WAIT, PEER, PLANE
from tb_npu_plugin.tables import NULL_INT, Table


@dataclass(frozen=True)
class LatePeer:
    """An unprofiled rank that a profiled rank waits for at collectives of a step. It may itself wait for ranks of other
    groups."""

    rank: Optional[int]
    """The profiled rank that waits."""
    step: Optional[str]
    """Step number."""
    group: Optional[str]
    """Communication group."""
    operator: str
    """Communication operator with the longest wait."""
    wait: int
    """Longest wait in one stretch, ns."""
    total: int
    """Sum of the waits at all collectives where this rank is the last, ns."""
    recoverable: int
    """What of `total` would remain to be saved if only this rank were on time: each wait less the next longest, ns."""
    collectives: int
    """Number of these collectives."""
    peer: int
    """The late rank's number inside the group."""
    peer_rank: Optional[int]
    """The late rank in the job; null if not recorded."""


@dataclass(frozen=True)
class _Wait:
    """A wait at a collective."""

    step: Optional[str]
    group: Optional[str]
    operator: str
    peer: int
    wait: int
    second: int
    is_long: bool


_BETWEEN_TWO = COMM_KINDS[0]
#: Number of longest waits examined per rank: each reads a part of the trace.
_MAX_WAITS = 4096


def late_peers(spans: Sequence[SpanData], ranks: WorldRanks, world_size: Optional[int]) -> list[LatePeer]:
    """Waits of each profiled rank for unprofiled ranks, by step and late rank. Only for spans whose trace is read
    completely."""
    recorded = {span.capture.rank for span in spans}
    if world_size is None or len(recorded) >= world_size:
        return []
    out: list[LatePeer] = []
    for span in spans:
        ops, timeline = span.table("comm_ops"), span.timeline
        if ops is None or timeline is None or timeline.partial is not None:
            continue
        sizes = _group_sizes(span.table("comm_links"))
        waits: dict[tuple[Optional[str], Optional[str], int], list[_Wait]] = {}
        for wait in _waits(timeline, ops):
            waits.setdefault((wait.step, wait.group, wait.peer), []).append(wait)
        for (step, group, peer), found in waits.items():
            rank = ranks.of(group, peer)
            if rank is None and sizes.get(group) == world_size:
                rank = peer  # in the group of all ranks, local and world rank are equal
            if (rank is None or rank not in recorded) and any(one.is_long for one in found):
                longest = max(found, key=lambda one: one.wait)
                total = sum(one.wait for one in found)
                saved = total - sum(one.second for one in found)
                figures = (longest.operator, longest.wait, total, saved, len(found))
                out.append(LatePeer(span.capture.rank, step, group, *figures, peer, rank))
    return out


def _waits(timeline: Any, ops: Table) -> Iterator[_Wait]:
    """The longest waits at the start of collectives."""
    columns = (ops.text(key).tolist() for key in ("name", "kind", "step", "group"))
    known_ops = {name: (step, group) for name, kind, step, group in zip(*columns) if kind != _BETWEEN_TWO}
    found: list[tuple[FirstWait, str]] = []
    for tracks in _communicators(timeline):
        operators = _tasks(timeline, tracks[0])
        for wait in longest_first_waits(operators, [_tasks(timeline, track, NOTIFY_WAIT) for track in tracks[1:]]):
            name = str(timeline.names[int(timeline.name[operators.id[wait.operator]])])
            if name in known_ops:
                found.append((wait, name))
    found.sort(key=lambda one: (-one[0].wait, one[0].task))
    for wait, name in found[:_MAX_WAITS]:
        args, _ = timeline.args(wait.task)
        peer = (args or {}).get(PEER)
        if isinstance(peer, int) and not isinstance(peer, bool):
            yield _Wait(*known_ops[name], name, peer, wait.wait, wait.second, wait.is_long)


def _communicators(timeline: Any) -> Iterator[list[int]]:
    """Tracks of each communicator: its operators, then its planes, which follow it."""
    group, plane = (words.split("{0}") for words in (GROUP, PLANE))
    tracks: list[int] = []
    for number, track in enumerate(timeline.tracks):
        name = track["name"]
        if tracks and name.startswith(plane[0]):
            tracks.append(number)
            continue
        if tracks:
            yield tracks
        tracks = [number] if name.startswith(group[0]) and name.endswith(group[1]) else []
    if tracks:
        yield tracks


def _tasks(timeline: Any, track: int, name: str = "") -> Tasks:
    """Slices of a track; only those of one name if given."""
    rows = timeline.rows
    first, end = (int(rows.first[row]) for row in (rows.track_row[track], rows.track_row[track + 1]))
    ids = np.arange(first, end, dtype=np.int64)
    if name:
        numbers = [number for number in np.unique(timeline.name[first:end]).tolist() if timeline.names[number] == name]
        ids = ids[np.isin(timeline.name[first:end], numbers)]
    ids = ids[np.argsort(rows.start[ids], kind="stable")]
    return Tasks(np.asarray(rows.start[ids]), np.asarray(rows.dur[ids]), ids)


def _group_sizes(links: Table | None) -> dict[Optional[str], int]:
    """Lower bound of each group's size, from its links."""
    out: dict[Optional[str], int] = {}
    if links is not None:
        ends = np.maximum(links.ints("src"), links.ints("dst"))
        for group, end in zip(links.text("group").tolist(), ends.tolist()):
            out[group] = max(out.get(group, 0), end + 1 if end != NULL_INT else 0)
    return out
