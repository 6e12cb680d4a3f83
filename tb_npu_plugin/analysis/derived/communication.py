"""Communication, by part: waiting for a late rank, synchronization, transfer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.communication.statistics import time_parts
from tb_npu_plugin.analysis.communication.waiting import Waits
from tb_npu_plugin.analysis.derived.model import DerivedInput, Facts, SliceRow
from tb_npu_plugin.analysis.parts import COMMUNICATION, Part
from tb_npu_plugin.intervals import Intervals, merge, subtract, union
from tb_npu_plugin.messages import Message
from tb_npu_plugin.tables import IntArray, Table, known

#: Communication whose parts the trace does not show.
_UNSPLIT = Part("unsplit", Message("derived.communication.unsplit"), COMMUNICATION["rest"].color)


def rows(source: DerivedInput) -> Sequence[SliceRow]:
    """One row for all communication operators of the rank; none without their times.

    Each moment has one part: waiting for a late rank first, then synchronization, then transfer. So the waiting is that of
    the other views. Synchronization ends with the first transfer of an operator, and transfer with the operator.
    """
    run, timeline = source.communication, source.timeline
    for at, table in enumerate(run.collectives):
        if table is None or not len(table) or run.lines[at].comm_ops is None:
            continue
        pieces = _pieces(table, run.waits[at], run.names_of_last(at))
        return [_row(pieces, timeline.base_ns)] if pieces else []
    return []


@dataclass(frozen=True)
class _Piece:
    """A part that occurs. times: ns since the epoch; late: the rank that is waited for, "5" or "local 5"; "" without one."""

    part: Part
    times: Intervals
    late: str = ""


def _pieces(ops: Table, waits: Waits, names: Sequence[Optional[str]]) -> list[_Piece]:
    """The parts that occur. Each moment is in one of them. waits, names: of each row of ops."""
    times = time_parts(ops)
    start, elapse = ops.ints("start_ns"), times["elapse_ns"]
    timed = known(start) & known(elapse)
    until = np.where(known(waits.until_transfer), waits.until_transfer, times["sync_ns"])
    is_split = timed & known(until)
    first = start + np.clip(until, 0, elapse)
    found: list[_Piece] = []
    covered = union(start[:0], start[:0])

    def add(part: Part, chosen: NDArray[np.bool_], begin: IntArray, end: IntArray, late: str = "") -> None:
        nonlocal covered
        own = subtract(union(begin[chosen], end[chosen]), covered)
        if len(own.start):
            found.append(_Piece(part, own, late))
            covered = merge(covered, own)

    waiting, rank = timed & (waits.time > 0), np.array([name or "" for name in names])
    for name in np.unique(rank[waiting]).tolist():
        add(_waiting(name), waiting & (rank == name), waits.start, waits.start + waits.time, name)
    add(COMMUNICATION["before_transfer"], is_split, start, first)
    add(COMMUNICATION["transfer"], is_split, first, start + elapse)
    add(_UNSPLIT, timed, start, start + elapse)
    return found


def _waiting(rank: str) -> Part:
    """rank: "5", "local 5", "" if unknown."""
    name = f"rank {rank}" if rank.isdigit() else rank
    text = Message("derived.communication.waiting", rank=name) if name else Message("derived.communication.waiting_any")
    return Part(f"waiting {rank}".strip(), text, COMMUNICATION["waiting"].color)


def _row(pieces: Sequence[_Piece], base_ns: int) -> SliceRow:
    start, end = (np.concatenate([getattr(one.times, key) for one in pieces]) - base_ns for key in ("start", "end"))
    part = np.repeat(np.arange(len(pieces)), [len(one.times.start) for one in pieces])
    order = np.argsort(start, kind="stable")
    part = part[order]

    def facts(index: int) -> Facts:
        late = pieces[int(part[index])].late
        return Facts(late_rank=int(late) if late.isdigit() else None)

    return SliceRow(
        "communication",
        Message("derived.communication"),
        Message("derived.communication.help"),
        start[order],
        end[order],
        part,
        [one.part for one in pieces],
        facts,
        "distributed",
    )
