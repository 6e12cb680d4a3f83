"""Follows waits to their roots: what did the awaited rank do meanwhile? If it waited too, its wait is followed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tb_npu_plugin.analysis import intervals
from tb_npu_plugin.analysis.intervals import Coverage, Intervals
from tb_npu_plugin.analysis.kernels.statistics import is_communication
from tb_npu_plugin.analysis.ledger.model import EndKind
from tb_npu_plugin.analysis.ledger.waits import RunWaits
from tb_npu_plugin.analysis.run.communication import RunCommunication, computing_times
from tb_npu_plugin.tables import IntArray, Table, known

#: (index of the line, rank, what it does). Profiled ranks: the line, with rank -1. Unprofiled ranks: line -1, with the
#: rank or -1 if unknown.
End = tuple[int, int, EndKind]
#: Longest chain that is followed.
_MOST_LINKS = 32


@dataclass(frozen=True)
class Chains:
    """Exposed waiting of each line by the end of its chain, ns."""

    of_line: Sequence[Counter[End]]

    @cached_property
    def total(self) -> Counter[End]:
        """Sum over all lines."""
        return sum(self.of_line, Counter())


def chains_of(run: RunCommunication, waits: RunWaits) -> Chains:
    """Follow all waits of a run."""
    lines = [_Line(run, at, waits) for at in range(len(run.lines))]
    return Chains([_of_line(run, lines, at) for at in range(len(lines))])


class _Line:
    """What a line does over time, ns since the epoch by its own clock."""

    def __init__(self, run: RunCommunication, at: int, waits: RunWaits) -> None:
        self.offset, own, fused = waits.offset[at], waits.lines[at], waits.fused.get(at)
        computing = computing_times(run.lines[at]) if fused is None else fused.computing
        self.is_recorded = computing is not None
        self.computing = intervals.EMPTY if computing is None else computing
        found = np.stack([own.start, own.end, own.owner, own.row])
        if fused is not None:
            inside = np.stack([fused.start, fused.end, fused.owner, np.full(len(fused.start), -1)])
            found = np.concatenate([found, inside], axis=1)
            found = found[:, np.argsort(found[0], kind="stable")]
        #: (start, end, awaited line, row of the collective or -1) of each wait, by start.
        self.waits: IntArray = found
        communication = _communication(run, at)
        self._computes = Coverage(self.computing)
        self._communicates = Coverage(intervals.subtract(communication, self.computing))

    def computes(self, start: int, end: int) -> int:
        """Computing time in a range."""
        return _inside(self._computes, start, end)

    def communicates(self, start: int, end: int) -> int:
        """Exposed communication in a range."""
        return _inside(self._communicates, start, end)

    def waits_in(self, start: int, end: int) -> list[tuple[int, int, int, int]]:
        """(start, end, awaited line, row) of the exposed waits in a range. They do not overlap."""
        (begins, stops, owners, rows), out, reached = self.waits, [], start
        first = int(np.searchsorted(np.maximum.accumulate(stops), start, side="right")) if len(stops) else 0
        for at in range(first, int(np.searchsorted(begins, end))):
            begin, stop = max(reached, int(begins[at])), min(end, int(stops[at]))
            if begin < stop:
                reached = stop
                piece = Intervals(np.array([begin]), np.array([stop]))
                exposed = intervals.subtract(piece, self.computing)
                out += [
                    (low, high, int(owners[at]), int(rows[at]))
                    for low, high in zip(exposed.start.tolist(), exposed.end.tolist())
                ]
        return out


def _inside(coverage: Coverage, start: int, end: int) -> int:
    before, after = coverage.until(np.array([start, end], dtype=np.int64)).tolist()
    return int(after - before)


def _communication(run: RunCommunication, at: int) -> Intervals:
    """Times in which a line communicates: by its kernels, else by its operators."""
    kernels = run.lines[at].kernels()
    table: Table | None = None if kernels is None else kernels.take(is_communication(kernels))
    key = "dur_ns"
    if table is None:
        table, key = run.collectives[at], "elapse_ns"
    if table is None:
        return intervals.EMPTY
    start, took = table.ints("start_ns"), table.ints(key)
    timed: IntArray = np.flatnonzero(known(start) & known(took))
    return intervals.union(start[timed], start[timed] + took[timed])


def _of_line(run: RunCommunication, lines: Sequence[_Line], at: int) -> Counter[End]:
    line, ends = lines[at], Counter[End]()
    if line.waits.size:
        low, high = int(line.waits[0].min()), int(line.waits[1].max())
        for start, end, owner, row in line.waits_in(low, high):
            _follow(run, lines, at, owner, row, start, end, ends, 0)
    return ends


def _follow(
    run: RunCommunication,
    lines: Sequence[_Line],
    at: int,
    owner: int,
    row: int,
    start: int,
    end: int,
    ends: Counter[End],
    links: int,
) -> None:
    """Add to `ends` what the line `owner` did while the line `at` waited for it.

    row: operator of `at`. start, end: by the clock of `at`. links: waits of the chain that were followed before.
    """
    if owner < 0:
        table = run.collectives[at]
        peer = int(run.waits_for_last[at].peer[row])
        rank = None if table is None else run.rank_of(table.text("group")[row], peer)
        ends[-1, -1 if rank is None else rank, "unprofiled"] += end - start
        return
    if links == _MOST_LINKS:
        ends[owner, -1, "error"] += end - start
        return
    line, shift = lines[owner], lines[owner].offset - lines[at].offset
    start, end = start + shift, end + shift
    computes, communicates = line.computes(start, end), line.communicates(start, end)
    waited = 0
    for low, high, other, place in line.waits_in(start, end):
        waited += high - low
        _follow(run, lines, owner, other, place, low, high, ends, links + 1)
    ends[owner, -1, "computing"] += computes
    ends[owner, -1, "transfer"] += max(0, communicates - waited)
    rest = end - start - computes - max(communicates, waited)
    ends[owner, -1, "idle" if line.is_recorded else "unknown"] += rest
