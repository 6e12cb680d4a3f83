"""When the members of a group arrive at a collective."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Optional

import numpy as np

from tb_npu_plugin.analysis.communication.first_waits import peer_waits
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.intervals import overlaps
from tb_npu_plugin.model import timeline_of
from tb_npu_plugin.tables import IntArray

#: Number of collectives, of ranks of one that are asked for their peers, and of members.
_MOST, _OBSERVERS, _MEMBERS = 64, 8, 1024
#: A wait below this time shows that the peer arrived before, ns.
_LEAST_SEEN_NS = 1_000

#: "start": the rank was profiled. "wait": a profiled rank waits for its notification. "before": a profiled rank does not wait
#: for it, so it arrives at that time or earlier. "unknown": nothing shows it.
ArrivalSource = Literal["start", "wait", "before", "unknown"]


@dataclass(frozen=True)
class Arrival:
    """A member of the group."""

    rank: Optional[int]
    """Rank in the job; null if unknown."""
    peer: Optional[int]
    """Number inside the group; null if unknown."""
    after: Optional[int]
    """Time after the first known arrival, ns; null if unknown."""
    source: ArrivalSource
    """How it is known."""


@dataclass(frozen=True)
class CollectiveArrivals:
    """Arrivals at one collective."""

    step: Optional[str]
    """Step number."""
    group: Optional[str]
    """Communication group."""
    operator: str
    """Communication operator."""
    wait: int
    """Longest wait of a profiled rank, ns."""
    error: int
    """Largest error of the aligned clocks, ns."""
    arrivals: list[Arrival]
    """By rank."""


@dataclass(frozen=True)
class RankClock:
    """Clock of a rank, compared with that of another one by the ends of collectives."""

    rank: Optional[int]
    """Rank in the job."""
    reference: Optional[int]
    """The other rank."""
    offset: int
    """This clock less the other, ns: median over the collectives."""
    error: int
    """Median absolute deviation, ns."""
    low: int
    """Smallest offset, ns."""
    high: int
    """Largest offset, ns."""
    collectives: int
    """Number of collectives that both ranks run."""


def clocks_of(run: RunCommunication) -> list[RankClock]:
    """The clocks that could be aligned."""
    rank = [line.span.capture.rank for line in run.lines]
    return [
        RankClock(rank[at], rank[one.reference], one.offset, one.error, one.low, one.high, one.collectives)
        for at, one in enumerate(run.clocks)
        if one.reference != at
    ]


def arrivals_of(run: RunCommunication, range_ns: Optional[tuple[int, int]] = None) -> list[CollectiveArrivals]:
    """The collectives with the longest waits at which two arrivals or more are known, in order of time: of each step as many,
    at most 64. range_ns: only those that overlap [start, end), ns since the epoch, by the clock of a rank."""
    found = [_arrivals(run, rows) for rows in longest_collectives(run, range_ns)]
    return [one for one in found if sum(arrival.after is not None for arrival in one.arrivals) > 1]


def longest_collectives(run: RunCommunication, range_ns: Optional[tuple[int, int]] = None) -> Iterable[IntArray]:
    """Rows of `run.matched` of each of the collectives with the longest waits, in order of time: of each step as many, at most
    64. range_ns: as in `arrivals_of`."""
    found = run.matched
    waits = run.waits
    time = np.zeros(len(found.owner), dtype=np.int64)
    for owner, one in enumerate(waits):
        own = found.owner == owner
        time[own] = one.time[found.row[own]]
    start, elapse, steps = found.rows.ints("start_ns"), found.rows.ints("elapse_ns"), found.rows.text("step")
    is_inside = np.ones(len(start), dtype=bool) if range_ns is None else overlaps(start, elapse, *range_ns)
    order = np.argsort(found.number, kind="stable")
    order = order[found.number[order] >= 0]
    bounds = np.flatnonzero(np.diff(found.number[order], prepend=-1))
    collectives = np.split(order, bounds[1:]) if len(order) else []
    by_step: dict[int, list[tuple[int, IntArray]]] = {}
    for rows in collectives:
        score = max(int(time[rows].max()), int(elapse[rows].max() - elapse[rows].min()))
        if score > 0 and is_inside[rows].any():
            by_step.setdefault(int(steps.codes[rows[0]]), []).append((score, rows))
    each = max(1, _MOST // max(1, len(by_step)))
    chosen = [one for many in by_step.values() for one in sorted(many, key=lambda one: -one[0])[:each]]
    chosen = sorted(chosen, key=lambda one: -one[0])[:_MOST]
    return [rows for _, rows in sorted(chosen, key=lambda one: int(start[one[1]].min()))]


def _arrivals(run: RunCommunication, rows: IntArray) -> CollectiveArrivals:
    found, clocks = run.matched, run.clocks
    group, operator = found.rows.text("group")[int(rows[0])], found.rows.text("name")[int(rows[0])]
    owners = found.owner[rows].tolist()
    reference = clocks[owners[0]].reference
    starts = {
        owner: start - clocks[owner].offset
        for owner, start in zip(owners, found.rows.ints("start_ns")[rows].tolist())
        if clocks[owner].reference == reference
    }
    row_of = dict(zip(owners, found.row[rows].tolist()))
    members = _members(run, group, owners)
    times: dict[Optional[int], tuple[int, ArrivalSource]] = {
        run.lines[owner].span.capture.rank: (start, "start") for owner, start in starts.items()
    }
    shown = _shown_peers(run, group, starts, row_of)
    for rank, arrival in shown.items():
        times.setdefault(rank, arrival)
    first = min(time for time, source in times.values() if source != "before")
    return CollectiveArrivals(
        step=found.rows.text("step")[int(rows[0])],
        group=group,
        operator=operator or "",
        wait=max(0, *(int(run.waits[owner].time[row]) for owner, row in row_of.items())),
        error=max(clocks[owner].error for owner in starts),
        arrivals=[
            Arrival(rank if rank is None or rank >= 0 else None, peer, max(0, times[rank][0] - first), times[rank][1])
            if rank in times
            else Arrival(rank if rank is None or rank >= 0 else None, peer, None, "unknown")
            for rank, peer in members
        ],
    )


def _members(
    run: RunCommunication, group: Optional[str], owners: list[int]
) -> list[tuple[Optional[int], Optional[int]]]:
    """(rank, number inside the group) of each member. A member of unknown rank has the rank -1 - number."""
    size = min(run.group_size(group), _MEMBERS)
    local = [(_key(run, group, peer), peer) for peer in range(size)]
    known_ranks = {rank for rank, _ in local}
    others = [run.lines[owner].span.capture.rank for owner in owners]
    return [*local, *((rank, None) for rank in others if rank not in known_ranks)]


def _key(run: RunCommunication, group: Optional[str], peer: int) -> int:
    rank = run.rank_of(group, peer)
    return -1 - peer if rank is None else rank


def _shown_peers(
    run: RunCommunication, group: Optional[str], starts: dict[int, int], row_of: dict[int, int]
) -> dict[int, tuple[int, ArrivalSource]]:
    """Arrivals of peers in the traces of the ranks that arrive first."""
    out: dict[int, tuple[int, ArrivalSource]] = {}
    for owner in sorted(starts, key=lambda owner: starts[owner])[:_OBSERVERS]:
        wait = run.wait_of(owner, row_of[owner])
        for peer, time in peer_waits(timeline_of(run.lines[owner].span), wait) if wait is not None else ():
            rank, is_seen = _key(run, group, peer), time >= _LEAST_SEEN_NS
            if rank not in out or (is_seen and out[rank][1] == "before"):
                out[rank] = (starts[owner] + (time if is_seen else 0), "wait" if is_seen else "before")
    return out
