"""One step that was carried out: its plan, its times, and the segment that comes of both."""

from __future__ import annotations

from typing import NamedTuple, Optional

import numpy as np

from tb_npu_plugin.capture.simulation.allocator import Allocated
from tb_npu_plugin.capture.simulation.columns import Ints
from tb_npu_plugin.capture.simulation.device import ACL, AFTER, DEQUEUE, FIRST_TASK, MARK_CALL, TASK_BITS, LaunchTimes
from tb_npu_plugin.capture.simulation.meters import Meters
from tb_npu_plugin.capture.simulation.plan import Plan
from tb_npu_plugin.capture.simulation.records import (
    CannCall,
    CommOp,
    GcPause,
    HostOp,
    OpInfo,
    Process,
    PyCall,
    Queued,
    Segment,
    Task,
    by_start,
)
from tb_npu_plugin.capture.simulation.records import Step as Mark
from tb_npu_plugin.capture.simulation.samples import Allocation, Totals

STEP_MARK = "ProfilerStep#"


class Counters(NamedTuple):
    """What was counted before a step: elements of the task queue, CANN calls, Python calls, links of operators."""

    correlation: int = 8000
    connection: int = 900
    frames: int = 0
    sequence: int = 0

    def behind(self, plan: Plan) -> Counters:
        """After a step of this plan."""
        return Counters(
            self.correlation + len(plan.queue),
            self.connection + len(plan.calls),
            self.frames + len(plan.frames),
            self.sequence + plan.sequences,
        )


class Step:
    """What was drawn for a step, and when everything happened.

    clock       time of each tick; that of the plan until the end of the step (apply_host_delay)
    launches, compiling, sized, prepared   columns of the kernel launches: ns of compiling, of the call for the size of the
                workspace on the launching thread, and of taking it, too; copies, exchanges: ns of those calls
    queue       (when CANN is called, launches the kernel, the kernel starts) of each element of the queue, 0: it does not
    copied      (start, ns) of the tasks of copies; waits: (start, end), None where there was nothing to wait for
    lates       (tick, by): from that tick on the host is later by as much
    memory      state of the allocator after each event of the plan
    ops         operators, if records are kept; comm: communication operators so far; exchanged: how many
    """

    clock: Ints
    launches: LaunchTimes
    compiling: Ints
    sized: Ints
    prepared: Ints
    copies: Ints
    exchanges: Ints

    def __init__(self, plan: Plan, number: int, counters: Counters) -> None:
        self.plan, self.number, self.counters = plan, number, counters
        self.queue: list[tuple[int, int, int]] = []
        self.copied: list[tuple[int, int]] = []
        self.waits: list[Optional[tuple[int, int]]] = []
        self.lates: list[tuple[int, int]] = []
        self.memory: list[Allocated] = []
        self.ops: list[HostOp] = []
        self.comm: list[CommOp] = []
        self.exchanged = 0
        self.pauses: list[GcPause] = []

    def apply_host_delay(self) -> None:
        """The step is done: let the clock show how late the host was."""
        if self.lates:
            by = np.zeros(len(self.clock), dtype=np.int64)
            for tick, late in self.lates:
                by[tick] += late
            self.clock += np.cumsum(by)


class Recording:
    """Makes the segments of one rank. threads: by plan.Thread; queues: there is a task queue."""

    def __init__(self, process: Process, threads: tuple[int, ...], meters: Meters, queues: bool) -> None:
        self._process, self._threads, self._meters, self._queues = process, threads, meters, queues
        self._tasks: dict[int, int] = {}

    def next_number(self, stream: int) -> int:
        """Number of a task that is in no plan."""
        return self._count(stream) & ((1 << TASK_BITS) - 1)

    def _count(self, stream: int) -> int:
        number = self._tasks[stream] = self._tasks.get(stream, FIRST_TASK) + 1
        return number

    def begin(self, step: Step) -> None:
        """Make the operators of a step; they get their times at its end."""
        before, mark = step.counters.sequence, OpInfo(f"{STEP_MARK}{step.number}")
        for info, thread, _, number, backward in step.plan.ops:
            sequence = number + before if number >= 0 else -1
            step.ops.append(HostOp(info or mark, self._threads[thread], 0, 0, sequence, int(backward)))

    def segment(self, step: Step, until: int) -> Segment:
        """The records of a step. until: nothing later begins before."""
        clock: list[int] = step.clock.tolist()
        plan, process = step.plan, self._process
        start, end = (clock[tick] for tick in plan.step)
        for op, row, last in zip(step.ops, plan.ops, plan.op_ends):
            op.start, op.end = clock[row.start], clock[last]
        frames = step.counters.frames
        python = [
            PyCall(
                frame.name,
                process.pid,
                clock[frame.start],
                clock[last],
                frame.id + frames,
                frame.parent + frames if frame.parent else 0,
                frame.module,
            )
            for frame, last in zip(plan.frames, plan.frame_ends)
        ]
        mark = Mark(step.number, start, end) if process.marks else None
        segment = Segment(mark, until, step.ops, python, gc=step.pauses)
        if process.npu:
            self._device(step, clock, segment)
            segment.comm = sorted(step.comm, key=by_start)
        self._memory(step, clock, segment)
        return segment

    # -- the device ---------------------------------------------------------------------------------
    def _device(self, step: Step, clock: list[int], segment: Segment) -> None:
        """Tasks on streams, the calls of CANN for them and on the host, and the task queue."""
        plan, elements = step.plan, step.queue
        tasks: list[Optional[tuple[int, int, int]]] = [None] * len(plan.tasks)  # start, ns, ACL call
        calls = [(0, 0)] * len(plan.calls)  # start, end
        done = [begin + MARK_CALL for begin, _, _ in elements]  # of marks; all others have their own
        drawn = step.launches
        columns = drawn.inner, drawn.closing, drawn.dur, step.sized, step.prepared, step.compiling
        for launch, *times in zip(plan.launches, *(column.tolist() for column in columns)):
            inner, closing, dur, sized, prepared, compiling = times
            begin, at, ready = elements[launch.place]
            tasks[launch.task] = ready, dur, at + ACL
            done[launch.place] = end = at + inner + closing
            calls[launch.node], calls[launch.node + 1] = (at, at + inner), (begin + prepared, end)
            if launch.size >= 0:
                calls[launch.size] = begin, begin + sized
            if launch.runtime >= 0:
                calls[launch.runtime] = at + 600, at + inner - 400
            if launch.compiles >= 0:
                calls[launch.compiles] = begin + 1_000, begin + compiling - 1_000
        copied = iter(step.copied)
        for (place, call, first, parts, _), took in zip(plan.copies, step.copies.tolist()):
            begin = elements[place][0]
            calls[call] = begin, begin + took
            done[place] = begin + took
            for task in range(first, first + parts):
                tasks[task] = (*next(copied), begin)
        for (place, call), took in zip(plan.exchanges, step.exchanges.tolist()):
            begin = elements[place][0]
            done[place] = begin + took
            for later in range(3):
                calls[call + later] = begin, begin + took - later * 1_000
        for call, first, last in plan.host_calls:
            calls[call] = clock[first], clock[last]
        for task, wait in zip(plan.waits, step.waits):
            if wait is not None:
                tasks[task] = wait[0], wait[1] - wait[0], 0
        segment.tasks = self._rows(step, tasks)
        segment.cann = self._calls(step, calls)
        if self._queues:
            numbers = range(step.counters.correlation + 1, step.counters.correlation + 1 + len(plan.queue))
            segment.queue = [
                Queued(
                    number,
                    item.name,
                    step.ops[item.op],
                    clock[item.tick],
                    clock[item.tick + 1],
                    begin - DEQUEUE,
                    end + AFTER,
                )
                for number, item, (begin, _, _), end in zip(numbers, plan.queue, elements, done)
            ]

    def _rows(self, step: Step, times: list[Optional[tuple[int, int, int]]]) -> list[Task]:
        """Tasks on streams, by start. times: start, ns, and when the launch passed through ACL, 0: it did not."""
        out = []
        for row, time in zip(step.plan.tasks, times):
            if time is None:
                continue
            start, dur, acl = time
            number = self._count(row.stream)
            task = Task(
                row.kernel,
                start,
                dur,
                row.stream,
                number & ((1 << TASK_BITS) - 1),
                row.connection + step.counters.connection,
                acl or None,
                self._threads[row.thread] if acl else 0,
                step.ops[row.op] if row.op >= 0 else None,
                row.size,
                number >> TASK_BITS,
            )
            if row.kernel.computes:
                self._meters.count(task)
            out.append(task)
        return sorted(out, key=by_start)

    def _calls(self, step: Step, times: list[tuple[int, int]]) -> list[CannCall]:
        """Calls of CANN, by start; the longer ones first. times: start and end."""
        first = step.counters.connection + 1
        out = [
            CannCall(call.level, call.name, call.item, call.mode, self._threads[call.thread], start, end, connection)
            for connection, (call, (start, end)) in enumerate(zip(step.plan.calls, times), first)
            if call.level
        ]
        return sorted(out, key=lambda call: (call.start, -call.end))

    # -- memory -------------------------------------------------------------------------------------
    @staticmethod
    def _memory(step: Step, clock: list[int], segment: Segment) -> None:
        plan, states = step.plan, step.memory
        sized, prepared = step.sized.tolist(), step.prepared.tolist()
        totals = []
        for total in plan.totals:
            if total.launch < 0:
                at = clock[total.tick] + total.later
            else:
                behind = prepared[total.launch] if total.later < 0 else sized[total.launch] + total.later
                at = step.queue[plan.launches[total.launch].place][0] + behind
            state = states[total.event] if total.event >= 0 else None
            sizes = (state.allocated, state.reserved, state.allocated) if state else total.sizes
            totals.append(Totals(total.component, at, *sizes))
        segment.totals = totals
        segment.memory = [
            Allocation(
                row.name,
                states[row.event].size if row.event >= 0 else row.size,
                clock[row.tick],
                totals[row.before],
                None if row.release is None else clock[row.release] + row.dur,
                None if row.active_release is None else clock[row.active_release] + row.dur,
                None if row.after is None else totals[row.after],
            )
            for row in plan.memory
        ]
