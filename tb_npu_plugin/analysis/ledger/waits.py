"""When a rank waits for another one: at collectives, and at sends and receives that both ranks recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS
from tb_npu_plugin.tables import NULL_INT, IntArray, Table, known

#: End of a name that both ranks of a point-to-point operation write: tail of the group, number of the call, graph.
_CALL = re.compile(r"__(\w+)$")
_BETWEEN_TWO = COMM_KINDS[0]


@dataclass(frozen=True)
class RankWaits:
    """Waits of one line, ns since the epoch by its own clock, sorted by start. Arrays of equal length.

    Attributes:
        start, end: The wait.
        row: Row of the line's collectives.
        owner: Index of the awaited line; -1 if the rank was not profiled.
        is_p2p: Whether the operation is between two ranks.
    """

    start: IntArray
    end: IntArray
    row: IntArray
    owner: IntArray
    is_p2p: IntArray


def waits_of_run(run: RunCommunication) -> list[RankWaits]:
    """The waits of each line."""
    pairs = _pairs(run)
    return [_of_line(run, at, pairs[at]) for at in range(len(run.lines))]


def _of_line(run: RunCommunication, at: int, pairs: dict[int, tuple[int, int]]) -> RankWaits:
    table, waits = run.collectives[at], run.waits_for_last[at]
    if table is None:
        return RankWaits(*(np.zeros(0, dtype=np.int64) for _ in range(5)))
    begin, elapse = table.ints("start_ns"), table.ints("elapse_ns")
    found: list[tuple[int, int, int, int, int]] = []
    for row in np.flatnonzero((waits.time > 0) & known(waits.start)).tolist():
        start = int(begin[row]) if begin[row] != NULL_INT else int(waits.start[row])
        found.append((start, int(waits.start[row] + waits.time[row]), row, int(waits.owner[row]), 0))
    for row, (owner, peer_start) in pairs.items():
        start, end = int(begin[row]), int(begin[row] + elapse[row])
        if peer_start > start:
            found.append((start, min(peer_start, end), row, owner, 1))
    columns = np.array(sorted(found), dtype=np.int64).reshape(-1, 5).T
    return RankWaits(*columns)


def _pairs(run: RunCommunication) -> list[dict[int, tuple[int, int]]]:
    """For each line: row of a point-to-point operation -> (the peer's line, the peer's start by the clock of this line)."""
    calls: dict[tuple[str | None, str | None, str], list[tuple[int, int, int]]] = {}
    for at, table in enumerate(run.collectives):
        for key, row, start in _calls(table):
            calls.setdefault(key, []).append((at, row, start - run.clocks[at].offset))
    out: list[dict[int, tuple[int, int]]] = [{} for _ in run.lines]
    for members in calls.values():
        if len(members) == 2 and members[0][0] != members[1][0] and _are_comparable(run, *(one[0] for one in members)):
            for (at, row, _), (peer, _, start) in (members, members[::-1]):
                out[at][row] = (peer, start + run.clocks[at].offset)
    return out


def _calls(table: Table | None) -> Iterator[tuple[tuple[str | None, str | None, str], int, int]]:
    """Yield (step, group and call; row; start) of the point-to-point operations."""
    if table is None or not table.has("kind"):
        return
    rows = table.text("kind").equals(_BETWEEN_TWO) & known(table.ints("start_ns")) & known(table.ints("elapse_ns"))
    steps, groups, names = (table.text(key) for key in ("step", "group", "name"))
    for row in np.flatnonzero(rows).tolist():
        call = _CALL.search(names[row] or "")
        if call is not None:
            yield (steps[row], groups[row], call.group(1)), row, int(table.ints("start_ns")[row])


def _are_comparable(run: RunCommunication, one: int, other: int) -> bool:
    return run.clocks[one].reference == run.clocks[other].reference
