"""One step that was carried out: its plan, its times, and the segment that comes of both."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from functools import cache
from typing import Any, NamedTuple, Optional

import numpy as np

from tb_npu_plugin.capture.simulation.allocations import Allocated, HeldColumns
from tb_npu_plugin.capture.simulation.columns import Columns
from tb_npu_plugin.capture.simulation.device import ACL, AFTER, DEQUEUE, FIRST_TASK, MARK_CALL, TASK_BITS, LaunchTimes
from tb_npu_plugin.capture.simulation.meters import Meters
from tb_npu_plugin.capture.simulation.plan import Plan
from tb_npu_plugin.capture.simulation.plan_arrays import Ints, ints
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
    """

    clock: Ints
    launches: LaunchTimes
    compiling: Ints
    sized: Ints
    prepared: Ints
    copies: Ints
    exchanges: Ints
    memory: Allocated

    def __init__(self, plan: Plan, number: int, counters: Counters) -> None:
        self.plan, self.number, self.counters = plan, number, counters
        self.queue: list[tuple[int, int, int]] = []
        self.copied: list[tuple[int, int]] = []
        self.waits: list[Optional[tuple[int, int]]] = []
        self.lates: list[tuple[int, int]] = []
        self.exchanged = 0
        self.comm: list[CommOp] = []
        self.comm_places: list[int] = []
        self.launchers: dict[int, HostOp] = {}  # operators that communicate, by their place
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
        self._process, self._threads, self._meters, self._queues = process, ints(threads), meters, queues
        self._tasks: dict[int, int] = {}
        self._held: dict[Plan, HeldColumns] = {}

    def next_number(self, stream: int) -> int:
        """Number of a task that is in no plan."""
        number = self._tasks[stream] = self._tasks.get(stream, FIRST_TASK) + 1
        return number & ((1 << TASK_BITS) - 1)

    def launcher(self, step: Step) -> HostOp:
        """The operator whose communication has just begun."""
        plan = step.plan
        place = plan.queue[plan.exchanges[step.exchanged][0]].op
        row = plan.ops[place]
        assert row.info is not None
        op = step.launchers[place] = HostOp(row.info, int(self._threads[row.thread]), 0)
        step.comm_places.append(place)
        return op

    def segment(self, step: Step, until: int) -> Segment:
        """The records of a step. until: nothing later begins before."""
        clock = step.clock
        start, end = clock[list(step.plan.step)].tolist()
        ops = self._ops(step)
        segment = Segment(
            Mark(step.number, start, end) if self._process.marks else None,
            until,
            ops,
            self._frames(step),
            gc=step.pauses,
        )
        begins = np.zeros(0, dtype=np.int64)
        if self._process.npu:
            begins, ats, readies = np.array(step.queue, dtype=np.int64).reshape(-1, 3).T
            segment.tasks = self._rows(step, begins, ats, readies, ops)
            segment.queue, segment.cann = self._launches(step, begins, ats, ops)
            segment.comm = self._communication(step)
        segment.totals, segment.memory = self._memory(step, begins)
        return segment

    def _ops(self, step: Step) -> Columns[HostOp]:
        arrays, clock, infos = step.plan.arrays, step.clock, step.plan.arrays.op_infos
        if infos and infos[0] is None:
            infos = [OpInfo(f"{STEP_MARK}{step.number}"), *infos[1:]]

        @cache
        def found() -> dict[str, Any]:
            sequences = np.where(arrays.op_sequences < 0, -1, arrays.op_sequences + step.counters.sequence)
            return {
                "info": infos,
                "tid": self._threads[arrays.op_threads],
                "start": clock[arrays.op_starts],
                "end": clock[arrays.op_ends],
                "sequence": sequences,
                "forward_tid": arrays.op_backward,
            }

        def make() -> list[HostOp]:
            columns = [found()[name].tolist() for name in ("tid", "start", "end", "sequence")]
            out = list(map(HostOp, infos, *columns, arrays.op_backward))
            for place, op in step.launchers.items():
                plain = out[place]
                op.start, op.end, op.sequence, op.forward_tid = (
                    plain.start,
                    plain.end,
                    plain.sequence,
                    plain.forward_tid,
                )
                out[place] = op
            return out

        return Columns(make, found)

    def _frames(self, step: Step) -> Columns[PyCall]:
        arrays, clock, before = step.plan.arrays, step.clock, step.counters.frames
        return _columns(
            PyCall,
            lambda: {
                "name": arrays.frame_names,
                "tid": [self._process.pid] * len(arrays.frame_names),
                "start": clock[arrays.frame_starts],
                "end": clock[arrays.frame_ends],
                "id": arrays.frame_ids + before,
                "parent": np.where(arrays.frame_parents > 0, arrays.frame_parents + before, 0),
                "module": arrays.frame_modules,
            },
        )

    # -- the device ---------------------------------------------------------------------------------
    def _rows(self, step: Step, begins: Ints, ats: Ints, readies: Ints, ops: Columns[HostOp]) -> Columns[Task]:
        """Tasks on streams, by start."""
        arrays, plan = step.plan.arrays, step.plan
        starts, durs, acls = (np.zeros(len(plan.tasks), dtype=np.int64) for _ in range(3))
        there = np.ones(len(plan.tasks), dtype=np.int64)
        places = arrays.launch_places
        starts[arrays.launch_tasks], durs[arrays.launch_tasks] = readies[places], step.launches.dur
        acls[arrays.launch_tasks] = ats[places] + ACL
        self._meters.count_all(readies[places], arrays.traffic)
        copied = ints(step.copied).reshape(-1, 2)
        starts[arrays.copy_tasks], durs[arrays.copy_tasks] = copied[:, 0], copied[:, 1]
        acls[arrays.copy_tasks] = begins[arrays.copy_places[arrays.copy_of_task]]
        for task, wait in zip(plan.waits, step.waits):
            if wait is None:
                there[task] = 0
            else:
                starts[task], durs[task] = wait[0], wait[1] - wait[0]
        numbers = self._numbers(arrays.task_streams, there)
        order = np.flatnonzero(there)
        order = order[np.argsort(starts[order], kind="stable")]
        found: dict[str, Any] = {
            "kernel": arrays.task_kernels[order],
            "start": starts[order],
            "dur": durs[order],
            "stream": arrays.task_streams[order],
            "task": numbers[order] & ((1 << TASK_BITS) - 1),
            "connection": arrays.task_connections[order] + step.counters.connection,
            "acl": acls[order],
            "acl_tid": np.where(acls > 0, self._threads[arrays.task_threads], 0)[order],
            "op_place": arrays.task_ops[order],
            "size": arrays.task_sizes[order],
            "batch": numbers[order] >> TASK_BITS,
        }

        def make() -> list[Task]:
            records = ops.records
            return [
                Task(
                    kernel,
                    start,
                    dur,
                    stream,
                    number,
                    connection,
                    acl or None,
                    tid,
                    records[op] if op >= 0 else None,
                    size,
                    batch,
                )
                for kernel, start, dur, stream, number, connection, acl, tid, op, size, batch in zip(
                    *(column.tolist() for column in found.values())
                )
            ]

        return Columns(make, lambda: found)

    def _numbers(self, streams: Ints, there: Ints) -> Ints:
        """Numbers of the tasks on their streams."""
        out = np.zeros(len(streams), dtype=np.int64)
        for stream in np.unique(streams).tolist():
            mine = np.cumsum((streams == stream) * there)
            before = self._tasks.get(stream, FIRST_TASK)
            out = np.where(streams == stream, mine + before, out)
            self._tasks[stream] = before + int(mine[-1])
        return out

    def _launches(
        self, step: Step, begins: Ints, ats: Ints, ops: Columns[HostOp]
    ) -> tuple[MutableSequence[Queued], Columns[CannCall]]:
        """The task queue, and the calls of CANN for its elements and on the host."""
        arrays = step.plan.arrays
        times = cache(lambda: self._call_times(step, begins, ats))

        def calls() -> dict[str, Any]:
            starts, ends, _ = times()
            order = np.lexsort((-ends, starts))
            order = order[arrays.call_levels[order] != ""]
            return {
                "level": arrays.call_levels[order],
                "name": arrays.call_names[order],
                "item": arrays.call_items[order],
                "mode": arrays.call_modes[order],
                "tid": self._threads[arrays.call_threads[order]],
                "start": starts[order],
                "end": ends[order],
                "connection": order + (step.counters.connection + 1),
            }

        queue = self._queue(step, begins - DEQUEUE, lambda: times()[2] + AFTER, ops) if self._queues else []
        return queue, _columns(CannCall, calls)

    @staticmethod
    def _call_times(step: Step, begins: Ints, ats: Ints) -> tuple[Ints, Ints, Ints]:
        """Starts and ends of the calls of CANN, and when the launching thread is done with each element of the queue."""
        arrays, clock, times = step.plan.arrays, step.clock, step.launches
        starts, ends = np.zeros(len(step.plan.calls), dtype=np.int64), np.zeros(len(step.plan.calls), dtype=np.int64)
        ended = begins + MARK_CALL  # of marks; all others have their own

        def note(calls: Ints, start: Ints, end: Ints) -> None:
            starts[calls], ends[calls] = start, end

        begin, at, places, nodes = (
            begins[arrays.launch_places],
            ats[arrays.launch_places],
            arrays.launch_places,
            arrays.launch_nodes,
        )
        done = ended[places] = at + times.inner + times.closing
        note(nodes, at, at + times.inner)
        note(nodes + 1, begin + step.prepared, done)
        sizes = np.flatnonzero(arrays.prepares)
        note(arrays.sizes[sizes], begin[sizes], begin[sizes] + step.sized[sizes])
        if (arrays.runtimes >= 0).any():
            note(arrays.runtimes, at + 600, at + times.inner - 400)
        new = arrays.new
        note(arrays.compile_calls[new], begin[new] + 1_000, begin[new] + step.compiling[new] - 1_000)
        begin = begins[arrays.copy_places]
        done = ended[arrays.copy_places] = begin + step.copies
        note(arrays.copy_calls, begin, done)
        begin, calls = begins[arrays.exchange_places], arrays.exchange_calls
        done = ended[arrays.exchange_places] = begin + step.exchanges
        for later in range(3):
            note(calls + later, begin, done - later * 1_000)
        note(arrays.host_calls[:, 0], clock[arrays.host_calls[:, 1]], clock[arrays.host_calls[:, 2]])
        return starts, ends, ended

    def _queue(self, step: Step, starts: Ints, ends: Callable[[], Ints], ops: Columns[HostOp]) -> Columns[Queued]:
        arrays, clock = step.plan.arrays, step.clock
        first = step.counters.correlation + 1

        @cache
        def found() -> dict[str, Any]:
            return {
                "correlation": np.arange(first, first + len(starts)),
                "name": arrays.queue_names,
                "op_place": arrays.queue_ops,
                "start": clock[arrays.queue_ticks],
                "end": clock[arrays.queue_ticks + 1],
                "dequeue_start": starts,
                "dequeue_end": ends(),
                "tid": self._threads[arrays.op_threads[arrays.queue_ops]],
            }

        def make() -> list[Queued]:
            records = ops.records
            columns = (found()[name].tolist() for name in ("start", "end", "dequeue_start", "dequeue_end"))
            launchers = [records[place] for place in arrays.queue_ops.tolist()]
            return list(map(Queued, found()["correlation"].tolist(), arrays.queue_names, launchers, *columns))

        return Columns(make, found)

    def _communication(self, step: Step) -> Columns[CommOp]:
        both = sorted(zip(step.comm, step.comm_places), key=lambda pair: pair[0].start)
        records = [op for op, _ in both]
        found = {"op_place": [place for _, place in both], "connection": [op.connection for op in records]}
        return Columns(lambda: records, lambda: found)

    # -- memory -------------------------------------------------------------------------------------
    def _memory(self, step: Step, begins: Ints) -> tuple[Columns[Totals], Columns[Allocation]]:
        arrays, clock = step.plan.arrays, step.clock
        known = self._held.get(step.plan)
        if known is None or known.memory is not step.memory:
            known = HeldColumns(step.plan, step.memory)
            if not step.plan.once:
                self._held[step.plan] = known
        held = known

        def found() -> dict[str, Any]:
            times = clock[arrays.total_ticks] + arrays.total_later
            if len(arrays.taken):
                launches, later = arrays.total_launches[arrays.taken], arrays.total_later[arrays.taken]
                behind = np.where(later < 0, step.prepared[launches], step.sized[launches] + later)
                times[arrays.taken] = begins[arrays.launch_places[launches]] + behind
            return {"component": arrays.total_components, "at": times, **held.totals}

        totals = _columns(Totals, found)
        return totals, held.blocks(clock, totals)


def _columns(kind: type[Any], found: Callable[[], dict[str, Any]]) -> Columns[Any]:
    """Columns of all that a kind of record holds, in order."""
    columns = cache(found)

    def make() -> list[Any]:
        given = columns().values()
        return list(map(kind, *(values if isinstance(values, list) else values.tolist() for values in given)))

    return Columns(make, columns)
