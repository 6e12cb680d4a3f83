"""Communication with each peer: when tasks of the planes wait for it, and when they move data to or from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Optional

import numpy as np

from tb_npu_plugin.analysis.communication.first_waits import communicators
from tb_npu_plugin.analysis.derived.model import DerivedInput, SliceRow
from tb_npu_plugin.analysis.parts import COMMUNICATION, Part
from tb_npu_plugin.intervals import Intervals, subtract, union
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import Timeline
from tb_npu_plugin.schema.trace_events import GROUP, NO_RANK, NOTIFY, NOTIFY_WAIT, PEER, SOURCE
from tb_npu_plugin.tables import IntArray

#: Most rows: those of the peers with the longest tasks.
MAX_PEERS = 64
#: Tasks whose arguments are in memory together.
_AT_ONCE = 1 << 16
_PARTS = (
    Part("move", Message("derived.peer.move"), COMMUNICATION["transfer"].color),
    Part("wait", Message("derived.peer.wait"), COMMUNICATION["waiting"].color),
)
#: Rank of the job, or group and number inside the group.
Peer = tuple[Optional[int], str, int]


def rows(source: DerivedInput) -> Sequence[SliceRow]:
    """One row per peer, by rank; none without tasks that name their ranks."""
    times: dict[Peer, tuple[list[IntArray], list[IntArray]]] = {}
    for group, is_wait, peers, ids in _tasks(source.timeline):
        for number in np.unique(peers[peers >= 0]).tolist():
            rank = source.communication.rank_of(group, number)
            peer = (None, group, number) if rank is None else (rank, "", -1)
            times.setdefault(peer, ([], []))[int(is_wait)].append(ids[peers == number])
    found = sorted(times.items(), key=lambda one: -sum(map(len, (*one[1][0], *one[1][1]))))
    chosen = sorted(found[:MAX_PEERS], key=lambda one: (one[0][0] is None, one[0]))
    return [
        _row(source.timeline, peer, _union(source.timeline, moves), _union(source.timeline, waits))
        for peer, (moves, waits) in chosen
    ]


def _tasks(timeline: Timeline) -> Iterator[tuple[str, bool, IntArray, IntArray]]:
    """(group, whether they wait, number of the peer inside the group or -1, slices) of the tasks of each plane."""
    before, after = GROUP.split("{0}")
    for group, *planes in communicators(timeline):
        name = timeline.tracks[group]["name"].removeprefix(before).removesuffix(after)
        for plane in planes:
            low, high = timeline.rows.first[timeline.rows.track_row[plane : plane + 2]].tolist()
            ids = np.arange(low, high, dtype=np.int64)
            codes = np.unique(timeline.name[low:high])
            names = [str(timeline.names[code]) for code in codes.tolist()]
            waits = codes[[one == NOTIFY_WAIT for one in names]]
            moves = codes[[not one.startswith(NOTIFY) for one in names]]
            for is_wait, kind in ((False, moves), (True, waits)):
                chosen = ids[np.isin(timeline.name[low:high], kind)]
                yield name, is_wait, _peers(timeline, chosen), chosen


def _peers(timeline: Timeline, tasks: IntArray) -> IntArray:
    """Number of the other rank inside the group; -1 where a task names none."""
    found: list[int] = []
    for start in range(0, len(tasks), _AT_ONCE):
        for args in timeline.args_of(tasks[start : start + _AT_ONCE]):
            found.append(_peer(args or {}))
    return np.array(found, dtype=np.int64)


def _peer(args: dict[str, Any]) -> int:
    other = args.get(PEER)
    if not isinstance(other, int) or isinstance(other, bool) or not 0 <= other < NO_RANK:
        return -1
    return -1 if other == args.get(SOURCE) else other


def _union(timeline: Timeline, ids: Sequence[IntArray]) -> Intervals:
    found = np.concatenate([np.zeros(0, dtype=np.int64), *ids])
    start = np.asarray(timeline.rows.start[found])
    return union(start, start + timeline.rows.dur[found])


def _row(timeline: Timeline, peer: Peer, moves: Intervals, waits: Intervals) -> SliceRow:
    """Each moment has one part: moving first."""
    waits = subtract(waits, moves)
    start, end = (np.concatenate([getattr(moves, key), getattr(waits, key)]) for key in ("start", "end"))
    part = np.repeat([0, 1], [len(moves.start), len(waits.start)])
    order = np.argsort(start, kind="stable")
    rank, group, number = peer
    title = (
        Message("derived.peer", rank=rank)
        if rank is not None
        else Message("derived.peer.local", number=number, group=group)
    )
    return SliceRow(
        "peer", title, Message("derived.peer.help"), start[order], end[order], part[order], _PARTS, view="distributed"
    )
