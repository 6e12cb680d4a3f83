"""Finds the waits of ranks: in collectives, and in point-to-point operations that both ranks recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.ledger.fused import RunFusedWaits, fused_waits_of
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS
from tb_npu_plugin.tables import NULL_INT, IntArray, Table, known

#: End of the name of a point-to-point operation, equal on both ranks: tail of the group, number of the call, graph.
_CALL = re.compile(r"__(\w+)$")
_BETWEEN_TWO = COMM_KINDS[0]
#: Detail of a waiting entry, "p2p" or "collective", and the awaited rank; None if unknown.
Awaited = tuple[str, Optional[int]]


@dataclass(frozen=True)
class RankWaits:
    """Waits of one line, ns since the epoch by its own clock, sorted by start.

    Attributes:
        start, end: The wait.
        row: Operator that waits: its row in the collectives of the line.
        owner: Index of the awaited line; -1 for an unprofiled rank.
        is_p2p: 1 for a point-to-point operation, else 0.
        is_known: For each row of the collectives: whether its wait is known. A known wait may be 0.
    """

    start: IntArray
    end: IntArray
    row: IntArray
    owner: IntArray
    is_p2p: IntArray
    is_known: NDArray[np.bool_]


@dataclass(frozen=True)
class RunWaits:
    """Waits of all lines, and their clocks.

    Attributes:
        lines: Waits of each line.
        root: Index of the reference line of each line. Only lines with the same root can be compared.
        offset: Clock of each line minus the clock of its root, ns.
        fused: Waits inside kernels.
    """

    lines: list[RankWaits]
    root: list[int]
    offset: list[int]
    fused: RunFusedWaits


def awaited_of(run: RunCommunication, at: int, waits: RankWaits, number: int) -> Awaited:
    """Detail and awaited rank of a wait of the line `at`."""
    owner, row, table = int(waits.owner[number]), int(waits.row[number]), run.collectives[at]
    detail = "p2p" if waits.is_p2p[number] else "collective"
    if owner >= 0:
        return detail, run.lines[owner].span.capture.rank
    rank = None if table is None else run.rank_of(table.text("group")[row], int(run.waits_for_last[at].peer[row]))
    return detail, rank


def waits_of_run(run: RunCommunication) -> RunWaits:
    """The waits of all lines."""
    calls = _matched_calls(run)
    fused = fused_waits_of(run.lines, run.world_size is None or len(run.profiled) >= run.world_size)
    root, offset = _clocks(run, calls, fused.ends)
    pairs: list[dict[int, tuple[int, int]]] = [{} for _ in run.lines]
    for one, other in calls:
        if root[one.line] == root[other.line]:
            for call, peer in ((one, other), (other, one)):
                pairs[call.line][call.row] = (peer.line, peer.start - offset[peer.line] + offset[call.line])
    return RunWaits([_of_line(run, at, pairs[at]) for at in range(len(run.lines))], root, offset, fused)


def _of_line(run: RunCommunication, at: int, pairs: dict[int, tuple[int, int]]) -> RankWaits:
    table, waits = run.collectives[at], run.waits_for_last[at]
    if table is None:
        nothing = np.zeros(0, dtype=np.int64)
        return RankWaits(nothing, nothing, nothing, nothing, nothing, np.zeros(0, dtype=bool))
    begin, elapse = table.ints("start_ns"), table.ints("elapse_ns")
    found: list[tuple[int, int, int, int, int]] = []
    for row in np.flatnonzero((waits.time > 0) & known(waits.start)).tolist():
        start = int(begin[row]) if begin[row] != NULL_INT else int(waits.start[row])
        found.append((start, int(waits.start[row] + waits.time[row]), row, _owner(run, at, row), 0))
    for row, (owner, peer_start) in pairs.items():
        start, end = int(begin[row]), int(begin[row] + elapse[row])
        if peer_start > start:
            found.append((start, min(peer_start, end), row, owner, 1))
    start_ns, end_ns, rows, owners, is_p2p = np.array(sorted(found), dtype=np.int64).reshape(-1, 5).T
    # A trace without any wait has no communication tasks. Then waits for unprofiled ranks are unknown.
    is_whole = run.world_size is None or len(run.profiled) >= run.world_size
    is_known = known(waits.time) if is_whole or run.waits[at] else np.zeros(len(table), dtype=bool)
    is_known[list(pairs)] = True
    is_known[rows] = True
    return RankWaits(start_ns, end_ns, rows, owners, is_p2p, is_known)


def _owner(run: RunCommunication, at: int, row: int) -> int:
    """Index of the line that an operator waits for; -1 if it is unknown or was not profiled."""
    waits, table = run.waits_for_last[at], run.collectives[at]
    if waits.owner[row] >= 0 or table is None:
        return int(waits.owner[row])
    rank = run.rank_of(table.text("group")[row], int(waits.peer[row]))
    lines = [at for at, line in enumerate(run.lines) if rank is not None and line.span.capture.rank == rank]
    return lines[0] if len(lines) == 1 else -1


@dataclass(frozen=True)
class _Call:
    """One side of a point-to-point operation, ns since the epoch by the clock of its line."""

    line: int
    row: int
    start: int
    end: int


def _matched_calls(run: RunCommunication) -> list[tuple[_Call, _Call]]:
    """Both sides of each point-to-point operation that exactly two lines recorded."""
    calls: dict[tuple[str | None, str | None, str], list[_Call]] = {}
    for at, table in enumerate(run.collectives):
        for key, call in _calls(at, table):
            calls.setdefault(key, []).append(call)
    return [(one[0], one[1]) for one in calls.values() if len(one) == 2 and one[0].line != one[1].line]


def _calls(at: int, table: Table | None) -> Iterator[tuple[tuple[str | None, str | None, str], _Call]]:
    """Yield ((step, group, call number), call) of each point-to-point operation of a line."""
    if table is None or not table.has("kind"):
        return
    start, elapse = table.ints("start_ns"), table.ints("elapse_ns")
    rows = table.text("kind").equals(_BETWEEN_TWO) & known(start) & known(elapse)
    steps, groups, names = (table.text(key) for key in ("step", "group", "name"))
    for row in np.flatnonzero(rows).tolist():
        call = _CALL.search(names[row] or "")
        if call is not None:
            key = steps[row], groups[row], call.group(1)
            yield key, _Call(at, row, int(start[row]), int(start[row] + elapse[row]))


def _clocks(
    run: RunCommunication, calls: Sequence[tuple[_Call, _Call]], fused: Mapping[tuple[int, int], Sequence[int]]
) -> tuple[list[int], list[int]]:
    """Root and offset of each line: by collectives, else by point-to-point operations and fused kernels.

    Both ranks end a point-to-point operation at about the same time: the difference is less than a transfer. fused: differences
    of the ends of fused kernels by pair of lines.
    """
    root, offset = [clock.reference for clock in run.clocks], [clock.offset for clock in run.clocks]
    ends = {pair: list(differences) for pair, differences in fused.items()}
    for one, other in calls:
        ends.setdefault((one.line, other.line), []).append(other.end - one.end)
    for (first, second), differences in sorted(ends.items()):
        if root[first] != root[second]:
            shift = offset[first] + round(float(np.median(differences))) - offset[second]
            moved = [at for at, own in enumerate(root) if own == root[second]]
            for at in moved:
                root[at], offset[at] = root[first], offset[at] + shift
    return root, offset
