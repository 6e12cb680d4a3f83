"""Follows waits to their roots: what did the awaited rank do meanwhile? If it waited too, its wait is followed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Optional

import numpy as np

from tb_npu_plugin.analysis import intervals
from tb_npu_plugin.analysis.intervals import Coverage, Intervals
from tb_npu_plugin.analysis.kernels.kinds import is_communication
from tb_npu_plugin.analysis.ledger.model import ChainEnd, EndKind, RankLedger
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.analysis.run.fused import FusedWaits
from tb_npu_plugin.analysis.run.step_waits import Awaited, whole_computing
from tb_npu_plugin.analysis.steps.of_span import averaged_of_span
from tb_npu_plugin.tables import IntArray, Table, known

#: (index of the line, rank, what it does). Profiled ranks: the line, with rank -1. Unprofiled ranks: line -1, with the
#: rank or -1 if unknown.
End = tuple[int, int, EndKind]
#: Longest chain that is followed.
_MOST_LINKS = 32


@dataclass(frozen=True)
class Chains:
    """Exposed waiting of each line in the averaged steps, by detail and awaited rank, and by the end of its chain, ns."""

    of_line: Sequence[Mapping[Awaited, Counter[End]]]

    @cached_property
    def total(self) -> Counter[End]:
        """Sum over all lines."""
        return sum((ends for waits in self.of_line for ends in waits.values()), Counter())

    @property
    def unresolved_ns(self) -> int:
        """Waiting for the rank that the most chains end at without being resolved."""
        return max((time for (_, _, kind), time in self.total.items() if kind == "error"), default=0)


def chains_of(run: RunCommunication) -> Chains:
    """Follow all waits of a run."""
    lines = [_Line(run, at) for at in range(len(run.lines))]
    return Chains([_of_line(run, lines, at) for at in range(len(lines))])


def with_chains(run: RunCommunication, ledgers: Sequence[RankLedger], chains: Chains) -> list[RankLedger]:
    """The ledgers with the chain of each entry. The parts are those of all averaged steps, scaled to the mean step."""
    places = {(line.span.token, line.device_id): at for at, line in enumerate(run.lines)}
    out = []
    for ledger in ledgers:
        found = chains.of_line[places[ledger.span.token, ledger.device_id]]
        entries = (
            replace(one, chain=_scaled(run, found[one.detail, one.culprit], one.ns))
            if one.entry == "waiting" and (one.detail, one.culprit) in found
            else one
            for one in ledger.entries
        )
        out.append(replace(ledger, entries=tuple(entries)))
    return out


def _scaled(run: RunCommunication, ends: Counter[End], ns: int) -> tuple[ChainEnd, ...]:
    """The ends, scaled so that their sum is `ns`."""
    total, scaled, left = sum(ends.values()), list[ChainEnd](), ns
    for (line, peer, kind), time in ends.most_common():
        rank = run.lines[line].span.capture.rank if line >= 0 else peer if peer >= 0 else None
        scaled.append(ChainEnd(rank, kind, time * ns // total))
        left -= scaled[-1].ns
    if scaled:
        scaled[0] = replace(scaled[0], ns=scaled[0].ns + left)
    return tuple(one for one in scaled if one.ns > 0)


class _Wait(NamedTuple):
    """A wait of a line, ns by its own clock. owner: index of the awaited line; -1 for an unprofiled rank."""

    start: int
    end: int
    owner: int
    awaited: Awaited
    step: Optional[str]


class _Line:
    """What a line does over time, ns since the epoch by its own clock."""

    def __init__(self, run: RunCommunication, at: int) -> None:
        self.root, self.offset, fused = run.roots.root[at], run.roots.offset[at], run.fused.of_line.get(at)
        computing = whole_computing(run.lines[at]) if fused is None else fused.computing
        self.is_recorded = computing is not None
        self.computing = intervals.EMPTY if computing is None else computing
        found = [*_waits_of(run, at), *_waits_inside(run, fused)]
        self.waits = sorted(found, key=lambda one: (one.start, one.end))
        communication = _communication(run, at)
        self._starts = np.array([one.start for one in self.waits], dtype=np.int64)
        self._reached = np.maximum.accumulate(np.array([one.end for one in self.waits], dtype=np.int64))
        self._computes = Coverage(self.computing)
        self._communicates = Coverage(intervals.subtract(communication, self.computing))
        self._unclear = Coverage(intervals.subtract(_with_unknown_waits(run, at), self.computing))

    def computes(self, start: int, end: int) -> int:
        """Computing time in a range."""
        return _inside(self._computes, start, end)

    def communicates(self, start: int, end: int) -> int:
        """Exposed communication in a range."""
        return _inside(self._communicates, start, end)

    def may_wait(self, start: int, end: int) -> int:
        """Exposed communication in a range by operators whose waits are unknown."""
        return _inside(self._unclear, start, end)

    def waits_in(self, start: int, end: int) -> list[tuple[int, int, _Wait]]:
        """(start, end, wait) of the exposed waits in a range. They do not overlap."""
        out, reached = [], start
        first = int(np.searchsorted(self._reached, start, side="right"))
        for wait in self.waits[first : int(np.searchsorted(self._starts, end))]:
            begin, stop = max(reached, wait.start), min(end, wait.end)
            if begin < stop:
                reached = stop
                piece = Intervals(np.array([begin]), np.array([stop]))
                exposed = intervals.subtract(piece, self.computing)
                out += [(low, high, wait) for low, high in zip(exposed.start.tolist(), exposed.end.tolist())]
        return out


def _waits_of(run: RunCommunication, at: int) -> Iterator[_Wait]:
    table, waits, is_p2p = run.collectives[at], run.waits[at], run.is_p2p(at)
    if table is not None:
        steps = table.text("step")
        for row in np.flatnonzero(waits.time > 0).tolist():
            start, awaited = int(waits.start[row]), ("p2p" if is_p2p[row] else "collective", run.awaited_rank(at, row))
            yield _Wait(start, start + int(waits.time[row]), int(waits.owner[row]), awaited, steps[row])


def _waits_inside(run: RunCommunication, waits: Optional[FusedWaits]) -> Iterator[_Wait]:
    if waits is not None:
        columns = waits.start.tolist(), waits.end.tolist(), waits.owner.tolist(), waits.kernel, waits.step
        for start, end, owner, kernel, step in zip(*columns):
            yield _Wait(start, end, owner, (kernel or "", run.lines[owner].span.capture.rank), step)


def _with_unknown_waits(run: RunCommunication, at: int) -> Intervals:
    """Times of the operators of a line whose waits are unknown."""
    table, waits = run.collectives[at], run.waits[at]
    if table is None:
        return intervals.EMPTY
    start, took = table.ints("start_ns"), table.ints("elapse_ns")
    rows: IntArray = np.flatnonzero(~known(waits.time) & known(start) & known(took))
    return intervals.union(start[rows], start[rows] + took[rows])


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


def _of_line(run: RunCommunication, lines: Sequence[_Line], at: int) -> dict[Awaited, Counter[End]]:
    waits, out = lines[at].waits, dict[Awaited, Counter[End]]()
    if not waits:
        return out
    line = run.lines[at]
    averaged = {step.step for step in averaged_of_span(line.span, line.steps)}
    for start, end, wait in lines[at].waits_in(waits[0].start, max(one.end for one in waits)):
        if None in averaged or wait.step in averaged:
            _follow(lines, at, wait, start, end, out.setdefault(wait.awaited, Counter()), 0)
    return {awaited: +ends for awaited, ends in out.items()}


def _follow(lines: Sequence[_Line], at: int, wait: _Wait, start: int, end: int, ends: Counter[End], links: int) -> None:
    """Add to `ends` what the awaited line did while the line `at` waited for it.

    start, end: of the wait or of a part of it, by the clock of `at`. links: waits of the chain that were followed before.
    """
    owner, rank = wait.owner, wait.awaited[1]
    if owner < 0:
        ends[-1, -1 if rank is None else rank, "unprofiled"] += end - start
        return
    line, shift = lines[owner], lines[owner].offset - lines[at].offset
    if links == _MOST_LINKS or line.root != lines[at].root:
        ends[owner, -1, "error"] += end - start
        return
    start, end = start + shift, end + shift
    computes, communicates = line.computes(start, end), line.communicates(start, end)
    waited = 0
    for low, high, other in line.waits_in(start, end):
        waited += high - low
        _follow(lines, owner, other, low, high, ends, links + 1)
    ends[owner, -1, "computing"] += computes
    moved = max(0, communicates - waited)
    unclear = min(moved, line.may_wait(start, end))
    ends[owner, -1, "transfer"] += moved - unclear
    ends[owner, -1, "error"] += unclear
    rest = end - start - computes - max(communicates, waited)
    ends[owner, -1, "idle" if line.is_recorded else "unknown"] += rest
