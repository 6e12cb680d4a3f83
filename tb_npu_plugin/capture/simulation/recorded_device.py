"""A device that is asked for one thing after the other, and notes what it did: for hosts that really run (mock/replay.py)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.collectives import CALLS, Exchange
from tb_npu_plugin.capture.simulation.cost import COMPILED
from tb_npu_plugin.capture.simulation.device import (
    ACL,
    COPIES,
    DEQUEUE,
    EVENT_WAIT,
    FIRST_TASK,
    LEVEL_2,
    STREAM,
    TASK_BITS,
    Arrival,
    Device,
    acl_of_exchange,
    api_of_copy,
    comm_op,
    compile_time,
    copy_time,
    exchange_time,
    launch_times,
    mark_times,
    stream_of,
    workspace_of,
    workspace_states,
    workspace_times,
)
from tb_npu_plugin.capture.simulation.launch import Launch
from tb_npu_plugin.capture.simulation.planes import Planes
from tb_npu_plugin.capture.simulation.program import Transfer
from tb_npu_plugin.capture.simulation.records import (
    CannCall,
    Group,
    HostOp,
    Queued,
    Segment,
    Task,
)
from tb_npu_plugin.capture.simulation.samples import WORKSPACE, Totals


@dataclass(frozen=True)
class Mark:
    """A mark on the device: when, by which launch, and its number on the stream."""

    at: int
    connection: int
    task: int


class RecordedDevice(Device):
    """Records go to `segment`. dequeue_tid: the launching thread; runtime: with the calls of level 2."""

    def __init__(
        self,
        chip: Chip,
        random: Random,
        start: int,
        dequeue_tid: int,
        runtime: bool,
        slow: float = 1.0,
        task_queue: int = 1,
    ) -> None:
        super().__init__(chip, start, slow, task_queue)
        self.segment = Segment()
        self._random, self._dequeue_tid, self._runtime = random.random, dequeue_tid, runtime
        self._correlation, self._connection = 8000, 900
        self._tasks: dict[int, int] = {}
        self._workspaces: dict[int, int] = {}  # stream -> bytes that it holds for its kernels

    def call(self, level: str, name: str, item: str, mode: str, start: int, end: int, tid: int) -> int:
        """Note one CANN call; gives its connection id."""
        self._connection += 1
        self.segment.cann.append(CannCall(level, name, item, mode, tid, start, end, self._connection))
        return self._connection

    def _thread(self, op: HostOp) -> int:
        """Thread that calls CANN for what an operator launches."""
        return self._dequeue_tid if self.task_queue else op.tid

    def _queued(self, name: str, op: HostOp, start: int, end: int, begin: int) -> None:
        """Note the element of the task queue that CANN was called for at `begin`."""
        if self.task_queue:
            self._correlation += 1
            item = Queued(self._correlation, name, op, start, end, begin - DEQUEUE, self.free_at)
            self.segment.queue.append(item)

    def _number(self, stream: int) -> tuple[int, int]:
        """Number of the next task of a stream in its batch, and that of the batch."""
        number = self._tasks[stream] = self._tasks.get(stream, FIRST_TASK) + 1
        return number & ((1 << TASK_BITS) - 1), number >> TASK_BITS

    def launch(self, launch: Launch, op: HostOp, start: int, end: int) -> None:
        """Launch a kernel; the operator `op` enqueues it from start to end."""
        kernel, tid, stream = launch.kernel, self._thread(op), stream_of(launch.kernel)
        prepares = self.task_queue == LEVEL_2 and not launch.compiled
        sized = taken = 0
        if prepares:
            size_lot, take_lot = self._random(), self._random() if launch.workspace else None
            sized, taken = workspace_times((size_lot, take_lot or 0.0), int)
            taken = 0 if take_lot is None else taken
        before, compiling = self._random(), 0
        new = launch.compiled and kernel not in self.compiled
        if launch.compiled:
            compiling = compile_time(self._random()) if new else COMPILED
            self.compiled.add(kernel)
        times = launch_times((before, *(self._random() for _ in range(5))), launch.ns, self.slow, int)
        enqueued = start if self.task_queue else end
        called, at, ready = self.run(enqueued, (stream, sized + taken + times.before + compiling, *times[1:6]))
        begin = called + sized + taken
        if prepares:
            name, name_mode = launch.prepared
            self.call("acl", name, "0", name_mode, called, called + sized, tid)
            self._take_workspace(launch.workspace, stream, called + sized, begin)
        if new:
            self.call("acl", "opCompile", "0", "ACL_OP", begin + 1_000, begin + compiling - 1_000, tid)
        if self._runtime:
            self.call("runtime", "KernelLaunchWithHandle", "0", "runtime", at + 600, at + times.inner - 400, tid)
        connection = self.call("node", "launch", kernel.name, "launch", at, at + times.inner, tid)
        mode = "ACL_OP" if launch.is_graph else "ACL_NN"
        self.call("acl", launch.api, "0", mode, begin, at + times.inner + times.closing, tid)
        number, batch = self._number(stream)
        task = Task(kernel, ready, times.dur, stream, number, connection, at + ACL, tid, op, batch=batch)
        self.segment.tasks.append(task)
        self.meters.count(task)
        self._queued(launch.queued, op, start, end, called)

    def _take_workspace(self, size: int, stream: int, start: int, end: int) -> None:
        """Note the workspace of a kernel: kept for the next one of the stream, and more is reserved where one needs more."""
        if size:
            states = workspace_states(self._workspaces, stream, workspace_of(size))
            self.segment.totals += [
                Totals(WORKSPACE, start + later if later >= 0 else end, *state) for later, state in states
            ]

    def copy(self, size: int, to_host: bool, op: HostOp, start: int, end: int) -> None:
        """Launch a copy between host and device."""
        took, tid = copy_time(self._random(), int), self._thread(op)
        begin, starts, dur = self.move(start if self.task_queue else end, took, size, 1)
        connection = self.call("acl", "aclrtMemcpyAsync", "0", "ACL_RTS", begin, begin + took, tid)
        number, batch = self._number(STREAM)
        task = Task(COPIES[to_host], starts[0], dur, STREAM, number, connection, begin, tid, op, size, batch)
        self.segment.tasks.append(task)
        self._queued(api_of_copy(to_host), op, start, end, begin)

    def mark(self, op: HostOp, start: int, end: int) -> Mark:
        """Launch a mark: a moment on the compute stream."""
        arrive, took = mark_times(self._random(), self._random())
        begin, at = self.point(start if self.task_queue else end, took, arrive)
        self._connection += 1
        self._queued(op.info.name, op, start, end, begin)
        return Mark(at, self._connection, self._number(STREAM)[0])

    def wait_until(self, done: int) -> None:
        """Let the compute stream wait for communication that is done then: a task without a flow."""
        found = self.hold(done)
        if found is not None:
            begin, end = found
            number, batch = self._number(STREAM)
            wait = Task(EVENT_WAIT, begin, end - begin, STREAM, number, self._connection, batch=batch)
            self.segment.tasks.append(wait)

    def arrive(self, type_: str, group: int, op: HostOp, start: int, end: int) -> Arrival:
        """Launch a communication operator; gives when this rank arrives at it. It goes on with `communicate`."""
        took, tid = exchange_time(self._random(), int), self._thread(op)
        begin, at = self.meet(start if self.task_queue else end, took, group)
        self.call("acl", type_, "0", "HOST_HCCL", begin, begin + took, tid)  # three slices that begin together
        self.call("node", "launch", type_, "launch", begin, begin + took - 1_000, tid)
        connection = self.call("hccl", "Launch_Ffts", "Launch_Ffts", "master", begin, begin + took - 2_000, tid)
        self._queued(CALLS[type_], op, start, end, begin)
        return Arrival(at, connection, acl_of_exchange(begin, took), tid)

    def communicate(
        self,
        name: str,
        transfer: Transfer,
        exchange: Exchange,
        group: Group,
        arrival: Arrival,
        end: int,
        planes: Planes,
        op: HostOp,
    ) -> None:
        """The operator is done at `end`."""
        self.part(group.index, end)
        found = comm_op(name, transfer, exchange, group, arrival, end, planes, op)
        self.segment.comm.append(found)
        self.meters.count_communication(found)
