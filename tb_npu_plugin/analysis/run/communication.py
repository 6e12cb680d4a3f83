"""What the ranks of a run wait for at collectives, computed once for budgets, late ranks and arrivals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Optional

import numpy as np

from tb_npu_plugin.analysis import intervals
from tb_npu_plugin.analysis.communication.clocks import Clock, Collectives, align_clocks, match_collectives
from tb_npu_plugin.analysis.communication.first_waits import CollectiveWait, first_waits
from tb_npu_plugin.analysis.communication.waiting import PARTS, Waits, split_of_rows, waits_of_ranks
from tb_npu_plugin.analysis.grouping import Groups, known_sum
from tb_npu_plugin.analysis.intervals import Intervals
from tb_npu_plugin.analysis.kernels.statistics import is_communication, is_copy
from tb_npu_plugin.analysis.ranks.world import WorldRanks, least_world_size
from tb_npu_plugin.analysis.run.devices import RankDevice, devices_of
from tb_npu_plugin.analysis.time_range import overlaps
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.tables import NULL_INT, IntArray, Table, known


@dataclass(frozen=True)
class LateRank:
    """A rank that arrives last at collectives of a step, and what a rank waits for it."""

    rank: Optional[int]
    """Rank of the job; null if unknown."""
    peer: Optional[int]
    """Its number inside the group; null if it was profiled."""
    group: Optional[str]
    """Communication group of the longest wait."""
    time: int
    """Sum of the waits, ns."""
    exposed: Optional[int]
    """Part of it while nothing computes, ns; null if kernels have no times."""
    collectives: int
    """Number of collectives."""


@dataclass(frozen=True)
class StepWaiting:
    """Communication of a rank in a step, ns; fields as in RankBudget."""

    waiting: Optional[int] = None
    before_transfer: Optional[int] = None
    transfer: Optional[int] = None
    small_packets: Optional[int] = None
    rest: Optional[int] = None
    exposed_waiting: Optional[int] = None
    waiting_for: tuple[LateRank, ...] = ()


@dataclass(frozen=True)
class Hold:
    """A collective at which the others wait for a rank: from the first arrival to the end, ns since the epoch by the clock of
    that rank."""

    step: Optional[str]
    start: int
    end: int


NO_WAITING = StepWaiting()
#: Step and device.
StepPlace = tuple[Optional[str], Optional[int]]


class RunCommunication:
    """Communication of a run. spans: one per rank. The figures are lists with one entry per line."""

    def __init__(self, spans: Sequence[SpanData]) -> None:
        self.spans = spans

    @cached_property
    def lines(self) -> list[RankDevice]:
        """The devices of all ranks."""
        return [line for span in self.spans for line in devices_of(span)]

    @cached_property
    def ranks(self) -> WorldRanks:
        """Ranks of the job by group."""
        return WorldRanks([(span.capture, span.table("comm_links")) for span in self.spans])

    @cached_property
    def world_size(self) -> Optional[int]:
        """Ranks of the job, or a lower bound; None if unknown. A collective waits for each of its other members first."""
        recorded = least_world_size([span.capture for span in self.spans], self._links)
        return max(recorded or 0, max(self._waiting_sizes.values(), default=0)) or None

    @cached_property
    def _waiting_sizes(self) -> dict[Optional[str], int]:
        """Members of each group by the first waits of its collectives."""
        out: dict[Optional[str], int] = {}
        for table, waits in zip(self.collectives, self.waits):
            groups = table.text("group") if table is not None else None
            for wait in waits or ():
                group = None if groups is None else groups[wait.row]
                out[group] = max(out.get(group, 0), len(wait.tasks) + 1)
        return out

    @cached_property
    def profiled(self) -> set[Optional[int]]:
        """Ranks of the spans."""
        return {span.capture.rank for span in self.spans}

    @cached_property
    def _links(self) -> list[Optional[Table]]:
        return [span.table("comm_links") for span in self.spans]

    @cached_property
    def _group_sizes(self) -> dict[Optional[str], int]:
        """Lower bound of each group's size, from its links."""
        out = dict(self._waiting_sizes)
        for links in self._links:
            if links is not None:
                ends = np.maximum(links.ints("src"), links.ints("dst"))
                for group, end in zip(links.text("group").tolist(), ends.tolist()):
                    out[group] = max(out.get(group, 0), end + 1 if end != NULL_INT else 0)
        return out

    def rank_of(self, group: Optional[str], peer: int) -> Optional[int]:
        """Rank of the job of a member of a group. In the group of all ranks, both numbers are equal."""
        rank = self.ranks.of(group, peer)
        is_whole = self.world_size is not None and self._group_sizes.get(group) == self.world_size
        return peer if rank is None and is_whole else rank

    def group_size(self, group: Optional[str]) -> int:
        """Members of a group, or a lower bound; 0 if unknown."""
        return max(self._group_sizes.get(group, 0), self.ranks.size(group))

    def wait_of(self, line: int, row: int) -> Optional[CollectiveWait]:
        """The initial wait of an operator; None without one in the trace."""
        return self._wait_by_row[line].get(row)

    @cached_property
    def _wait_by_row(self) -> list[dict[int, CollectiveWait]]:
        return [{wait.row: wait for wait in waits or ()} for waits in self.waits]

    @cached_property
    def collectives(self) -> list[Optional[Table]]:
        """Collectives of each line: comm_ops with the starts of the trace, else of the kernels, since communication files
        round them and convert the clock of the device in another way. Without comm_ops from the kernels, which tell
        something only beside those of other lines."""
        compares = len(self.lines) > 1
        ops = [line.operators() if compares or waits else line.comm_ops for line, waits in zip(self.lines, self.waits)]
        if compares:
            ops = [_with_kernel_starts(one, line) for one, line in zip(ops, self.lines)]
        return [_with_starts(one, waits) for one, waits in zip(ops, self.waits)]

    @cached_property
    def waits(self) -> list[Optional[list[CollectiveWait]]]:
        """Initial waits; None for lines without a completely read trace."""
        return [_first_waits(line) for line in self.lines]

    @cached_property
    def matched(self) -> Collectives:
        """The collectives of all lines, matched."""
        return match_collectives(self.collectives)

    @cached_property
    def clocks(self) -> list[Clock]:
        """The aligned clocks."""
        return align_clocks(self.matched, len(self.lines))

    @cached_property
    def waits_for_last(self) -> list[Waits]:
        """Wait of each operator for the last rank."""
        lengths = [0 if table is None else len(table) for table in self.collectives]
        all_profiled = self.world_size is None or len(self.profiled) >= self.world_size
        return waits_of_ranks(lengths, self.matched, self.clocks, self.waits, all_profiled)

    @cached_property
    def waiting(self) -> list[dict[Optional[str], StepWaiting]]:
        """By step."""
        return [self._of_line(at, line) for at, line in enumerate(self.lines)]

    def rows_in(self, at: int, start: int, end: int) -> IntArray:
        """Rows of the collectives of a line that overlap [start, end), ns since the epoch by its clock."""
        table = self.collectives[at]
        if table is None:
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(overlaps(table.ints("start_ns"), table.ints("elapse_ns"), start, end))

    def waiting_in(self, at: int, rows: IntArray) -> StepWaiting:
        """Communication of some collectives of a line."""
        table, waits, line = self.collectives[at], self.waits_for_last[at], self.lines[at]
        if table is None:
            return NO_WAITING
        sums = {key: known_sum(values[rows]) for key, values in self._parts(line, table, waits).items()}
        late = self._late_ranks(table, waits, rows[waits.time[rows] > 0], computing_times(line))
        return StepWaiting(**{key: sums[key] for key in PARTS if key in sums}, waiting_for=tuple(late))

    def _parts(self, line: RankDevice, table: Table, waits: Waits) -> dict[str, IntArray]:
        """Parts of each collective of a line, ns."""
        if line.comm_ops is None:
            return {"waiting": waits.time}
        return split_of_rows(table, line.span.table("comm_packets"), waits)

    def _of_line(self, at: int, line: RankDevice) -> dict[Optional[str], StepWaiting]:
        table, waits = self.collectives[at], self.waits_for_last[at]
        if table is None:
            return {}
        steps = Groups([table.text("step")], len(table))
        names = table.text("step").take(steps.first).tolist()
        sums = {key: _optional(steps.sum(values)) for key, values in self._parts(line, table, waits).items()}
        waiting = np.flatnonzero(waits.time > 0)
        busy = computing_times(line) if len(waiting) else None
        out = {}
        for number, rows in enumerate(steps.rows()):
            late = self._late_ranks(table, waits, np.intersect1d(rows, waiting), busy)
            exposed = None if busy is None and late else sum(one.exposed or 0 for one in late)
            known_parts = {key: sums[key][number] for key in PARTS if key in sums}
            if known_parts["waiting"] is None:
                exposed = None
            else:
                exposed, late = _limit(line, names[number], exposed, late)
            out[names[number]] = StepWaiting(**known_parts, exposed_waiting=exposed, waiting_for=tuple(late))
        return out

    def longest_hold(self, span: str) -> Optional[Hold]:
        """The collective at which all other ranks wait longest for the rank of a span (its token). All members end together,
        so the last to arrive has the shortest operator. None without a matched collective where it is the last."""
        found, elapse = self.matched, self.matched.rows.ints("elapse_ns")
        order = np.lexsort((elapse, found.number))
        order = order[found.number[order] >= 0]
        number = found.number[order]
        first = np.flatnonzero(np.diff(number, prepend=-1))
        end = np.append(first[1:], len(number))
        tokens = np.array([line.span.token for line in self.lines])
        shared = end - first > 1
        first, end = first[shared], end[shared]
        is_own = tokens[found.owner[order[first]]] == span if len(first) else np.zeros(0, dtype=bool)
        first, end = first[is_own], end[is_own]
        waits = elapse[order[np.minimum(first + 1, len(order) - 1)]] - elapse[order[first]]
        if not len(waits) or waits.max() <= 0:
            return None
        place = int(np.argmax(waits))
        row, longest = int(order[first[place]]), int(elapse[order[end[place] - 1]])
        stop = int(found.rows.ints("start_ns")[row] + elapse[row])
        return Hold(found.rows.text("step")[row], stop - longest, stop)

    def transfer_times(self, at: int) -> tuple[IntArray, IntArray]:
        """Start and end of each operator of a line without its wait for the last rank, ns since the epoch. Empty if unknown."""
        table, waits = self.collectives[at], self.waits_for_last[at]
        if table is None:
            nothing = np.zeros(0, dtype=np.int64)
            return nothing, nothing
        start, elapse = table.ints("start_ns"), table.ints("elapse_ns")
        certain = known(start) & known(elapse)
        end = np.where(certain, start + elapse, 0)
        start = np.where(certain, start, 0)
        return np.minimum(np.where(waits.time > 0, waits.start + waits.time, start), end), end

    def names_of_last(self, at: int) -> list[Optional[str]]:
        """The rank that each operator of a line waits for, as text: "5"; "local 5" for a number inside the group; None
        without a wait."""
        table, waits = self.collectives[at], self.waits_for_last[at]
        out: list[Optional[str]] = [None] * (0 if table is None else len(table))
        for row in np.flatnonzero(waits.time > 0).tolist():
            assert table is not None
            rank, peer = self._rank_of(table, waits, row), int(waits.peer[row])
            out[row] = str(rank) if rank is not None else f"local {peer}" if peer >= 0 else None
        return out

    def _late_ranks(self, table: Table, waits: Waits, rows: IntArray, busy: Optional[Intervals]) -> list[LateRank]:
        """The ranks that some operators wait for, the longest wait first. A moment counts for one of them."""
        groups = table.text("group")
        by_rank: dict[tuple[object, ...], list[int]] = {}
        for row in rows.tolist():
            rank = self._rank_of(table, waits, row)
            key = (rank,) if rank is not None else (None, groups[row], int(waits.owner[row]), int(waits.peer[row]))
            by_rank.setdefault(key, []).append(row)
        out, covered = [], busy
        for found in sorted(by_rank.values(), key=lambda rows: -int(waits.time[rows].sum())):
            longest = max(found, key=lambda row: int(waits.time[row]))
            exposed = None
            if covered is not None:
                times = intervals.union(waits.start[found], waits.start[found] + waits.time[found])
                exposed, covered = intervals.subtract(times, covered).total, intervals.merge(covered, times)
            out.append(
                LateRank(
                    rank=self._rank_of(table, waits, longest),
                    peer=None if waits.owner[longest] >= 0 else int(waits.peer[longest]),
                    group=groups[longest],
                    time=int(waits.time[found].sum()),
                    exposed=exposed,
                    collectives=len(found),
                )
            )
        return out

    def _rank_of(self, table: Table, waits: Waits, row: int) -> Optional[int]:
        """Rank of the job that an operator waits for."""
        owner = int(waits.owner[row])
        if owner >= 0:
            return self.lines[owner].span.capture.rank
        return self.rank_of(table.text("group")[row], int(waits.peer[row]))


def waiting_of_span(span: SpanData) -> dict[StepPlace, StepWaiting]:
    """What one rank waits for, by its own trace alone; {} before the trace is read."""
    if span.timeline is None or span.table("comm_ops") is None:
        return {}
    run = RunCommunication([span])
    return {
        (step.step, step.device_id): found[step.step]
        for line, found in zip(run.lines, run.waiting)
        for step in line.steps
        if step.step in found
    }


def _first_waits(line: RankDevice) -> Optional[list[CollectiveWait]]:
    timeline = line.span.timeline
    if timeline is None or timeline.partial is not None or (ops := line.operators()) is None:
        return None
    return first_waits(timeline, ops, line.span.capture)


def _with_starts(ops: Optional[Table], waits: Optional[list[CollectiveWait]]) -> Optional[Table]:
    if ops is None or not waits:
        return ops
    starts = ops.ints("start_ns").copy()
    starts[[wait.row for wait in waits]] = [wait.begin for wait in waits]
    return Table(ops.columns, {**ops.data, "start_ns": starts})


def _with_kernel_starts(ops: Optional[Table], line: RankDevice) -> Optional[Table]:
    """Starts of the kernels of the same name and occurrence; names that the kernels have more or less often keep theirs."""
    kernels = line.kernels()
    if ops is None or kernels is None or line.comm_ops is None:
        return ops
    kernels = kernels.take(is_communication(kernels))
    kernels = kernels.take(np.argsort(kernels.ints("start_ns"), kind="stable"))
    kernel_starts: dict[Optional[str], list[int]] = {}
    for name, start in zip(kernels.text("name").tolist(), kernels.ints("start_ns").tolist()):
        kernel_starts.setdefault(name, []).append(start)
    starts, names = ops.ints("start_ns").copy(), Groups([ops.text("name")], len(ops))
    for rows in names.rows():
        found = kernel_starts.get(ops.text("name")[int(rows[0])], [])
        if len(found) == len(rows):
            starts[rows[np.argsort(starts[rows], kind="stable")]] = found
    return Table(ops.columns, {**ops.data, "start_ns": starts})


def computing_times(line: RankDevice) -> Optional[Intervals]:
    """When kernels compute on the device, ns since the epoch; None if unknown, or of several devices."""
    kernels = line.kernels()
    if kernels is None or (line.device_id is None and not line.steps):
        return None
    kernels = kernels.take(~is_communication(kernels) & ~is_copy(kernels))
    kernels = kernels.take(known(kernels.ints("start_ns")) & known(kernels.ints("dur_ns")))
    return intervals.union(kernels.ints("start_ns"), kernels.ints("start_ns") + kernels.ints("dur_ns"))


def _limit(
    line: RankDevice, step: Optional[str], exposed: Optional[int], late: list[LateRank]
) -> tuple[Optional[int], list[LateRank]]:
    """At most the exposed communication of the step, without the bubble."""
    found = next((one for one in line.steps if one.step == step), None)
    if exposed is None or found is None or found.communication_not_overlapped is None:
        return None, late
    most = max(found.communication_not_overlapped - (found.bubble or 0), 0)
    return min(exposed, most), late


def _optional(values: IntArray) -> list[Optional[int]]:
    return [None if value == NULL_INT else value for value in values.tolist()]
