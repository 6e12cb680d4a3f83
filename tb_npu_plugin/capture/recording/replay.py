"""A capture on the device: what PyTorch ran on the simulated NPU, with the times that the host took and the model's device.

The host's operators are those of PyTorch's profiler, the device's work is that of the device's log. The computation of the
stand-in kernels on the CPU is no time of the host: its clock stands still meanwhile. It waits where a host with an NPU
would: for a value that it reads, for a synchronisation, and at the end of a step; what comes after a wait is later by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.capture.device.records import BACKWARD, Copy, Kind, Recording, Signature
from tb_npu_plugin.capture.recording.exchanges import Exchanges
from tb_npu_plugin.capture.recording.host_lane import Call, Function, HostLane, stacks_of
from tb_npu_plugin.capture.recording.marks import Marks, StreamMark, StreamMoment
from tb_npu_plugin.capture.recording.memory import Change, Memory
from tb_npu_plugin.capture.recording.operations import Operations
from tb_npu_plugin.capture.recording.raw_data import HostData
from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.device import EVENT_WAIT, MARK_ARRIVES, MARK_CALL, STREAM, Floats, stream_of
from tb_npu_plugin.capture.simulation.host import Host, HostFaults, Place
from tb_npu_plugin.capture.simulation.kernels import KernelFactory
from tb_npu_plugin.capture.simulation.launch import Launch
from tb_npu_plugin.capture.simulation.plan import Action, Circumstances, Op, Plan, Row
from tb_npu_plugin.capture.simulation.planner import Planner
from tb_npu_plugin.capture.simulation.program import Transfer
from tb_npu_plugin.capture.simulation.records import GcPause, Kernel, OpInfo, Process, PyCall, Segment, outer_first

STEP = "ProfilerStep#"
#: ns of host time that a launch takes at most beyond what was recorded, where nothing else happens meanwhile.
_ROOM = 8_000
#: ns of the call that lets a stream wait (assumed).
_STREAM_CALL = 2_000
#: ns between two things that happen on the host.
_LEAST = 10
_END = 1 << 62
#: First stream of the device beside the default one, and that of random numbers.
_OTHER_STREAMS = 30
_COMPUTED = (Kind.OPERATOR, Kind.COPY, Kind.COLLECTIVE, Kind.COLLECTIVE_WAIT)
Ints = NDArray[np.int64]


class StillClock:
    """Host time without the computation of stand-in kernels."""

    def __init__(self, log: Recording) -> None:
        rows = log.of(*_COMPUTED)
        rows = rows[np.argsort(rows["begin"], kind="stable")]
        begins, ends = rows["begin"], np.maximum.accumulate(rows["end"])
        is_first = np.ones(len(rows), dtype=bool)  # of those that overlap
        is_first[1:] = begins[1:] > ends[:-1]
        self._begins: Ints = begins[is_first]
        self._ends: Ints = ends[np.append(is_first[1:], True)[: len(rows)]]
        self._removed: Ints = np.concatenate([[0], np.cumsum(self._ends - self._begins)])

    def __call__(self, times: Any) -> Any:
        """Times, or one, without what was computed before."""
        place = np.searchsorted(self._begins, times, "right")
        if not len(self._begins):
            return np.asarray(times)
        last = np.maximum(place - 1, 0)
        inside = np.where(place > 0, np.maximum(0, self._ends[last] - times), 0)
        return np.asarray(times) - self._removed[place] + inside


class What(IntEnum):
    """Of a happening."""

    BEGIN = 0
    END = 1
    RECORD = 2
    ENTER = 3
    LEAVE = 4


@dataclass
class Part:
    """What one segment is made of: everything that begins before `until` (recorded time)."""

    step: Call | None
    until: int
    happenings: Ints = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))


class RecordedPlanner(Planner):
    """Makes the plan of a segment from what happened, in order of time. times: host time of each tick."""

    def __init__(self, around: Circumstances, start: int) -> None:
        super().__init__(around, set())
        self.plan.once = True
        self.times, self.limit, self.now, self._stream = [start], _END, start, 0
        self._stacks: dict[int, list[int]] = {}

    def move_to(self, now: int, limit: int) -> None:
        """It is this time; what takes time ends before `limit`."""
        self.now, self.limit = max(now, self.now + _LEAST), limit
        self._wait_tick()

    def spend(self, ns: int) -> None:
        """Host time passes, as far as there is any."""
        self.now += max(_LEAST, min(ns, self.limit - self.now))
        self._wait_tick()

    def _wait_tick(self) -> int:
        self.times.append(self.now)
        self._tick += 1
        return self._tick

    def use(self, thread: int, stream: int) -> None:
        """What follows happens on this thread and stream."""
        self._open = self._stacks.setdefault(thread, [])
        self._stream = stream

    def _caller(self) -> int:
        return self.plan.ops[self._open[-1]].thread

    def _stream_of(self, kernel: Kernel) -> int:
        return self.device_stream if (found := stream_of(kernel)) == STREAM else found

    @property
    def device_stream(self) -> int:
        """Number of the stream in results."""
        return STREAM if not self._stream else _OTHER_STREAMS + self._stream

    def _use_workspace(self, size: int) -> None:
        """The log has what was allocated."""

    @property
    def innermost(self) -> int:
        """Row of the operator that is open; -1: none is."""
        return self._open[-1] if self._open else -1

    def begin_operator(self, info: OpInfo, thread: int, sequence: int, forward: int) -> int:
        """Begin an operator."""
        self.plan.ops.append(Op(info, thread, self._tick, sequence, forward))
        self.plan.op_ends.append(self._tick)
        self._open.append(len(self.plan.ops) - 1)
        return self._open[-1]

    def end_operator(self, row: int) -> None:
        """End it."""
        self.plan.op_ends[row] = self._tick
        if row in self._open:
            self._open.remove(row)

    def run(self, launches: tuple[Launch, ...]) -> None:
        """Launch kernels, which were compiled before the capture."""
        for launch in launches:
            if launch.compiled:
                self._known.add(launch.kernel)
            self.launch(launch)

    def mark(self, name: str, mark: StreamMark) -> None:
        """Put a mark on the stream."""
        call = self._call("", name, "", "", self._caller())  # it takes a connection, and is no call of CANN
        self._enqueue(Action.MARK, name, 0, (mark, self.device_stream, call))

    def record_event(self, event: int) -> None:
        """Record an event on the stream."""
        self.plan.actions.append((Action.RECORD_EVENT, 0, (event, self.device_stream)))

    def wait_for(self, awaited: tuple[str, int]) -> None:
        """Let the stream wait for an event or a collective."""
        plan, start = self.plan, self._tick
        self.spend(_STREAM_CALL)
        call = self._call("acl", "aclrtStreamWaitEvent", "0", "ACL_RTS", self._caller())
        plan.host_calls.append((call, start, self._tick))
        plan.actions.append((Action.WAIT, len(plan.waits), awaited))
        plan.waits.append(len(plan.tasks))
        plan.tasks.append(Row(EVENT_WAIT, self.device_stream, -1, call + 1))

    def rest(self) -> None:
        """Wait for the device without a call."""
        start = self._wait_tick()
        self._wait_tick()
        self.plan.actions.append((Action.SYNCHRONIZE, start, None))


class Record(NamedTuple):
    """What is read of a record of the device (device/records.py)."""

    entry: int
    kind: int
    thread: int
    stream: int
    id: int
    bytes: int
    signature: int
    detail: int


def _records(rows: Any) -> Iterator[Record]:
    return map(Record._make, zip(*(rows[name].tolist() for name in Record._fields)))


@dataclass
class Walk:
    """What has happened in a segment so far. records: that come; step_row: of the mark of the step; rows: of operators that are open; entered, left: Python functions by number, with
    ticks; changes: of memory, with the row of the operator and the tick."""

    planner: RecordedPlanner
    records: Iterator[Record]
    step: tuple[int, int] = (0, 0)
    step_row: int = -1
    rows: dict[int, int] = field(default_factory=dict)
    entered: dict[int, int] = field(default_factory=dict)
    left: dict[int, int] = field(default_factory=dict)
    changes: list[tuple[Change, int, int]] = field(default_factory=list)


class RecordedHost(Host):
    """A host whose times are recorded."""

    def __init__(self, place: Place) -> None:
        super().__init__(place, HostFaults())
        self.times: list[int] = []
        self._late = 0  # ns by which results show the host later than it was recorded
        self.shown: Ints = np.zeros(0, dtype=np.int64)  # times of the last segment's ticks, as results show them
        self._events: dict[int, int] = {}
        self._marked: list[StreamMoment] = []
        self.done: dict[int, int] = {}  # collective -> its end

    def _clock(self, plan: Plan, draws: Floats) -> Ints:
        return np.array(self.times, dtype=np.int64) + self._late

    def _record_event(self, argument: Any) -> None:
        event, stream = argument
        self._events[event] = self.device.stream_until(stream)

    def _mark(self, argument: Any, start: int) -> int:
        mark, stream, call = argument
        assert self._recording is not None
        begin, at = self.device.point(start, MARK_CALL, MARK_ARRIVES)
        self._marked.append(
            StreamMoment(mark, at, self._recording.next_number(stream), self._counters.connection + call + 1)
        )
        return begin

    def take_marks(self) -> list[StreamMoment]:
        """The marks that streams have passed since the last call, in order."""
        found, self._marked = self._marked, []
        return found

    def _awaited(self, argument: Any) -> int:
        kind, number = argument
        return (self._events if kind == "event" else self.done).get(number, 0)

    def carry_out(self, plan: Plan, times: list[int], number: int) -> Iterator[Transfer]:
        """A segment; stops at each collective, as Host.run."""
        self.times = times
        step = self._step = self._begin(plan, number)
        self._draw(step)
        yield from self._carry_out(step)
        step.apply_host_delay()
        self.shown = step.clock
        self.now = int(step.clock[-1])
        self._late = self.now - times[-1]
        step.memory = self.allocator.carry_out(plan.events)
        self._counters = self._counters.behind(plan)

    def recorded_segment(self) -> Segment:
        """What the segment left behind; its end is not known here."""
        step, self._step = self._step, None
        assert step is not None and self._recording is not None
        return self._recording.segment(step, 0)


class Replay:
    """One capture. `segments` may be taken once. log: what the device did; None: nothing."""

    def __init__(self, data: HostData, lane: HostLane, log: Recording, chip: Chip) -> None:
        settings = data.settings
        self._data, self._npu, self._log = data, settings.simulates, log
        self._still = StillClock(log)
        recorded = {data.tid} | {tid for tid, _, _ in data.threads}
        self._rows = log.records
        autograd = {call.tid for call in lane.calls if call.forward} - recorded
        autograd |= set(np.unique(self._rows["thread"][(self._rows["flags"] & BACKWARD) > 0]).tolist()) - recorded
        self._shown = recorded | autograd
        self._marks = Marks(data, self._npu, STEP)
        self._calls = outer_first(
            call for call in (*lane.calls, *self._marks.calls) if self._is_wanted(call.tid, call.start)
        )
        self._functions = outer_first(item for item in lane.functions if self._is_wanted(item.tid, item.start))
        self._stacks = stacks_of(self._calls, self._functions) if settings.host.with_stack else []
        tids = sorted({data.tid, *(call.tid for call in self._calls)})
        dequeue = max([*tids, *autograd]) + 1
        main, backward = data.tid, next(iter(sorted(autograd)), 0)
        others = [tid for tid in tids if tid not in (main, backward)]
        #: By plan.Thread; others behind.
        self._threads = (main, backward, dequeue, *others)
        self._thread_places = {tid: place for place, tid in enumerate(self._threads)}
        self.process = Process(
            data.pid,
            data.device,
            settings.rank or 0,
            settings.world,
            data.start,
            data.end or data.start,
            settings.npu,
            soc=chip.soc,
            split=chip.split,
            cube_cores=chip.cube_cores,
            clock=chip.clock,
        )
        self.process.dequeue_tid = dequeue
        self.process.marks = any(call.signature.name.startswith(STEP) for call in self._calls)
        place = Place(
            self.process,
            chip,
            f"{data.pid}/{data.start}",
            0,
            runtime=settings.level == "Level2",
            task_queue=settings.task_queue,
            threads=self._threads,
        )
        self._host = RecordedHost(place)
        launching = [dequeue] if settings.npu and settings.task_queue else []
        self.process.threads[:] = [*tids, *launching]
        self._around = Circumstances(False, True, settings.level == "Level2", 0, 0, 0, task_queue=settings.task_queue)
        self._operations = Operations(KernelFactory(chip))
        self._launches: dict[int, tuple[Launch, ...]] = {}
        self._exchanges = Exchanges(settings, chip, log)
        self.process.groups = self._exchanges.groups
        self._host.groups = {group.name: group.index for group in self.process.groups}
        self._host.device.meters.communicators = len(self._exchanges.groups)
        self._memory = Memory(chip.memory, _changes(self._rows))
        self._infos: dict[tuple[Any, tuple[str, ...]], OpInfo] = {}
        self._gc_from = 0

    def _is_wanted(self, tid: int, at: int) -> bool:
        """The thread that started the capture, those of the backward pass, and those that asked for it while they did."""
        data = self._data
        asked = any(tid == other and since <= at < until for other, since, until in data.threads)
        return tid == data.tid or asked or (tid in self._shown and tid not in {other for other, _, _ in data.threads})

    # -- segments -----------------------------------------------------------------------------------
    def segments(self) -> Iterator[Segment]:
        """One per step; one for all without steps."""
        parts = self._parts()
        for number, part in enumerate(parts):
            yield self._segment(part, is_last=number == len(parts) - 1)

    def _parts(self) -> list[Part]:
        """Cut at the end of each step; what follows the last one belongs to it. What has begun ends in the same part."""
        steps = sorted(
            (call for call in self._calls if call.signature.name.startswith(STEP)), key=lambda call: call.start
        )
        parts = [Part(step, step.end) for step in steps] or [Part(None, _END)]
        parts[-1].until = _END
        bounds = [part.until for part in parts]
        for part, happenings in zip(parts, self._happenings(bounds)):
            part.happenings = happenings
        return parts

    def _happenings(self, bounds: list[int]) -> list[Ints]:
        """By part, in order: rows of time, What, and number among the calls, functions or records."""
        entries, limits = self._rows["entry"], np.array(bounds, dtype=np.int64)
        rows = [_rows_of(limits, entries, entries, 2, np.arange(len(entries)), What.RECORD)]
        both: tuple[tuple[What, Sequence[Call | Function]], ...] = (
            (What.BEGIN, self._calls),
            (What.ENTER, self._functions),
        )
        for what, spans in both:
            starts, ends = (np.fromiter((span[place] for span in spans), np.int64, len(spans)) for place in (0, 1))
            ends = np.maximum(ends, starts + 1)
            # what ends makes room for what begins; the outer of two begins first and ends last
            rows.append(_rows_of(limits, starts, starts, 1, -ends, what))
            rows.append(_rows_of(limits, starts, ends, 0, -starts, What(what + 1)))
        table = np.concatenate(rows)
        part, at, rank, tie, _, number = table.T
        table = table[np.lexsort((number, tie, rank, at, part))]
        return [one[:, [1, 4, 5]] for one in np.split(table, np.searchsorted(table[:, 0], np.arange(1, len(bounds))))]

    def _segment(self, part: Part, is_last: bool) -> Segment:
        ats, kinds, numbers = part.happenings.T
        times: list[int] = self._still(ats).tolist()
        planner = RecordedPlanner(self._around, times[0] if times else int(self._still(self._data.start)))
        walk = Walk(planner, _records(self._rows[numbers[kinds == What.RECORD]]))
        limits = [*times[1:], times[-1] + _ROOM] if times else []
        for now, limit, what, number in zip(times, limits, kinds.tolist(), numbers.tolist()):
            planner.move_to(now, limit)
            self._happen(what, number, part, walk)
        if part.step is None:
            planner.rest()
        planner.plan.step = walk.step
        segment = self._carry_out(planner, part)
        shown, clock = self._host.shown, self._shown_clock(planner.times)
        segment.until = _END if is_last else int(clock(part.until))
        self.process.end = max(
            self.process.end, int(clock(self._data.end or self._data.start)), self._host.device.busy_until()
        )
        self._beside(part, walk, shown, clock, segment)
        if self._npu:
            self._host.device.meters.sample(segment, min(segment.until, self.process.end), self._memory.reserved)
        return segment

    def _happen(self, what: int, number: int, part: Part, walk: Walk) -> None:
        planner = walk.planner
        if what == What.RECORD:
            self._take(planner, next(walk.records), walk)
        elif what in (What.ENTER, What.LEAVE):
            (walk.entered if what == What.ENTER else walk.left)[number] = planner.tick
        elif what == What.BEGIN:
            call = self._calls[number]
            thread = self._thread_places.get(call.tid, 0)
            planner.use(thread, 0)
            walk.rows[number] = planner.begin_operator(self._info(number), thread, call.sequence, call.forward)
            mark = self._marks.launches.get(call.signature)
            if mark is not None:
                planner.mark(call.signature.name, mark)
            if call is part.step:
                walk.step, walk.step_row = (planner.tick, 0), walk.rows[number]
        else:
            call = self._calls[number]
            planner.use(self._thread_places.get(call.tid, 0), 0)
            if call is part.step:
                planner.rest()
                walk.step = walk.step[0], planner.tick
            planner.end_operator(walk.rows.pop(number))

    def _carry_out(self, planner: RecordedPlanner, part: Part) -> Segment:
        number = int(part.step.signature.name[len(STEP) :]) if part.step is not None else 0
        host = self._host
        for transfer in host.carry_out(planner.plan, planner.times, number):
            self._exchanges.communicate(host, transfer)
        segment = host.recorded_segment()
        if part.step is None:
            segment.step = None
        return segment

    def _shown_clock(self, times: list[int]) -> Any:
        """From recorded time to the time that results show, as the last segment has it."""
        planned, shown = np.array(times, dtype=np.int64), self._host.shown
        still = self._still

        def clock(at: Any) -> Any:
            now = still(at)
            place = np.maximum(np.searchsorted(planned, now, "right") - 1, 0)
            return np.asarray(now + (shown[place] - planned[place]))

        return clock

    def _beside(self, part: Part, walk: Walk, shown: Ints, clock: Any, segment: Segment) -> None:
        """What is on the host beside operators: Python, collections, memory."""
        host = self._data.settings.host
        segment.python = [
            PyCall(
                item.name, item.tid, int(shown[begin]), int(shown[walk.left[number]]), item.id, item.parent, item.module
            )
            for number, begin in walk.entered.items()
            for item in (self._functions[number],)
            if host.with_stack or item.module is not None
        ]
        segment.gc = [
            GcPause(tid, int(clock(start)), int(clock(end)))
            for start, end, tid in self._data.collections
            if self._gc_from <= start < part.until
        ]
        self._gc_from = part.until
        segment.tasks += self._marks.tasks(self._host.take_marks())
        self._marks.take(part.until, lambda at: int(clock(at)), segment)
        infos = [op.info or OpInfo("") for op in walk.planner.plan.ops]
        changes = [
            (change._replace(at=int(shown[tick])), infos[row].name if row >= 0 else "")
            for change, row, tick in walk.changes
        ]
        self._memory.write(changes, segment)

    def _info(self, number: int) -> OpInfo:
        signature, stack = self._calls[number].signature, self._stacks[number] if self._stacks else ()
        found = self._infos.get((signature, stack))
        if found is None:
            found = self._infos[signature, stack] = OpInfo(signature.name, signature.shapes, signature.types, stack)
        return found

    # -- records ------------------------------------------------------------------------------------
    def _take(self, planner: RecordedPlanner, row: Record, walk: Walk) -> None:
        """Plan what a record says."""
        kind, thread = row.kind, row.thread
        if kind in (Kind.VIEW, Kind.ARRIVAL):
            return
        planner.use(self._thread_places.get(thread, 0), row.stream)
        if kind in (Kind.ALLOCATE, Kind.FREE):
            size = row.bytes if kind == Kind.ALLOCATE else -row.bytes
            walk.changes.append((Change(0, thread, row.id, size), planner.innermost, planner.tick))
            return
        if not self._npu or not self._is_wanted(thread, row.entry):
            return
        signature = self._log.signatures[row.signature] if row.signature >= 0 else None
        own = planner.innermost in (-1, walk.step_row)
        if own:  # PyTorch's profiler did not see the operator
            name = signature.name.partition(".")[0] if signature is not None else "npu"
            planner.begin_operator(OpInfo(name), self._thread_places.get(thread, 0), -1, 0)
        self._plan(planner, kind, row, signature)
        if own:
            planner.end_operator(planner.innermost)

    def _plan(self, planner: RecordedPlanner, kind: int, row: Record, signature: Signature | None) -> None:
        if kind == Kind.OPERATOR and signature is not None:
            found = self._launches.get(row.signature)
            if found is None:
                found = self._launches[row.signature] = self._operations.launches(signature)
            planner.run(found)
        elif kind == Kind.COPY:
            if row.detail == Copy.DEVICE_TO_DEVICE and signature is not None:
                planner.run(self._operations.launches(signature))
            else:
                planner.copy(row.bytes, row.detail == Copy.DEVICE_TO_HOST, 1)
        elif kind == Kind.SYNC:
            planner.synchronize()
        elif kind == Kind.EVENT_RECORD:
            planner.record_event(row.id)
        elif kind == Kind.STREAM_WAIT:
            planner.wait_for(("event", row.id))
        elif kind == Kind.COLLECTIVE_WAIT:
            planner.wait_for(("collective", row.id))
        elif kind == Kind.COLLECTIVE and signature is not None:
            transfer = self._exchanges.transfer(signature, row.id)
            if transfer is not None:
                planner.communicate(transfer)


def _rows_of(limits: Ints, begun: Ints, at: Ints, rank: int, tie: Ints, what: What) -> Ints:
    """Rows of the part in which something has begun, time, what goes first at that time, What, and its number."""
    out = np.empty((len(at), 6), dtype=np.int64)
    out[:, 0] = np.searchsorted(limits, begun, "right")
    out[:, 1], out[:, 2], out[:, 3], out[:, 4], out[:, 5] = at, rank, tie, what, np.arange(len(at))
    return out


def _changes(rows: Any) -> list[Change]:
    """What is allocated and freed."""
    kinds = rows["kind"]
    found = rows[(kinds == Kind.ALLOCATE) | (kinds == Kind.FREE)]
    signs = np.where(found["kind"] == Kind.ALLOCATE, 1, -1)
    columns = (found["entry"], found["thread"], found["id"], found["bytes"] * signs)
    return [Change(*row) for row in zip(*(column.tolist() for column in columns))]
