"""Divides the mean step of each rank into entries.

Times of a step are those of the profiler or of the kernels (steps/partition.py): computing + exposed communication + copies +
idle time. Communication is divided by the waits of the rank, idle time by the launches of its trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Optional

import numpy as np

from tb_npu_plugin.analysis import intervals
from tb_npu_plugin.analysis.idle.model import DeviceIdle, Launch
from tb_npu_plugin.analysis.intervals import Intervals
from tb_npu_plugin.analysis.ledger.bounds import bounds_of, exposed_bounds
from tb_npu_plugin.analysis.ledger.model import Entry, Needs, RankLedger
from tb_npu_plugin.analysis.ledger.waits import RankWaits, RunWaits
from tb_npu_plugin.analysis.run.communication import RunCommunication, computing_times
from tb_npu_plugin.analysis.run.devices import RankDevice
from tb_npu_plugin.analysis.steps.of_span import averaged_of_span
from tb_npu_plugin.analysis.steps.partition import Step
from tb_npu_plugin.schema.formats import KINETO

#: Of a wait: detail of its entry, and the rank that is waited for.
_Awaited = tuple[str, Optional[int]]


class _Wait(NamedTuple):
    """Exposed waiting, ns: the estimate, the least and the largest possible."""

    ns: int
    low_ns: int
    high_ns: int


@dataclass(frozen=True)
class _Sums:
    """Sums over steps, ns. waiting: None if nothing tells it apart from transfer."""

    computing: int
    exposed: int
    copies: int
    idle: int
    waiting: Optional[Mapping[_Awaited, _Wait]]


def ledgers_of(run: RunCommunication, waits: RunWaits, idle: Mapping[str, Sequence[DeviceIdle]]) -> list[RankLedger]:
    """The ledger of each line that has steps. idle: by token of the span; missing without a trace."""
    out = []
    for at, line in enumerate(run.lines):
        steps = [step for step in averaged_of_span(line.span, line.steps) if step.total_ns is not None]
        if steps:
            found = [_of_step(run, at, step, waits.lines[at]) for step in steps]
            device = next((one for one in idle.get(line.span.token, ()) if one.device_id == line.device_id), None)
            out.append(_mean(line, steps, found, device))
    return _with_bounds(out)


def _of_step(run: RunCommunication, at: int, step: Step, waits: RankWaits) -> _Sums:
    exposed = step.communication_not_overlapped or 0
    waiting = _waiting(run, at, step, waits) if exposed else {}
    return _Sums(step.computing or 0, exposed, step.copying or 0, step.free or 0, waiting)


def _waiting(run: RunCommunication, at: int, step: Step, waits: RankWaits) -> Optional[dict[_Awaited, _Wait]]:
    """Exposed waiting of a step: of operators whose wait is told by awaited rank, of the others its bounds. None if nothing
    tells it from transfer."""
    table = run.collectives[at]
    if table is None:
        return None
    rows = np.flatnonzero(
        table.text("step").equals(step.step) if step.step is not None else np.ones(len(table), dtype=bool)
    )
    told, left, hidden = _told_waiting(run, at, step, waits)
    if waits.is_told[rows].all():
        return told if len(rows) else None
    bounds = bounds_of(
        run, at, rows, rows[~waits.is_told[rows]], (step.communication_not_overlapped or 0) + (step.overlapped or 0)
    )
    if bounds is None:
        return told or None
    for detail, (low, high) in exposed_bounds(bounds, left, hidden).items():
        before = told.get((detail, None), _Wait(0, 0, 0))
        told[detail, None] = _Wait(before.ns + low, before.low_ns + low, before.high_ns + high)
    is_vague = all(one.low_ns == 0 for one in told.values()) and sum(one.high_ns for one in told.values()) >= left
    return None if is_vague else told


def _told_waiting(
    run: RunCommunication, at: int, step: Step, waits: RankWaits
) -> tuple[dict[_Awaited, _Wait], int, int]:
    """Waits that are told, by awaited rank: what lies in no computing, and in no wait that began earlier. Then the exposed and
    the hidden communication that is left, ns."""
    table, line = run.collectives[at], run.lines[at]
    assert table is not None
    rows = np.flatnonzero(
        table.text("step").take(waits.row).equals(step.step) if step.step is not None else waits.row >= 0
    )
    computing = computing_times(line)
    covered = Intervals(*(np.zeros(0, dtype=np.int64) for _ in range(2))) if computing is None else computing
    hidden, left = step.overlapped or 0, step.communication_not_overlapped or 0
    out: dict[_Awaited, _Wait] = {}
    for number in rows.tolist():
        time = Intervals(waits.start[number : number + 1], waits.end[number : number + 1])
        most = min(intervals.subtract(time, covered).total, left)
        covered, left = intervals.merge(covered, time), left - most
        owner, row = int(waits.owner[number]), int(waits.row[number])
        key = "p2p" if waits.is_p2p[number] else "collective", _rank_of(run, at, owner, row)
        before = out.get(key, _Wait(0, 0, 0))
        maybe_hidden = min(most, hidden) if computing is None else 0
        out[key] = _Wait(before.ns + most, before.low_ns + most - maybe_hidden, before.high_ns + most)
        hidden -= maybe_hidden
    return out, left, hidden


def _rank_of(run: RunCommunication, at: int, owner: int, row: int) -> Optional[int]:
    if owner >= 0:
        return run.lines[owner].span.capture.rank
    table = run.collectives[at]
    return None if table is None else run.rank_of(table.text("group")[row], int(run.waits_for_last[at].peer[row]))


def _mean(line: RankDevice, steps: Sequence[Step], found: Sequence[_Sums], idle: Optional[DeviceIdle]) -> RankLedger:
    """The mean of the steps. Rounding goes into the last entry, so that the sum is exact."""
    count = len(steps)
    window = sum(step.total_ns or 0 for step in steps) // count
    computing, exposed, copies = (
        sum(getattr(one, key) for one in found) // count for key in ("computing", "exposed", "copies")
    )
    waiting = _mean_waiting([one.waiting for one in found])
    sums = _Sums(computing, exposed, copies, window - computing - exposed - copies, waiting)
    before = sum(map(_before, steps)) // count
    entries = [
        _certain("computing", sums.computing),
        *_communication(sums),
        _certain("copies", sums.copies),
        *_idle(sums.idle, steps, idle, ("late",) if line.span.format == KINETO.id else ("late", "before")),
    ]
    return RankLedger(line.span, line.device_id, window, before, tuple(one for one in entries if one.high_ns))


def _before(step: Step) -> int:
    """Time before the first task of a step, in which no task of another step runs either, ns."""
    found = step.preparing if step.exposed_preparing is None else step.exposed_preparing
    return found or 0


def _mean_waiting(found: Sequence[Optional[Mapping[_Awaited, _Wait]]]) -> Optional[dict[_Awaited, _Wait]]:
    sums: dict[_Awaited, list[_Wait]] = {}
    for one in found:
        if one is None:
            return None
        for key, wait in one.items():
            sums.setdefault(key, []).append(wait)
    return {key: _Wait(*(sum(times) // len(found) for times in zip(*waits))) for key, waits in sums.items()}


def _certain(kind: str, ns: int) -> Entry:
    return Entry(kind, "", ns, ns, ns, None, "")  # type: ignore[arg-type]


def _communication(sums: _Sums) -> list[Entry]:
    """Exposed communication: the waits, the longest first, and the rest."""
    if sums.waiting is None:
        return [Entry("communication", "", sums.exposed, sums.exposed, sums.exposed, None, "ranks")]
    waits = sorted(sums.waiting.items(), key=lambda one: -one[1].high_ns)
    entries = [
        Entry("waiting", detail, *wait, rank, "" if wait.low_ns == wait.high_ns else "trace")
        for (detail, rank), wait in waits
    ]
    ns, low, high = (sum(getattr(one, key) for one in entries) for key in _Wait._fields)
    return [
        *entries,
        Entry("transfer", "", sums.exposed - ns, max(0, sums.exposed - high), sums.exposed - low, None, ""),
    ]


def _idle(total: int, steps: Sequence[Step], idle: Optional[DeviceIdle], told: Sequence[Launch]) -> list[Entry]:
    """Idle time by the launch of the task that ends it; without a trace its cause is not recorded. told: launches that are a
    cause; a GPU that idles although it has the work replays a graph, or its trace lacks tasks."""
    numbers = [] if idle is None else [at for at, one in enumerate(idle.steps) if one in steps]
    if idle is None or not numbers:
        return [_unexplained(total, "trace")]
    times = {
        launch: sum(one.time_ns for at in numbers for one in idle.of_step(at) if one.launch == launch) // len(steps)
        for launch in told
    }
    entries = [Entry("idle", launch, ns, ns, ns, None, "") for launch, ns in times.items()]
    return [*entries, _unexplained(total - sum(times.values()), "trace")]


def _unexplained(ns: int, needs: Needs) -> Entry:
    return Entry("unexplained", "idle", ns, ns, ns, None, needs)


def _with_bounds(ledgers: Sequence[RankLedger]) -> list[RankLedger]:
    """Where nothing else tells waiting from transfer on any rank: a rank waits at least as long as it communicates longer than
    the one that communicates least, as all share their collectives."""
    unknown = [one for one in ledgers if one.total("communication")]
    if len(unknown) < 2 or len(unknown) < len(ledgers):
        return list(ledgers)
    least = min(one.total("communication") for one in unknown)
    return [replace(one, entries=tuple(_bounded(one, least))) for one in ledgers]


def _bounded(ledger: RankLedger, least: int) -> list[Entry]:
    out: list[Entry] = []
    for one in ledger.entries:
        if one.entry == "communication":
            low = one.ns - least
            out.append(Entry("waiting", "collective", low, low, one.ns, None, "trace"))
            out.append(Entry("transfer", "", least, 0, least, None, "trace"))
        else:
            out.append(one)
    return out
