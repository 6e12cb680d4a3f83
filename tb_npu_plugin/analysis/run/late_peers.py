"""Finds unprofiled ranks that arrive last at collectives, from the traces of profiled ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from tb_npu_plugin.analysis.communication.lateness import Tasks, longest_first_waits
from tb_npu_plugin.analysis.ranks.world import WorldRanks
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS
from tb_npu_plugin.schema.trace_events import GROUP, NOTIFY_WAIT, PEER, PLANE
from tb_npu_plugin.tables import NULL_INT, Table


@dataclass(frozen=True)
class LatePeer:
    """A rank that was not profiled and arrives last at a collective. It may itself wait for ranks of other groups."""

    rank: Optional[int]
    """The profiled rank that waits."""
    step: Optional[str]
    """Step number."""
    group: Optional[str]
    """Communication group."""
    operator: str
    """Communication operator."""
    wait: int
    """Longest wait in one stretch, ns."""
    peer: int
    """The late rank's number inside the group."""
    peer_rank: Optional[int]
    """The late rank in the job; null if not recorded."""


_BETWEEN_TWO = COMM_KINDS[0]
#: Number of longest waits examined per rank and step: each reads a part of the trace.
_MAX_WAITS = 8


def late_peers(spans: Sequence[SpanData], ranks: WorldRanks, world_size: Optional[int]) -> list[LatePeer]:
    """The longest wait of each profiled rank and step for an unprofiled rank. Only for spans whose trace is read
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
        for name, step, group, wait, peer in _waits(timeline, ops):
            rank = ranks.of(group, peer)
            if rank is None and sizes.get(group) == world_size:
                rank = peer  # in the group of all ranks, local and world rank are equal
            if rank is None or rank not in recorded:
                out.append(LatePeer(span.capture.rank, step, group, name, wait, peer, rank))
    return out


def _waits(timeline: Any, ops: Table) -> Iterator[tuple[str, Optional[str], Optional[str], int, int]]:
    """(operator, step, group, ns, peer inside the group) of the longest waits of each step."""
    columns = (ops.text(key).tolist() for key in ("name", "kind", "step", "group"))
    known_ops = {name: (step, group) for name, kind, step, group in zip(*columns) if kind != _BETWEEN_TWO}
    found: dict[Optional[str], list[tuple[int, int, str, Optional[str]]]] = {}
    for tracks in _communicators(timeline):
        operators = _tasks(timeline, tracks[0])
        for place, task in longest_first_waits(
            operators, [_tasks(timeline, track, NOTIFY_WAIT) for track in tracks[1:]]
        ):
            name = str(timeline.names[int(timeline.name[operators.id[place]])])
            if name in known_ops:
                step, group = known_ops[name]
                found.setdefault(step, []).append((int(timeline.rows.dur[task]), task, name, group))
    for step, waits in found.items():
        for wait, task, name, group in sorted(waits, reverse=True, key=lambda one: one[:2])[:_MAX_WAITS]:
            args, _ = timeline.args(task)
            peer = (args or {}).get(PEER)
            if isinstance(peer, int) and not isinstance(peer, bool):
                yield name, step, group, wait, peer


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
