"""What the ranks of a run wait for when they communicate, computed once for all views."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.communication.clocks import Clock, Collectives, align_clocks, match_collectives
from tb_npu_plugin.analysis.communication.first_waits import CollectiveWait, first_waits
from tb_npu_plugin.analysis.communication.waiting import RDMA, Waits, waits_of_ranks
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.kernels.kinds import is_communication
from tb_npu_plugin.analysis.ranks.world import WorldRanks, least_world_size
from tb_npu_plugin.analysis.run.chains import (
    Call,
    ChainLine,
    Ends,
    LineWait,
    Roots,
    add_waits,
    follow,
    matched_calls,
    roots_of,
)
from tb_npu_plugin.analysis.run.devices import RankDevice, devices_of, rank_order
from tb_npu_plugin.analysis.run.fused import RunFusedWaits, fused_waits_of
from tb_npu_plugin.intervals import overlaps
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS
from tb_npu_plugin.tables import NULL_INT, IntArray, Table, known


@dataclass(frozen=True)
class Hold:
    """A collective at which the others wait for a rank: from the first arrival to the end, ns since the epoch by the clock of
    that rank."""

    step: Optional[str]
    start: int
    end: int


class RunCommunication:
    """Communication of a run. spans: one per rank, in any order. The figures are lists with one entry per line."""

    def __init__(self, spans: Sequence[SpanData]) -> None:
        self.spans = sorted(spans, key=rank_order)

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
        for table, waits in zip(self.collectives, self.first_waits):
            groups = table.text("group") if table is not None else None
            for wait in waits or ():
                group = None if groups is None else groups[wait.row]
                out[group] = max(out.get(group, 0), len(wait.tasks) + 1)
        return out

    @cached_property
    def profiled(self) -> set[Optional[int]]:
        """Ranks of the spans."""
        return {span.capture.rank for span in self.spans}

    @property
    def has_unnumbered(self) -> bool:
        """Some of several captures have no rank number: which ranks were profiled is unknown."""
        return len(self.spans) > 1 and None in self.profiled

    @property
    def is_whole(self) -> bool:
        """All ranks of the job were profiled, as far as is known."""
        return self.world_size is None or len(self.profiled) >= self.world_size

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

    def may_wait_in_turn(self, at: int, group: Optional[str], peer: int) -> bool:
        """Whether a peer of a line is on another server. Inside one operator such a peer waits for the members on its own
        server first: that it is awaited blames nobody."""
        return (group, peer) in self._remote_peers[at]

    @cached_property
    def _remote_peers(self) -> list[set[tuple[Optional[str], int]]]:
        """(group, number inside it) of the peers of each line that it reaches through the network."""
        out = []
        for line in self.lines:
            links = line.span.table("comm_links")
            found = None if links is None else links.take(links.text("transport").equals(RDMA))
            out.append(set() if found is None else set(zip(found.text("group").tolist(), found.ints("dst").tolist())))
        return out

    def group_size(self, group: Optional[str]) -> int:
        """Members of a group, or a lower bound; 0 if unknown."""
        return max(self._group_sizes.get(group, 0), self.ranks.size(group))

    def wait_of(self, line: int, row: int) -> Optional[CollectiveWait]:
        """The initial wait of an operator; None without one in the trace."""
        return self._wait_by_row[line].get(row)

    @cached_property
    def _wait_by_row(self) -> list[dict[int, CollectiveWait]]:
        return [{wait.row: wait for wait in waits or ()} for waits in self.first_waits]

    @cached_property
    def collectives(self) -> list[Optional[Table]]:
        """Collectives of each line: comm_ops with the starts of the trace, else of the kernels, since communication files
        round them and convert the clock of the device in another way. Without comm_ops from the kernels, which tell
        something only beside those of other lines."""
        compares = len(self.lines) > 1
        ops = [
            line.operators() if compares or waits else line.comm_ops
            for line, waits in zip(self.lines, self.first_waits)
        ]
        if compares:
            ops = [_with_kernel_starts(one, line) for one, line in zip(ops, self.lines)]
        return [_with_starts(one, waits) for one, waits in zip(ops, self.first_waits)]

    @cached_property
    def first_waits(self) -> list[Optional[list[CollectiveWait]]]:
        """Initial waits at collectives; None for lines without a completely read trace."""
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
    def fused(self) -> RunFusedWaits:
        """Waits inside kernels."""
        return fused_waits_of(self.lines, self.is_whole)

    @cached_property
    def _calls(self) -> list[tuple[Call, Call]]:
        return matched_calls(self.collectives)

    @cached_property
    def roots(self) -> Roots:
        """The clocks, also of lines that share no collectives."""
        return roots_of(self.clocks, self._calls, self.fused.ends)

    @cached_property
    def _is_complete(self) -> NDArray[np.bool_]:
        """Whether the starts of all members are known by one clock, for each row of `matched`.

        The members of a group are listed; else they are the ranks that record any of its collectives, if each rank of the job
        records some.
        """
        found, groups = self.matched, Groups([self.matched.rows.text("group")], len(self.matched.owner))
        names = found.rows.text("group").take(groups.first).tolist()
        of_owner = Groups([groups.of_row, found.owner], len(found.owner)).first
        members = np.bincount(groups.of_row[of_owner], minlength=len(names))
        members = np.maximum(members, [self.ranks.size(name) or self.group_size(name) for name in names])
        recorded = {self.lines[at].span.capture.rank for at in np.unique(found.owner).tolist()}
        is_whole = self.is_whole and recorded == self.profiled
        is_listed = np.array([is_whole or self.ranks.size(name) > 0 for name in names], dtype=bool)
        reference = np.array([clock.reference for clock in self.clocks], dtype=np.int64)
        collectives = Groups([found.number, reference[found.owner]], len(found.owner))
        has_all = collectives.count()[collectives.of_row] >= members[groups.of_row]
        return np.asarray((found.number >= 0) & has_all & is_listed[groups.of_row])

    @cached_property
    def waits(self) -> list[Waits]:
        """Wait of each operator of each line: for the last rank of a collective, or for the other rank of two. 0 if none."""
        lengths = [0 if table is None else len(table) for table in self.collectives]
        out = waits_of_ranks(lengths, self.matched, self.clocks, self.first_waits, self._is_complete)
        for table, waits in zip(self.collectives, out):
            self._set_owners(table, waits)
        add_waits(out, self._calls, self.roots)
        return out

    def _set_owners(self, table: Optional[Table], waits: Waits) -> None:
        """Set the awaited line where the trace of a rank shows for which member of the group it waits."""
        rows = np.flatnonzero((waits.time > 0) & (waits.owner < 0))
        if table is None or not len(rows):
            return
        members = Groups([table.text("group").take(rows), waits.peer[rows]], len(rows))
        for first, own in zip(members.first.tolist(), members.rows()):
            rank = self.rank_of(table.text("group")[int(rows[first])], int(waits.peer[rows[first]]))
            lines = [] if rank is None else self._lines_of_rank.get(rank, [])
            if len(lines) == 1:
                waits.owner[rows[own]] = lines[0]

    @cached_property
    def _lines_of_rank(self) -> dict[Optional[int], list[int]]:
        out: dict[Optional[int], list[int]] = {}
        for at, line in enumerate(self.lines):
            out.setdefault(line.span.capture.rank, []).append(at)
        return out

    def awaited_rank(self, at: int, row: int) -> Optional[int]:
        """Rank of the job that an operator of a line waits for directly; None if unknown."""
        table, waits = self.collectives[at], self.waits[at]
        owner, peer = int(waits.owner[row]), int(waits.peer[row])
        if owner >= 0:
            return self.lines[owner].span.capture.rank
        group = None if table is None else table.text("group")[row]
        return None if peer < 0 or self.may_wait_in_turn(at, group, peer) else self.rank_of(group, peer)

    @cached_property
    def chains(self) -> list[dict[LineWait, Ends]]:
        """Where the exposed waits of each line end."""
        lines = []
        for at, line in enumerate(self.lines):
            waits, clock = self.waits[at], (self.roots.root[at], self.roots.offset[at])
            awaited = {row: self.awaited_rank(at, row) for row in np.flatnonzero(waits.time > 0).tolist()}
            lines.append(ChainLine(line, clock, self.collectives[at], waits, awaited, self.fused.of_line.get(at)))
        return follow(lines)

    def root_of(self, at: int, row: int) -> Optional[int]:
        """Rank that is named for the wait of an operator of a line; None if unknown. It is where most of the wait ends: the awaited
        rank, or one that it waits for in turn. The awaited rank if that is not resolved, or if the line computes meanwhile."""
        return self._root(at, ("operator", row), self.awaited_rank(at, row))

    def root_inside(self, at: int, number: int) -> Optional[int]:
        """The same for a wait inside a kernel, by its number in FusedWaits."""
        owner = int(self.fused.of_line[at].owner[number])
        return self._root(at, ("kernel", number), self.lines[owner].span.capture.rank)

    def _root(self, at: int, wait: LineWait, awaited: Optional[int]) -> Optional[int]:
        by_rank, unresolved = Counter[Optional[int]](), 0
        for end, time in self.chains[at].get(wait, Ends()).items():
            if end.kind == "error":
                unresolved += time
            else:
                by_rank[end.rank] += time
        ((rank, time),) = by_rank.most_common(1) or [(awaited, 0)]
        return rank if time > unresolved else awaited

    def is_p2p(self, at: int) -> NDArray[np.bool_]:
        """Whether each operator of a line is one of two ranks."""
        table = self.collectives[at]
        if table is None or not table.has("kind"):
            return np.zeros(0 if table is None else len(table), dtype=bool)
        return table.text("kind").equals(COMM_KINDS[0])

    def rows_in(self, at: int, start: int, end: int) -> IntArray:
        """Rows of the collectives of a line that overlap [start, end), ns since the epoch by its clock."""
        table = self.collectives[at]
        if table is None:
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(overlaps(table.ints("start_ns"), table.ints("elapse_ns"), start, end))

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
        """Start and end of each operator of a line without its wait, ns since the epoch. Empty if unknown."""
        table, waits = self.collectives[at], self.waits[at]
        if table is None:
            nothing = np.zeros(0, dtype=np.int64)
            return nothing, nothing
        start, elapse = table.ints("start_ns"), table.ints("elapse_ns")
        certain = known(start) & known(elapse)
        end = np.where(certain, start + elapse, 0)
        start = np.where(certain, start, 0)
        return np.minimum(np.where(waits.time > 0, waits.start + waits.time, start), end), end

    def names_of_last(self, at: int) -> list[Optional[str]]:
        """The rank that is named for the wait of each operator of a line, as text: "5"; "local 5" for a number inside the group;
        None without a wait."""
        table, waits = self.collectives[at], self.waits[at]
        out: list[Optional[str]] = [None] * (0 if table is None else len(table))
        for row in np.flatnonzero(waits.time > 0).tolist():
            rank, peer = self.root_of(at, row), int(waits.peer[row])
            out[row] = str(rank) if rank is not None else f"local {peer}" if peer >= 0 else None
        return out


def _first_waits(line: RankDevice) -> Optional[list[CollectiveWait]]:
    timeline = line.span.timeline
    if timeline is None or timeline.partial is not None or (ops := line.operators()) is None:
        return None
    return first_waits(timeline, ops, line.span.capture)


def _with_starts(ops: Optional[Table], waits: Optional[list[CollectiveWait]]) -> Optional[Table]:
    if ops is None or not waits:
        return ops
    starts = ops.ints("start_ns").copy()
    starts[[wait.row for wait in waits]] = [wait.start for wait in waits]
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
