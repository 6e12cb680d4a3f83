"""Waits of point-to-point operations that both ranks recorded, and clocks by such operations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tb_npu_plugin.analysis.communication.clocks import Clock
from tb_npu_plugin.analysis.communication.waiting import Waits
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS
from tb_npu_plugin.tables import Table, known

#: End of the name of a point-to-point operation, equal on both ranks: tail of the group, number of the call, graph.
_CALL = re.compile(r"__(\w+)$")
_BETWEEN_TWO = COMM_KINDS[0]


@dataclass(frozen=True)
class Call:
    """One side of a point-to-point operation, ns since the epoch by the clock of its line."""

    line: int
    row: int
    start: int
    end: int


@dataclass(frozen=True)
class Roots:
    """Clocks of the lines.

    Attributes:
        root: Index of the reference line of each line. Only lines with the same root can be compared.
        offset: Clock of each line minus the clock of its root, ns.
    """

    root: list[int]
    offset: list[int]


def matched_calls(tables: Sequence[Table | None]) -> list[tuple[Call, Call]]:
    """Both sides of each point-to-point operation that exactly two lines recorded."""
    calls: dict[tuple[str | None, str | None, str], list[Call]] = {}
    for at, table in enumerate(tables):
        for key, call in _calls(at, table):
            calls.setdefault(key, []).append(call)
    return [(one[0], one[1]) for one in calls.values() if len(one) == 2 and one[0].line != one[1].line]


def _calls(at: int, table: Table | None) -> Iterator[tuple[tuple[str | None, str | None, str], Call]]:
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
            yield key, Call(at, row, int(start[row]), int(start[row] + elapse[row]))


def roots_of(
    clocks: Sequence[Clock],
    calls: Sequence[tuple[Call, Call]],
    fused: Mapping[tuple[int, int], Sequence[int]],
) -> Roots:
    """The clocks by collectives, else by point-to-point operations and fused kernels.

    Both ranks end a point-to-point operation at about the same time: the difference is less than a transfer. fused: differences
    of the ends of fused kernels by pair of lines.
    """
    root, offset = [clock.reference for clock in clocks], [clock.offset for clock in clocks]
    ends = {pair: list(differences) for pair, differences in fused.items()}
    for one, other in calls:
        ends.setdefault((one.line, other.line), []).append(other.end - one.end)
    for (first, second), differences in sorted(ends.items()):
        if root[first] != root[second]:
            shift = offset[first] + round(float(np.median(differences))) - offset[second]
            moved = [at for at, own in enumerate(root) if own == root[second]]
            for at in moved:
                root[at], offset[at] = root[first], offset[at] + shift
    return Roots(root, offset)


def add_waits(waits: Sequence[Waits], calls: Sequence[tuple[Call, Call]], clocks: Roots) -> None:
    """Add the waits of both sides of each operation to those of the lines: each waits until the other one starts."""
    root, offset = clocks.root, clocks.offset
    for pair in calls:
        if root[pair[0].line] == root[pair[1].line]:
            for own, peer in (pair, pair[::-1]):
                found, arrival = waits[own.line], peer.start - offset[peer.line] + offset[own.line]
                found.time[own.row] = max(0, min(arrival, own.end) - own.start)
                found.start[own.row], found.owner[own.row] = own.start, peer.line
