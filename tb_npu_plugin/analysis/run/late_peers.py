"""Finds unprofiled ranks that arrive last at collectives, from the traces of profiled ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from tb_npu_plugin.analysis.communication.first_waits import CollectiveWait
from tb_npu_plugin.analysis.run.communication import RunCommunication


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
    start: Optional[int] = None
    """Start of the longest wait, ns since the epoch."""


def late_peers(run: RunCommunication) -> list[LatePeer]:
    """Waits of each profiled rank for unprofiled ranks, by step and late rank. Only for spans whose trace is read
    completely. None if another capture has no rank number: it may be the awaited rank."""
    if run.is_whole or run.has_unnumbered:
        return []
    out: list[LatePeer] = []
    for at, (line, ops, found) in enumerate(zip(run.lines, run.collectives, run.first_waits)):
        if found is None or ops is None:
            continue
        steps, groups = ops.text("step"), ops.text("group")
        waits: dict[tuple[Optional[str], Optional[str], int], list[CollectiveWait]] = {}
        for wait in found:
            if wait.wait and wait.peer is not None and not run.may_wait_in_turn(at, groups[wait.row], wait.peer):
                waits.setdefault((steps[wait.row], groups[wait.row], wait.peer), []).append(wait)
        for (step, group, peer), of_peer in waits.items():
            rank = run.rank_of(group, peer)
            if rank is None or rank not in run.profiled:
                longest = max(of_peer, key=lambda one: one.wait)
                total = sum(one.wait for one in of_peer)
                saved = total - sum(one.second for one in of_peer)
                figures = (longest.operator, longest.wait, total, saved, len(of_peer))
                out.append(LatePeer(line.span.capture.rank, step, group, *figures, peer, rank, longest.start))
    return out
