"""A capture on the device: what PyTorch ran on the simulated NPU, with the times that the host took and the model's device.

The host's operators are those of PyTorch's profiler, the device's work is that of the device's log. Both are put in order
of time, cut into steps, and each step becomes a plan that the simulation carries out. The computation of the stand-in
kernels on the CPU is no time of the host: its clock stands still meanwhile. It waits where a host with an NPU would: for a
value that it reads, for a synchronisation, and at the end of a step; what comes after a wait is later by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from tb_npu_plugin.capture.device.records import BACKWARD, Copy, Kind, Recording, Signature
from tb_npu_plugin.capture.recording.exchanges import Exchanges
from tb_npu_plugin.capture.recording.host_lane import Call, Function, HostLane, stacks_of
from tb_npu_plugin.capture.recording.marks import Marks
from tb_npu_plugin.capture.recording.memory import Change, Memory
from tb_npu_plugin.capture.recording.operations import Operations
from tb_npu_plugin.capture.recording.raw_data import HostData
from tb_npu_plugin.capture.recording.recorded_host import RecordedHost, RecordedPlanner
from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.columns import Ints
from tb_npu_plugin.capture.simulation.host import Place
from tb_npu_plugin.capture.simulation.kernels import KernelFactory
from tb_npu_plugin.capture.simulation.plan import Circumstances
from tb_npu_plugin.capture.simulation.records import GcPause, OpInfo, Process, PyCall, Segment, outer_first
from tb_npu_plugin.capture.simulation.step import STEP_MARK

#: ns of host time that the last launch takes at most beyond what was recorded.
_ROOM = 8_000
_END = 1 << 62
_COMPUTED = (Kind.OPERATOR, Kind.COPY, Kind.COLLECTIVE, Kind.COLLECTIVE_WAIT)


class HostClock:
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


class EventKind(IntEnum):
    """What happens on the host."""

    CALL_BEGINS = 0
    CALL_ENDS = 1
    FUNCTION_BEGINS = 2
    FUNCTION_ENDS = 3
    RECORD = 4


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


class StepPlan:
    """The plan of one segment in the making.

    step         its mark; None: the capture has no steps
    rows         operators that are open: call -> row
    began, ended Python functions: number -> tick
    changes      of memory, each with the row of the operator that makes it (-1: none) and its tick
    """

    def __init__(self, step: Call | None, planner: RecordedPlanner) -> None:
        self.step, self.planner = step, planner
        self.step_row = -1
        self.rows: dict[int, int] = {}
        self.began: dict[int, int] = {}
        self.ended: dict[int, int] = {}
        self.changes: list[tuple[Change, int, int]] = []


class Replay:
    """One capture. `segments` may be taken once. log: what the device did."""

    def __init__(self, data: HostData, lane: HostLane, log: Recording, chip: Chip) -> None:
        settings = data.settings
        self._data, self._npu, self._log = data, settings.npu, log
        self._host_time = HostClock(log)
        recorded = {data.tid} | {tid for tid, _, _ in data.threads}
        self._rows = log.records
        autograd = {call.tid for call in lane.calls if call.forward} - recorded
        autograd |= set(np.unique(self._rows["thread"][(self._rows["flags"] & BACKWARD) > 0]).tolist()) - recorded
        self._shown_threads = recorded | autograd
        self._marks = Marks(data, self._npu, STEP_MARK)
        self._calls = outer_first(
            call for call in (*lane.calls, *self._marks.calls) if self._is_shown(call.tid, call.start)
        )
        self._functions = outer_first(item for item in lane.functions if self._is_shown(item.tid, item.start))
        self._stacks = stacks_of(self._calls, self._functions) if settings.host.with_stack else []
        tids = sorted({data.tid, *(call.tid for call in self._calls)})
        dequeue = max([*tids, *autograd]) + 1
        main, backward = data.tid, next(iter(sorted(autograd)), 0)
        others = [tid for tid in tids if tid not in (main, backward)]
        #: By plan.Thread; others behind.
        self._threads = (main, backward, dequeue, *others)
        self._thread_places = {tid: place for place, tid in enumerate(self._threads)}
        start, end = data.start, data.end or data.start
        self.process = Process(data.pid, data.device, settings.rank or 0, settings.world, start, end, settings.npu)
        self.process.soc, self.process.split = chip.soc, chip.split
        self.process.cube_cores, self.process.clock = chip.cube_cores, chip.clock
        self.process.dequeue_tid = dequeue
        self.process.marks = any(call.signature.name.startswith(STEP_MARK) for call in self._calls)
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
        self._exchanges = Exchanges(settings, chip, log)
        self.process.groups = self._exchanges.groups
        self._host.groups = {group.name: group.index for group in self.process.groups}
        self._host.device.meters.communicators = len(self._exchanges.groups)
        self._memory = Memory(chip.memory, _changes(self._rows))
        self._infos: dict[tuple[Any, tuple[str, ...]], OpInfo] = {}
        self._gc_from = 0

    def _is_shown(self, tid: int, at: int) -> bool:
        """The thread that started the capture, those of the backward pass, and those that asked for it while they did."""
        data = self._data
        asked = any(tid == other and since <= at < until for other, since, until in data.threads)
        return (
            tid == data.tid
            or asked
            or (tid in self._shown_threads and tid not in {other for other, _, _ in data.threads})
        )

    # -- segments -----------------------------------------------------------------------------------
    def segments(self) -> Iterator[Segment]:
        """One per step, each to the end of its mark and the last one to the end; one for all without steps."""
        steps: list[Any] = sorted(
            (call for call in self._calls if call.signature.name.startswith(STEP_MARK)), key=lambda call: call.start
        )
        bounds = [*(step.end for step in steps[:-1]), _END]
        for step, until, events in zip(steps or [None], bounds, self._events(bounds)):
            yield self._segment(step, until, events)

    def _events(self, bounds: list[int]) -> list[Ints]:
        """What happens in each segment, in order: rows of time, EventKind, and number among the calls, functions or records.

        What begins before a bound ends in the same segment.
        """
        limits = np.array(bounds, dtype=np.int64)

        def rows(begins: Ints, at: Ints, rank: int, tie: Ints, kind: int) -> Ints:
            segment = np.searchsorted(limits, begins, "right")
            return np.column_stack(np.broadcast_arrays(segment, at, rank, tie, kind, np.arange(len(at))))

        entries = self._rows["entry"]
        found = [rows(entries, entries, 2, np.arange(len(entries)), EventKind.RECORD)]
        both: list[tuple[EventKind, Sequence[Call | Function]]] = [
            (EventKind.CALL_BEGINS, self._calls),
            (EventKind.FUNCTION_BEGINS, self._functions),
        ]
        for kind, spans in both:
            starts, ends = (np.fromiter((span[place] for span in spans), np.int64, len(spans)) for place in (0, 1))
            ends = np.maximum(ends, starts + 1)
            # what ends makes room for what begins; the outer of two begins first and ends last
            found += [rows(starts, starts, 1, -ends, kind), rows(starts, ends, 0, -starts, kind + 1)]
        table = np.concatenate(found)
        segment, at, rank, tie, _, number = table.T
        table = table[np.lexsort((number, tie, rank, at, segment))]
        return [one[:, [1, 4, 5]] for one in np.split(table, np.searchsorted(table[:, 0], np.arange(1, len(bounds))))]

    def _segment(self, step: Call | None, until: int, events: Ints) -> Segment:
        """The segment of a step, with what begins before `until` (recorded time)."""
        ats, kinds, numbers = events.T
        times: list[int] = self._host_time(ats).tolist()
        planner = RecordedPlanner(self._around, times[0] if times else int(self._host_time(self._data.start)))
        made = StepPlan(step, planner)
        rows = self._rows[numbers[kinds == EventKind.RECORD]]
        records = map(Record._make, zip(*(rows[name].tolist() for name in Record._fields)))
        limits = [*times[1:], times[-1] + _ROOM] if times else []
        for now, limit, kind, number in zip(times, limits, kinds.tolist(), numbers.tolist()):
            planner.move_to(now, limit)
            if kind == EventKind.RECORD:
                self._plan_record(next(records), made)
            elif kind == EventKind.FUNCTION_BEGINS:
                made.began[number] = planner.tick
            elif kind == EventKind.FUNCTION_ENDS:
                made.ended[number] = planner.tick
            else:
                self._plan_call(number, kind == EventKind.CALL_BEGINS, made)
        if step is None:
            planner.rest()
        segment = self._host.carry_out(
            planner, int(step.signature.name[len(STEP_MARK) :]) if step else 0, self._exchanges.communicate
        )
        if step is None:
            segment.step = None
        clock = self._shown_clock(planner.times)
        segment.until = _END if until == _END else int(clock(until))
        self.process.end = max(
            self.process.end, int(clock(self._data.end or self._data.start)), self._host.device.busy_until()
        )
        self._add_host_events(until, made, clock, segment)
        if self._npu:
            self._host.device.meters.sample(segment, min(segment.until, self.process.end), self._memory.reserved)
        return segment

    def _plan_call(self, number: int, begins: bool, made: StepPlan) -> None:
        """Plan the begin or the end of an operator call."""
        planner, call = made.planner, self._calls[number]
        thread = self._thread_places.get(call.tid, 0)
        planner.use(thread, 0)
        if begins:
            row = made.rows[number] = planner.begin_operator(self._info(number), thread, call.sequence, call.forward)
            mark = self._marks.launches.get(call.signature)
            if mark is not None:
                planner.mark(call.signature.name, mark)
            if call is made.step:
                planner.plan.step, made.step_row = (planner.tick, 0), row
        else:
            if call is made.step:
                planner.rest()
                planner.plan.step = planner.plan.step[0], planner.tick
            planner.end_operator(made.rows.pop(number))

    def _shown_clock(self, times: list[int]) -> Callable[[Any], Any]:
        """From recorded time to the time that results show, as the last segment has it."""
        planned, late = np.array(times, dtype=np.int64), self._host.shown - np.array(times, dtype=np.int64)

        def clock(at: Any) -> Any:
            now = self._host_time(at)
            return np.asarray(now + late[np.maximum(np.searchsorted(planned, now, "right") - 1, 0)])

        return clock

    def _add_host_events(self, until: int, made: StepPlan, clock: Callable[[Any], Any], segment: Segment) -> None:
        """Add what is on the host beside operators: Python, collections, marks, memory."""
        host, shown = self._data.settings.host, self._host.shown
        for number, begin in made.began.items():
            item = self._functions[number]
            if host.with_stack or item.module is not None:
                start, end = int(shown[begin]), int(shown[made.ended[number]])
                segment.python.append(PyCall(item.name, item.tid, start, end, item.id, item.parent, item.module))
        segment.gc = [
            GcPause(tid, int(clock(start)), int(clock(end)))
            for start, end, tid in self._data.collections
            if self._gc_from <= start < until
        ]
        self._gc_from = until
        segment.tasks += self._marks.tasks(self._host.take_marks())
        self._marks.take(until, lambda at: int(clock(at)), segment)
        infos = [op.info or OpInfo("") for op in made.planner.plan.ops]
        changes = [
            (change._replace(at=int(shown[tick])), infos[row].name if row >= 0 else "")
            for change, row, tick in made.changes
        ]
        self._memory.write(changes, segment)

    def _info(self, number: int) -> OpInfo:
        signature, stack = self._calls[number].signature, self._stacks[number] if self._stacks else ()
        found = self._infos.get((signature, stack))
        if found is None:
            found = self._infos[signature, stack] = OpInfo(signature.name, signature.shapes, signature.types, stack)
        return found

    # -- records ------------------------------------------------------------------------------------
    def _plan_record(self, record: Record, made: StepPlan) -> None:
        """Plan what a record of the device says."""
        planner, kind, thread = made.planner, record.kind, record.thread
        if kind in (Kind.VIEW, Kind.ARRIVAL):
            return
        place = self._thread_places.get(thread, 0)
        planner.use(place, record.stream)
        if kind in (Kind.ALLOCATE, Kind.FREE):
            size = record.bytes if kind == Kind.ALLOCATE else -record.bytes
            made.changes.append((Change(0, thread, record.id, size), planner.innermost, planner.tick))
            return
        if not self._npu or not self._is_shown(thread, record.entry):
            return
        signature = self._log.signatures[record.signature] if record.signature >= 0 else None
        is_unseen = planner.innermost in (-1, made.step_row)  # PyTorch's profiler has no operator here
        if is_unseen:
            planner.begin_operator(OpInfo(signature.name.partition(".")[0] if signature is not None else "npu"), place)
        self._plan_work(planner, record, signature)
        if is_unseen:
            planner.end_operator(planner.innermost)

    def _plan_work(self, planner: RecordedPlanner, record: Record, signature: Signature | None) -> None:
        kind = record.kind
        if kind == Kind.OPERATOR and signature is not None:
            planner.run(self._operations.launches(record.signature, signature))
        elif kind == Kind.COPY:
            if record.detail == Copy.DEVICE_TO_DEVICE and signature is not None:
                planner.run(self._operations.launches(record.signature, signature))
            else:
                planner.copy(record.bytes, record.detail == Copy.DEVICE_TO_HOST, 1)
        elif kind == Kind.SYNC:
            planner.synchronize()
        elif kind == Kind.EVENT_RECORD:
            planner.record_event(record.id)
        elif kind == Kind.STREAM_WAIT:
            planner.wait_for(("event", record.id))
        elif kind == Kind.COLLECTIVE_WAIT:
            planner.wait_for(("collective", record.id))
        elif kind == Kind.COLLECTIVE and signature is not None:
            transfer = self._exchanges.transfer(signature, record.id)
            if transfer is not None:
                planner.communicate(transfer)


def _changes(rows: Any) -> list[Change]:
    """What is allocated and freed."""
    kinds = rows["kind"]
    found = rows[(kinds == Kind.ALLOCATE) | (kinds == Kind.FREE)]
    signs = np.where(found["kind"] == Kind.ALLOCATE, 1, -1)
    columns = (found["entry"], found["thread"], found["id"], found["bytes"] * signs)
    return [Change(*row) for row in zip(*(column.tolist() for column in columns))]
