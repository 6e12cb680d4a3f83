"""Waiting of each step of each rank, by awaited rank: the one source of the ledgers and of all views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Optional

import numpy as np

from tb_npu_plugin.analysis.communication.waiting import PARTS, split_of_rows
from tb_npu_plugin.analysis.grouping import Groups, known_sum
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.analysis.run.bounds import bounds_of, exposed_bounds, not_covered, whole_times
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.analysis.steps.of_span import averaged_of_span
from tb_npu_plugin.analysis.steps.partition import Step
from tb_npu_plugin.intervals import Coverage
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.tables import IntArray, Table, from_lists, known

WAIT_COLUMNS = columns_of("waits")
#: Detail of a waiting entry, "p2p", "collective" or a kernel, and the rank at the root of the wait; None if unknown.
Awaited = tuple[str, Optional[int]]
#: Waiting of the steps of a line by their name; None if all of it may be transfer.
LineWaits = Mapping[Optional[str], Optional["StepWaits"]]


#: Step and device.
StepPlace = tuple[Optional[str], Optional[int]]


class Wait(NamedTuple):
    """Exposed waiting, ns: the estimate, the least and the largest possible."""

    ns: int
    low_ns: int
    high_ns: int


@dataclass(frozen=True)
class StepWaits:
    """Exposed waiting of a step. A moment counts for the first of the operators that wait then.

    Attributes:
        rows: Operators of the line that wait, by start.
        ns, low_ns: Exposed waiting of each, and the least possible: less if kernels have no times.
        bounds: "collective" or "p2p" -> (least, largest) exposed waiting of the operators with unknown waits.
    """

    rows: IntArray
    ns: IntArray
    low_ns: IntArray
    bounds: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def total_ns(self) -> int:
        """The estimate."""
        return int(self.ns.sum()) + sum(low for low, _ in self.bounds.values())

    def by_rank(self, run: RunCommunication, at: int) -> dict[Awaited, Wait]:
        """The waiting by detail and rank at its root. at: index of the line."""
        out: dict[Awaited, Wait] = {}
        details = np.where(run.is_p2p(at)[self.rows], "p2p", "collective").tolist()
        found = [
            ((detail, run.root_of(at, row)), Wait(ns, low, ns))
            for detail, row, ns, low in zip(details, self.rows.tolist(), self.ns.tolist(), self.low_ns.tolist())
        ]
        for key, wait in [
            *found,
            *(((detail, None), Wait(low, low, high)) for detail, (low, high) in self.bounds.items()),
        ]:
            out[key] = Wait(*map(sum, zip(out.get(key, Wait(0, 0, 0)), wait)))
        return out


@dataclass(frozen=True)
class LateRank:
    """A rank that a rank waits for in a step: at the root of the wait, see RunCommunication.root_of."""

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
    """Number of operators that wait."""


@dataclass(frozen=True)
class StepWaiting:
    """Communication of a rank in a step, ns; fields as in RankBudget. bubble_beside: what of the recorded bubble is no part of
    `exposed_waiting`. None: as recorded."""

    waiting: Optional[int] = None
    before_transfer: Optional[int] = None
    transfer: Optional[int] = None
    small_packets: Optional[int] = None
    rest: Optional[int] = None
    exposed_waiting: Optional[int] = None
    waiting_for: tuple[LateRank, ...] = ()
    bubble: Optional[int] = None
    bubble_beside: Optional[int] = None


NO_WAITING = StepWaiting()


def step_waits_of(run: RunCommunication) -> list[LineWaits]:
    """The waiting of the steps of each line."""
    return [_of_line(run, at) for at in range(len(run.lines))]


def table_of_waits(run: RunCommunication, waits: Sequence[LineWaits]) -> Table:
    """The operators that wait, one for each row: the sum over a rank and a step is its exposed waiting with known slices."""
    lists: dict[str, list[Any]] = {column.key: [] for column in WAIT_COLUMNS}
    for at, line in enumerate(run.lines):
        table, averaged = run.collectives[at], {step.step for step in averaged_of_span(line.span, line.steps)}
        for step, found in waits[at].items():
            if table is None or found is None:
                continue
            for row, ns in zip(found.rows.tolist(), found.ns.tolist()):
                if ns > 0:
                    late = run.root_of(at, row)
                    own = (
                        line.span.capture.rank,
                        step,
                        table.text("name")[row],
                        table.text("group")[row],
                        int(table.ints("start_ns")[row]),
                        ns,
                        late,
                        int(step in averaged),
                    )
                    for key, value in zip(lists, own):
                        lists[key].append(value)
    return from_lists(WAIT_COLUMNS, lists)


def _of_line(run: RunCommunication, at: int) -> LineWaits:
    rows, computing = _rows_by_step(run, at), _computing(run, at)
    return {step.step: _of_step(run, at, step, rows.get(step.step, _NONE), computing) for step in run.lines[at].steps}


_NONE = np.zeros(0, dtype=np.int64)


def _rows_by_step(run: RunCommunication, at: int) -> dict[Optional[str], IntArray]:
    """Operators of a line by the name of their step; of a line without step marks all."""
    table = run.collectives[at]
    if table is None:
        return {}
    if any(step.step is None for step in run.lines[at].steps):
        return {None: np.arange(len(table))}
    steps = Groups([table.text("step")], len(table))
    return dict(zip(table.text("step").take(steps.first).tolist(), steps.rows()))


def _computing(run: RunCommunication, at: int) -> Optional[Coverage]:
    computing = run.lines[at].computing()
    return None if computing is None else Coverage(computing)


def _of_step(
    run: RunCommunication, at: int, step: Step, rows: IntArray, computing: Optional[Coverage]
) -> Optional[StepWaits]:
    """Known waits, and bounds of the others."""
    exposed, hidden, table = step.communication_not_overlapped, step.overlapped or 0, run.collectives[at]
    if not exposed:
        return None if exposed is None else StepWaits(_NONE, _NONE, _NONE)
    if table is None:
        return None
    waiting, ns = _exposed(run, at, rows, computing)
    ns = np.diff(np.minimum(np.cumsum(ns), exposed), prepend=0)
    low = ns if computing is not None else ns - np.diff(np.minimum(np.cumsum(ns), hidden), prepend=0)
    found = StepWaits(waiting, ns, low)
    if not len(rows):
        return None
    unknown = rows[~known(run.waits[at].time[rows])]
    bounds = bounds_of(run, at, rows, unknown, exposed + hidden) if len(unknown) else {}
    if bounds is None:
        bounds = whole_times(table, unknown)
    if lost := not_covered(table.take(rows), exposed + hidden):
        least, most = bounds.get("collective", (0, 0))
        bounds = {**bounds, "collective": (least, most + lost)}
    if not bounds:
        return found
    left = exposed - int(ns.sum())
    bounds = exposed_bounds(bounds, left, hidden - int((ns - low).sum()))
    is_vague = not low.any() and not any(least for least, _ in bounds.values())
    if is_vague and int(ns.sum()) + sum(most for _, most in bounds.values()) >= left:
        return None
    return replace(found, bounds=bounds)


def _exposed(
    run: RunCommunication, at: int, rows: IntArray, computing: Optional[Coverage]
) -> tuple[IntArray, IntArray]:
    """The operators among `rows` that wait, by start, and the time of each in which the line does not compute and no operator
    before it waits, ns."""
    waits = run.waits[at]
    rows = rows[waits.time[rows] > 0]
    rows = rows[np.lexsort((waits.time[rows], waits.start[rows]))]
    start, end = waits.start[rows], waits.start[rows] + waits.time[rows]
    begin = np.maximum(start, np.concatenate([start[:1], np.maximum.accumulate(end)[:-1]]))
    end = np.maximum(begin, end)
    busy = 0 if computing is None else computing.until(end) - computing.until(begin)
    return rows, end - begin - busy


def waiting_of_span(span: SpanData, run: RunCommunication) -> dict[StepPlace, StepWaiting]:
    """What the views show of the steps of one rank of a run."""
    out: dict[StepPlace, StepWaiting] = {}
    for at, line in enumerate(run.lines):
        if line.span is span:
            found = waiting_by_step(run, at, _of_line(run, at))
            out |= {(step.step, step.device_id): found.get(step.step, NO_WAITING) for step in line.steps}
    return out


def waiting_by_step(run: RunCommunication, at: int, found: LineWaits) -> dict[Optional[str], StepWaiting]:
    """What the views show of the steps of a line, also of those that only communication files name."""
    table = run.collectives[at]
    if table is None:
        return {}
    rows, computing = _rows_by_step(run, at), _computing(run, at)
    parts = _parts(run, at)
    recorded = {step.step: step.bubble or 0 for step in run.lines[at].steps}
    out = {}
    for name, own in rows.items():
        waits = found.get(name)
        sums = {key: known_sum(values[own]) for key, values in parts.items()}
        if waits is None or (waits.bounds and not len(waits.rows)):  # a lower bound alone is no figure
            late = _late_ranks(
                run, at, *_exposed(run, at, own, computing), is_exact=name not in found and computing is not None
            )
            out[name] = StepWaiting(**sums, waiting_for=late)
        else:
            late = _late_ranks(run, at, waits.rows, waits.ns)
            out[name] = StepWaiting(
                **sums, exposed_waiting=waits.total_ns, waiting_for=late, **_bubble(run, at, waits, recorded[name])
            )
    return out


def waiting_in(run: RunCommunication, at: int, rows: IntArray) -> StepWaiting:
    """Communication of some operators of a line."""
    if run.collectives[at] is None:
        return NO_WAITING
    computing = _computing(run, at)
    late = _late_ranks(run, at, *_exposed(run, at, rows, computing), is_exact=computing is not None)
    return StepWaiting(**{key: known_sum(values[rows]) for key, values in _parts(run, at).items()}, waiting_for=late)


def _parts(run: RunCommunication, at: int) -> dict[str, IntArray]:
    """Parts of each operator of a line, ns."""
    line, waits = run.lines[at], run.waits[at]
    if line.comm_ops is None:
        return {"waiting": waits.time}
    found = split_of_rows(line.comm_ops, line.span.table("comm_packets"), waits)
    return {key: found[key] for key in PARTS}


def _bubble(run: RunCommunication, at: int, waits: StepWaits, recorded: int) -> dict[str, int]:
    """Bubbles of a step: waiting for other pipeline stages, in operators of two ranks, and in collectives for a rank of another
    stage. recorded: the bubble of the file, ns. It counts where waits of operators of two ranks are unknown."""
    stages = np.array([pipeline_stage(line.span.capture) or 0 for line in run.lines] + [0])
    other = stages[run.waits[at].owner[waits.rows]]  # -1: an unprofiled rank, of unknown stage
    is_other = (other > 0) & (other != stages[at]) & (stages[at] > 0)
    found = int(waits.ns[is_other | run.is_p2p(at)[waits.rows]].sum())
    beside = 0
    if "p2p" in waits.bounds:
        found += waits.bounds["p2p"][0]
        beside = max(0, recorded - found)
    return {"bubble": found + beside, "bubble_beside": beside}


def _late_ranks(
    run: RunCommunication, at: int, rows: IntArray, ns: IntArray, is_exact: bool = True
) -> tuple[LateRank, ...]:
    """The ranks that operators wait for, the longest wait first. ns: exposed waiting of each operator."""
    table, waits = run.collectives[at], run.waits[at]
    if table is None:
        return ()
    groups, by_rank = table.text("group"), dict[tuple[object, ...], list[int]]()
    for place, row in enumerate(rows.tolist()):
        rank = run.root_of(at, row)
        key = (rank,) if rank is not None else (None, groups[row], int(waits.owner[row]), int(waits.peer[row]))
        by_rank.setdefault(key, []).append(place)
    out = []
    for places in by_rank.values():
        time = waits.time[rows[places]]
        longest = int(rows[places[int(time.argmax())]])
        is_profiled = waits.owner[longest] >= 0 or waits.peer[longest] < 0
        out.append(
            LateRank(
                rank=run.root_of(at, longest),
                peer=None if is_profiled else int(waits.peer[longest]),
                group=groups[longest],
                time=int(time.sum()),
                exposed=int(ns[places].sum()) if is_exact else None,
                collectives=len(places),
            )
        )
    return tuple(sorted(out, key=lambda one: -one.time))
