"""Divides the mean step of each rank, or one of its steps, into entries.

Step = computing + exposed communication + copies + idle time, by the profiler or the kernels (steps/partition.py).
The waits of the rank divide the communication. The launches in its trace divide the idle time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Optional

from tb_npu_plugin.analysis.idle.model import DeviceIdle, Launch
from tb_npu_plugin.analysis.ledger.model import Entry, EntryKind, Needs, RankLedger
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.analysis.run.devices import RankDevice
from tb_npu_plugin.analysis.run.step_waits import Awaited, LineWaits, Wait
from tb_npu_plugin.analysis.steps import trajectory
from tb_npu_plugin.analysis.steps.iterations import TimeBetween, time_between
from tb_npu_plugin.analysis.steps.of_span import averaged_of_span, marks_of_timeline
from tb_npu_plugin.analysis.steps.partition import Step
from tb_npu_plugin.analysis.steps.parts import mean_step_ns
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.formats import KINETO

# The ledger of a rank of MindSpore up to 2.2, whose profiler records points of each step, and sums for each rank of a
# cluster.


def ledger_of_points(span: SpanData) -> Optional[RankLedger]:
    """The mean step; None without step times.

    With the sums of a cluster: exposed communication, and the time that is computing or idle. Else the points: the gap before the forward pass,
    forward and backward pass, and the tail. What ran on the device between two points is unknown.
    """
    course = trajectory.course(span.capture.rank, None, span.table("iterations"), span.table("parallel_times"))
    means = [found.figures for basis in ("mean", "recorded") if (found := course.row(basis)) is not None]
    figures = next((one for one in means if one.get("total_ns")), None)
    if figures is None:
        return None
    total = figures["total_ns"] or 0
    computing, communication = figures.get("computation_ns"), figures.get("communication_alone_ns")
    if computing is not None and communication is not None:
        total = max(total, computing + communication)
        entries = [
            _entry("computing", "or_idle", computing, "kernels"),
            _entry("communication", "", communication, "ranks"),
            _entry("unexplained", "idle", total - computing - communication, "trace"),
        ]
    else:
        gap, tail = (figures.get(key) or 0 for key in ("interval_ns", "tail_ns"))
        entries = [
            _entry("computing", "forward_backward", total - gap - tail, "kernels"),
            _entry("computing", "tail", tail, "kernels"),
            _entry("unexplained", "gap", gap, "trace"),
        ]
    return RankLedger(span, None, total, 0, 0, 0, 0, tuple(one for one in entries if one.ns))


def _entry(kind: EntryKind, detail: str, ns: int, needs: Needs) -> Entry:
    return Entry(kind, detail, ns, ns, ns, needs=needs)


#: Smaller differences of the lengths of a step are noise, as a share of it.
_LEAST_OUTSIDE = 0.01


def ledgers_of(
    run: RunCommunication,
    waits: Sequence[LineWaits],
    idle: Mapping[str, Sequence[DeviceIdle]],
    names: Optional[Collection[Optional[str]]] = None,
) -> list[RankLedger]:
    """The ledger of each line that has steps.

    Args:
        idle: Token of the span -> its devices; none without a trace.
        names: Steps whose mean it is of; None: those that enter the mean step.
    """
    out = []
    for at, line in enumerate(run.lines):
        averaged = averaged_of_span(line.span, line.steps) if names is None else line.steps
        steps = [step for step in averaged if step.total_ns is not None and (names is None or step.step in names)]
        if steps:
            found = [waits[at][step.step] for step in steps]
            waiting = [None if one is None else one.by_rank(run, at) for one in found]
            device = next((one for one in idle.get(line.span.token, ()) if one.device_id == line.device_id), None)
            fused = _fused(run, at, steps)
            unmatched = run.fused.unmatched.get(at, {})
            times = sum(unmatched.get(step.step, 0) for step in steps)
            out.append(_mean(line, steps, waiting, device, fused, times))
        elif names is None and (points := ledger_of_points(line.span)) is not None:
            out.append(points)
    return _with_bounds(_with_outside(out))


def _with_outside(ledgers: Sequence[RankLedger]) -> list[RankLedger]:
    """The ledgers, with what the step of the longest rank exceeds those without marks by: all ranks share their steps."""
    longest = max((one.window_ns + one.before_ns + one.after_ns for one in ledgers), default=0)
    out = []
    for one in ledgers:
        missing = longest - one.window_ns - one.before_ns - one.after_ns
        is_open = one.span.timeline is None and missing >= _LEAST_OUTSIDE * longest
        out.append(replace(one, outside_ns=max(one.outside_ns, missing)) if is_open else one)
    return out


def _mean(
    line: RankDevice,
    steps: Sequence[Step],
    waiting: Sequence[Optional[Mapping[Awaited, Wait]]],
    idle: Optional[DeviceIdle],
    fused: Sequence[Entry],
    unmatched: int,
) -> RankLedger:
    """The mean of the steps. Idle time is the rest, so that the sum is exact.

    Args:
        waiting: Of each step.
        fused: Mean waits in kernels.
        unmatched: Time of kernels in which waits are unknown, ns over all steps.
    """
    count = len(steps)
    window = mean_step_ns(steps) or 0
    computing, exposed, copies, hidden = (
        sum(getattr(step, key) or 0 for step in steps) // count
        for key in ("computing", "communication_not_overlapped", "copying", "overlapped")
    )
    # Parts that exceed the step: what comes first counts.
    computing = min(max(computing, 0), window)
    exposed = min(max(exposed, 0), window - computing)
    copies = min(max(copies, 0), window - computing - exposed)
    free = window - computing - exposed - copies
    before = sum(map(_before, steps)) // count
    marks = {} if line.span.format == KINETO.id else marks_of_timeline(line.span)
    after = sum(_after(step, marks) for step in steps) // count
    entries = [
        _computing(line, computing - sum(one.ns for one in fused), unmatched // count),
        *fused,
        *_communication(exposed, _mean_waiting(waiting)),
        _exact("copies", copies),
        *_idle(free, steps, idle, ("late",) if line.span.format == KINETO.id else ("late", "before")),
    ]
    outside = sum(max(0, (step.stage or 0) + (step.bubble or 0) - (step.total_ns or 0)) for step in steps) // count
    if outside < _LEAST_OUTSIDE * window:
        outside = 0
    shown = tuple(one for one in entries if one.high_ns)
    return RankLedger(line.span, line.device_id, window, before, after, outside, hidden, shown, _between(line))


def _between(line: RankDevice) -> Optional[TimeBetween]:
    """Time between all iterations of a serving engine."""
    if not line.span.rows("engine_iterations"):
        return None
    known = [(step.start_ns, step.total_ns) for step in line.steps]
    return time_between((start, start + time) for start, time in known if start is not None and time is not None)


def _computing(line: RankDevice, ns: int, unmatched: int) -> Entry:
    """Kernels may wait for other ranks inside: without kernels, or without the other ranks, how much of it is waiting is unknown."""
    if unmatched:
        return Entry("computing", "", ns, max(0, ns - unmatched), ns, needs="ranks")
    return _exact("computing", ns, needs="kernels" if line.span.table("kernels") is None else "")


def _fused(run: RunCommunication, at: int, steps: Sequence[Step]) -> list[Entry]:
    """Mean waits of a line inside kernels, by kernel and rank at the root."""
    waits = run.fused.of_line.get(at)
    if waits is None:
        return []
    names = {step.step for step in steps}
    sums: dict[Awaited, int] = {}
    for number in (number for number, step in enumerate(waits.step) if step in names):
        key = waits.kernel[number] or "", run.root_inside(at, number)
        sums[key] = sums.get(key, 0) + int(waits.end[number] - waits.start[number])
    means = sorted(((ns // len(steps), key) for key, ns in sums.items()), key=lambda one: -one[0])
    return [Entry("waiting", kernel, ns, ns, ns, rank) for ns, (kernel, rank) in means]


def _before(step: Step) -> int:
    """Time before the first task of a step, ns. If known, without the time in which tasks of other steps run."""
    found = step.preparing if step.exposed_preparing is None else step.exposed_preparing
    return found or 0


def _after(step: Step, marks: Mapping[str, tuple[int, int]]) -> int:
    """Time from the last task of a step to the end of its mark, ns; 0 if one is unknown, or the device ends later."""
    mark = marks.get(step.step or "")
    if mark is None or step.start_ns is None or step.total_ns is None:
        return 0
    return max(0, mark[1] - step.start_ns - (step.lead_ns or 0) - step.total_ns)


def _mean_waiting(found: Sequence[Optional[Mapping[Awaited, Wait]]]) -> Optional[dict[Awaited, Wait]]:
    sums: dict[Awaited, list[Wait]] = {}
    for one in found:
        if one is None:
            return None
        for key, wait in one.items():
            sums.setdefault(key, []).append(wait)
    return {key: Wait(*(sum(times) // len(found) for times in zip(*waits))) for key, waits in sums.items()}


def _exact(kind: EntryKind, ns: int, detail: str = "", needs: Needs = "") -> Entry:
    return Entry(kind, detail, ns, ns, ns, needs=needs)


def _communication(exposed: int, waiting: Optional[Mapping[Awaited, Wait]]) -> list[Entry]:
    """Entries of exposed communication: the waits, the longest first, and transfer as the rest."""
    if waiting is None:
        return [_exact("communication", exposed, needs="ranks")]
    waits = sorted(waiting.items(), key=lambda one: -one[1].high_ns)
    entries = [
        Entry("waiting", detail, *wait, rank, needs="" if wait.low_ns == wait.high_ns else "trace")
        for (detail, rank), wait in waits
    ]
    ns, low, high = (sum(getattr(one, key) for one in entries) for key in Wait._fields)
    return [*entries, Entry("transfer", "", exposed - ns, max(0, exposed - high), exposed - low)]


def _idle(total: int, steps: Sequence[Step], idle: Optional[DeviceIdle], causes: Sequence[Launch]) -> list[Entry]:
    """Entries of idle time, by the launch of the task that ends it. Without a trace, all of it is unexplained.

    causes: launches that explain idle time. "before" explains none on a GPU: it replays a graph or lacks tasks.
    """
    own = set(steps)
    numbers = [] if idle is None else [at for at, one in enumerate(idle.steps) if one in own]
    if idle is None or not numbers:
        return [_exact("unexplained", total, "idle", "trace")]
    found = idle.of_steps(numbers)
    entries, left = [], total  # files of a cut capture may hold more idle time than the step
    for launch in causes:
        time = sum(one.time_ns for one in found if one.launch == launch) // len(steps)
        entries.append(_exact("idle", min(time, left), launch))
        left -= entries[-1].ns
    return [*entries, _exact("unexplained", left, "idle", "trace")]


def _with_bounds(ledgers: Sequence[RankLedger]) -> list[RankLedger]:
    """Bounds of waiting by the communication of the other ranks, if no rank separates waiting from transfer.

    All ranks share their collectives. What a rank communicates longer than the shortest one is waiting; computing may hide as
    much of it as it hides of all communication.
    """
    unknown = [one for one in ledgers if one.total("communication")]
    if len(unknown) < 2 or len(unknown) < len(ledgers):
        return list(ledgers)
    least = min(one.total("communication") + one.hidden_ns for one in unknown)
    return [replace(one, entries=tuple(_bounded(one, least))) for one in ledgers]


def _bounded(ledger: RankLedger, least: int) -> list[Entry]:
    out: list[Entry] = []
    for one in ledger.entries:
        if one.entry == "communication":
            low = max(0, one.ns - least)
            out.append(Entry("waiting", "collective", low, low, one.ns, needs="trace"))
            out.append(Entry("transfer", "", one.ns - low, 0, one.ns - low, needs="trace"))
        else:
            out.append(one)
    return out
