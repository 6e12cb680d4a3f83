"""Follows waits to their roots: what did the awaited rank do meanwhile? If it waited too, its wait is followed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Optional

import numpy as np

from tb_npu_plugin import intervals
from tb_npu_plugin.analysis.communication.clocks import Clock
from tb_npu_plugin.analysis.communication.waiting import Waits
from tb_npu_plugin.analysis.kernels.kinds import is_communication
from tb_npu_plugin.analysis.run.devices import RankDevice
from tb_npu_plugin.analysis.run.fused import FusedWaits
from tb_npu_plugin.intervals import Coverage, Intervals
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS
from tb_npu_plugin.tables import IntArray, Table, known

# Waits of point-to-point operations that both ranks recorded, and clocks by such operations.

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
    clocks: Sequence[Clock], calls: Sequence[tuple[Call, Call]], fused: Mapping[tuple[int, int], Sequence[int]]
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


#: What a rank does at the end of a chain of waits. "unknown": its kernels have no times; it neither waits nor communicates.
#: "unprofiled": it was not profiled. "error": what it does is not resolved. Its own waits are unknown, its clock cannot be aligned, or
#: clocks disagree, so that ranks seem to wait for each other.
EndKind = Literal["computing", "idle", "transfer", "unknown", "unprofiled", "error"]
#: A wait of a line: in a communication operator, by its row; or inside a kernel, by its number in FusedWaits.
LineWait = tuple[Literal["operator", "kernel"], int]
#: Longest chain that is followed.
_MOST_LINKS = 32


class End(NamedTuple):
    """What a rank did at the end of a chain. line: its index, -1 if it was not profiled; rank: None if unknown."""

    line: int
    rank: Optional[int]
    kind: EndKind


#: The ends of the chains of a wait, ns each.
Ends = Counter[End]


class _Wait(NamedTuple):
    """A wait of a line, ns by its own clock. owner: index of the awaited line; -1 for an unprofiled rank."""

    start: int
    end: int
    owner: int
    rank: Optional[int]
    which: LineWait


class ChainLine:
    """What a line does over time, ns since the epoch by its own clock.

    Args:
        clock: (line whose clock its own is aligned to, offset against it, ns).
        ops: Its communication operators.
        awaited: Rank that each operator waits for directly, by the rows that wait.
    """

    def __init__(
        self,
        line: RankDevice,
        clock: tuple[int, int],
        ops: Optional[Table],
        waits: Waits,
        awaited: Mapping[int, Optional[int]],
        fused: Optional[FusedWaits],
    ) -> None:
        self.rank, (self.root, self.offset) = line.span.capture.rank, clock
        computing = line.computing() if fused is None else fused.computing
        self.is_recorded = computing is not None
        self.computing = intervals.EMPTY if computing is None else computing
        found = [*_waits_of(waits, awaited), *_waits_inside(fused)]
        self.waits = sorted(found, key=lambda one: (one.start, one.end))
        self._starts = np.array([one.start for one in self.waits], dtype=np.int64)
        self._reached = np.maximum.accumulate(np.array([one.end for one in self.waits], dtype=np.int64))
        self._computes = Coverage(self.computing)
        self._communicates = Coverage(intervals.subtract(_communication(line, ops), self.computing))
        unclear = intervals.EMPTY if ops is None else _times(ops, "elapse_ns", np.flatnonzero(~known(waits.time)))
        self._unclear = Coverage(intervals.subtract(unclear, self.computing))

    def computes(self, start: int, end: int) -> int:
        """Computing time in a range."""
        return _inside(self._computes, start, end)

    def communicates(self, start: int, end: int) -> int:
        """Exposed communication in a range."""
        return _inside(self._communicates, start, end)

    def may_wait(self, start: int, end: int) -> int:
        """Exposed communication in a range by operators whose waits are unknown."""
        return _inside(self._unclear, start, end)

    def waits_in(self, start: int, end: int) -> Iterator[tuple[int, int, _Wait]]:
        """(start, end, wait) of the exposed waits in a range. They do not overlap."""
        reached = start
        first = int(np.searchsorted(self._reached, start, side="right"))
        for wait in self.waits[first : int(np.searchsorted(self._starts, end))]:
            begin, stop = max(reached, wait.start), min(end, wait.end)
            if begin < stop:
                reached = stop
                piece = Intervals(np.array([begin]), np.array([stop]))
                exposed = intervals.subtract(piece, self.computing)
                yield from ((low, high, wait) for low, high in zip(exposed.start.tolist(), exposed.end.tolist()))


def follow(lines: Sequence[ChainLine]) -> list[dict[LineWait, Ends]]:
    """Where the exposed waits of each line end."""
    return [_of_line(lines, at) for at in range(len(lines))]


def _waits_of(waits: Waits, awaited: Mapping[int, Optional[int]]) -> Iterator[_Wait]:
    for row, rank in awaited.items():
        start = int(waits.start[row])
        yield _Wait(start, start + int(waits.time[row]), int(waits.owner[row]), rank, ("operator", row))


def _waits_inside(waits: Optional[FusedWaits]) -> Iterator[_Wait]:
    if waits is not None:
        for number, (start, end, owner) in enumerate(
            zip(*(one.tolist() for one in (waits.start, waits.end, waits.owner)))
        ):
            yield _Wait(start, end, owner, None, ("kernel", number))


def _inside(coverage: Coverage, start: int, end: int) -> int:
    before, after = coverage.until(np.array([start, end], dtype=np.int64)).tolist()
    return int(after - before)


def _communication(line: RankDevice, ops: Optional[Table]) -> Intervals:
    """Times in which a line communicates: by its kernels, else by its operators."""
    kernels = line.kernels()
    if kernels is not None:
        return _times(kernels, "dur_ns", np.flatnonzero(is_communication(kernels)))
    return intervals.EMPTY if ops is None else _times(ops, "elapse_ns", np.arange(len(ops)))


def _times(table: Table, length: str, rows: IntArray) -> Intervals:
    """Times of the rows that have some. length: column."""
    start, took = table.ints("start_ns")[rows], table.ints(length)[rows]
    timed = known(start) & known(took)
    return intervals.union(start[timed], start[timed] + took[timed])


def _of_line(lines: Sequence[ChainLine], at: int) -> dict[LineWait, Ends]:
    waits, out = lines[at].waits, dict[LineWait, Ends]()
    if waits:
        for start, end, wait in lines[at].waits_in(waits[0].start, max(one.end for one in waits)):
            _follow(lines, at, wait, start, end, out.setdefault(wait.which, Ends()), 0)
    return {which: +ends for which, ends in out.items()}


def _follow(lines: Sequence[ChainLine], at: int, wait: _Wait, start: int, end: int, ends: Ends, links: int) -> None:
    """Add to `ends` what the awaited line did while the line `at` waited for it.

    start, end: of the wait or of a part of it, by the clock of `at`. links: waits of the chain that were followed before.
    """
    owner = wait.owner
    if owner < 0:
        ends[End(-1, wait.rank, "unprofiled")] += end - start
        return
    line, shift = lines[owner], lines[owner].offset - lines[at].offset

    def add(kind: EndKind, ns: int) -> None:
        ends[End(owner, line.rank, kind)] += ns

    if links == _MOST_LINKS or line.root != lines[at].root:
        add("error", end - start)
        return
    start, end = start + shift, end + shift
    computes, communicates = line.computes(start, end), line.communicates(start, end)
    waited = 0
    for low, high, other in line.waits_in(start, end):
        waited += high - low
        _follow(lines, owner, other, low, high, ends, links + 1)
    moved = max(0, communicates - waited)
    unclear = min(moved, line.may_wait(start, end))
    add("computing", computes)
    add("transfer", moved - unclear)
    add("error", unclear)
    add("idle" if line.is_recorded else "unknown", end - start - computes - max(communicates, waited))
