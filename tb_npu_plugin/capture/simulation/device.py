"""One NPU behind a task queue: launches in, tasks on streams out.

The launching thread takes elements from the task queue one by one and calls CANN for each; the device starts a task
when it has been launched, when its stream is free, and when what the stream waits for is done. So a host that launches
too slowly leaves gaps on the device (host-bound), and one that launches fast runs ahead until the queue or the stream
is full and then waits (device-bound).

TASK_QUEUE_ENABLE, as torch_npu's reference of environment variables has it: 0 has no queue, the thread of the operator
calls CANN itself; 1 has the queue; with 2 the launching thread also asks for the workspace and takes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tb_npu_plugin.capture.simulation.batch import RECEIVED
from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.collectives import CALLS, PHASES, Exchange, count_of
from tb_npu_plugin.capture.simulation.cost import COMPILE, COMPILED, copy_ns
from tb_npu_plugin.capture.simulation.kernels import Launch
from tb_npu_plugin.capture.simulation.meters import Meters
from tb_npu_plugin.capture.simulation.program import Transfer
from tb_npu_plugin.capture.simulation.records import (
    BATCH,
    WORKSPACE,
    CannCall,
    CommOp,
    Group,
    HostOp,
    Kernel,
    PlaneTask,
    Queued,
    Segment,
    Task,
    Totals,
)  # fmt: skip

#: Random numbers come from a stream of their own, all other kernels run in order.
STREAM, RANDOM_STREAM = 2, 3
_STREAMS = {"DSA_SQE": RANDOM_STREAM}
#: Elements of the task queue (kQueueCapacity of torch_npu), and tasks that a stream takes ahead (assumed).
QUEUE, AHEAD = 4096, 1024
#: Values of TASK_QUEUE_ENABLE; with the last one the launching thread prepares kernels, too.
TASK_QUEUES = (0, 1, 2)
LEVEL_2 = TASK_QUEUES[-1]
COPIES = {
    to_host: Kernel("MEMCPY_ASYNC", "", "", "SDMA_SQE" if to_host else "PCIE_DMA_SQE") for to_host in (False, True)
}
_EVENT_WAIT = Kernel("EVENT_WAIT", "", "", "EVENT_WAIT_SQE")
#: ns of the parts of a launch on the launching thread: from dequeue to the call, the call before and in the node
#: launch, from there to the device. Means; each varies by a fifth. As in the public sample of a real 910B.
_DEQUEUE, _BEFORE, _NODE, _AFTER, _ARRIVE = 2_000, 3_000, 6_000, 1_500, 9_000
#: ns from an enqueue to its dequeue at least, and between two dequeues.
_WAKE, _NEXT = 9_000, 1_500
#: ns that the call for the size of the workspace takes, whichever thread makes it; and taking it where it is there.
WORKSPACE_SIZE, _TAKE_WORKSPACE = 4_000, 1_000
#: The workspace of a stream grows by whole pages, and there is a little more than was asked for (torch_npu's allocator).
_PAGE, _MORE = 2 << 20, 32
#: ns that a mark of mstx takes on a stream (assumed).
MARK = 40
#: ns that a copy begins before the task in front of it ends, as neighbours on a stream of a real 910B do.
_EARLY = 400


class Device:
    """Device and launching thread of one process. Records go to `segment`; with None only times are worked out.
    slow: factor of the kernels' durations; task_queue: TASK_QUEUE_ENABLE."""

    def __init__(
        self, chip: Chip, random: Random, start: int, dequeue_tid: int, runtime: bool, slow: float, task_queue: int = 1
    ) -> None:
        self._chip, self._random, self._slow = chip, random.random, slow
        self.task_queue = task_queue
        self._workspaces: dict[int, int] = {}  # stream -> bytes that it holds for its kernels
        self.segment: Segment | None = None
        self.meters = Meters(chip, start)
        self._dequeue_tid, self._runtime = dequeue_tid, runtime
        self._tid = dequeue_tid  # of the thread that calls CANN now
        self.free_at = start  # the launching thread
        self._busy: dict[int, int] = {}
        self._communicating: dict[int, int] = {}
        self._tasks: dict[int, int] = {}
        self._dequeued = [0] * QUEUE
        self._started = [0] * AHEAD
        self._count = 0
        self._correlation, self._connection = 8000, 900
        self._compiled: set[Kernel] = set()
        self.reset_truth()

    def reset_truth(self) -> None:
        """Begin to add up what Truth tells of a step."""
        self.computing = self.slowed = self.ai_cpu = self.compile_ns = self.compiles = 0

    def _vary(self, ns: int) -> int:
        return int(ns * (0.8 + 0.4 * self._random())) // 10 * 10

    def room_at(self, now: int) -> int:
        """When an element can be put on the task queue: now, or when the oldest one has been taken off."""
        oldest = self._dequeued[self._count % QUEUE]
        return oldest if oldest > now else now

    def busy_until(self) -> int:
        """When everything that was launched is done."""
        return max([self.free_at, *self._busy.values(), *self._communicating.values()])

    def communication_until(self, group: int) -> int:
        """When the communication of a group is done."""
        return self._communicating.get(group, 0)

    # -- the launching thread -----------------------------------------------------------------------
    def _take(self, name: str, op: HostOp | None, start: int, end: int) -> tuple[int, Queued | None]:
        """Enqueue (from start to end) and dequeue one element; gives when CANN is called for it: at `end` without a queue."""
        self._tid = self._dequeue_tid if self.task_queue or op is None else op.tid
        if not self.task_queue:
            return end, None
        self._correlation += 1
        at = max(self.free_at + _NEXT, start + _WAKE)
        if self.segment is None or op is None:
            return at + _DEQUEUE, None
        item = Queued(self._correlation, name, op, start, end, at)
        self.segment.queue.append(item)
        return at + _DEQUEUE, item

    def _done(self, item: Queued | None, end: int) -> None:
        self.free_at = end + _AFTER // 10 * 10
        if self.task_queue:
            self._dequeued[self._count % QUEUE] = self.free_at
        self._count += 1
        if item is not None:
            item.dequeue_end = self.free_at

    def call(self, level: str, name: str, item: str, mode: str, start: int, end: int, tid: int = 0) -> int:
        """Note one CANN call, of the thread that launches unless `tid` says otherwise; gives its connection id."""
        self._connection += 1
        if self.segment is not None:
            call = CannCall(level, name, item, mode, tid or self._tid, start, end, self._connection)
            self.segment.cann.append(call)
        return self._connection

    def launch(self, launch: Launch, op: HostOp | None, start: int, end: int) -> None:
        """Launch a kernel; the operator `op` enqueues it from start to end."""
        kernel = launch.kernel
        begin, item = self._take(launch.queued, op, start, end)
        stream = _STREAMS.get(kernel.core, STREAM)
        if self.task_queue == LEVEL_2 and not launch.compiled:
            begin = self._prepare(launch, stream, begin)
        at = begin + self._vary(_BEFORE) + 100
        if launch.compiled:
            at += self._compile(kernel, begin)
        at = max(at, self._started[self._count % AHEAD])  # a full stream takes no more
        inner = self._vary(_NODE)
        if self._runtime:
            self.call("runtime", "KernelLaunchWithHandle", "0", "runtime", at + 600, at + inner - 400)
        connection = self.call("node", "launch", kernel.name, "launch", at, at + inner)
        done = at + inner + self._vary(1_000)
        self.call("acl", launch.api, "0", "ACL_OP" if launch.is_graph else "ACL_NN", begin, done)
        ready = max(self._busy.get(stream, 0) + 300, at + inner + self._vary(_ARRIVE)) + int(self._random() * 500)
        plain = launch.ns * (0.96 + 0.08 * self._random())
        dur = int(plain * self._slow) + 1
        self.computing += dur
        self.slowed += dur - int(plain) - 1
        if kernel.core == "AI_CPU":
            self.ai_cpu += dur
        self._busy[stream] = ready + dur
        self._started[self._count % AHEAD] = ready
        if self.segment is not None:
            number = self._tasks[stream] = self._tasks.get(stream, 300) + 1
            task = Task(kernel, ready, dur, stream, number, connection, at + 300, self._tid, op)
            self.segment.tasks.append(task)
            self.meters.count(task)
        self._done(item, done)

    def _prepare(self, launch: Launch, stream: int, begin: int) -> int:
        """On the launching thread: ask for the size of the workspace, and take it; gives when that is done. Memory is
        kept for the next kernel of the stream, and more is reserved where one needs more."""
        done = begin + self._vary(WORKSPACE_SIZE)
        name, mode = launch.prepared
        self.call("acl", name, "0", mode, begin, done)
        if not launch.workspace:
            return done
        size = -(-(launch.workspace + _MORE) // _PAGE) * _PAGE
        held = self._workspaces.get(stream, 0)
        totals = []
        if held < size:
            self._workspaces[stream] = size
            totals = [Totals(WORKSPACE, done, 0, sum(self._workspaces.values()), 0)]
        held, reserved = self._workspaces[stream], sum(self._workspaces.values())
        end = done + self._vary(_TAKE_WORKSPACE)
        if self.segment is not None:
            totals += [Totals(WORKSPACE, done + 10, held, reserved, held), Totals(WORKSPACE, end, 0, reserved, 0)]
            self.segment.totals += totals
        return end

    def _compile(self, kernel: Kernel, begin: int) -> int:
        """ns that CANN takes to find the compiled operator: long on first sight."""
        if kernel in self._compiled:
            return COMPILED
        self._compiled.add(kernel)
        took = self._vary(COMPILE)
        self.compile_ns += took
        self.compiles += 1
        self.call("acl", "opCompile", "0", "ACL_OP", begin + 1_000, begin + took - 1_000)
        return took

    def warm(self, kernel: Kernel) -> None:
        """The operator was compiled before the capture."""
        self._compiled.add(kernel)

    def copy(self, size: int, to_host: bool, op: HostOp | None, start: int, end: int, parts: int = 1) -> None:
        """Launch a copy between host and device; parts: tasks that one call makes."""
        name = "acl_memcpy_device_to_host" if to_host else "acl_memcpy_host_to_device"
        begin, item = self._take(name, op, start, end)
        took = self._vary(_ARRIVE)
        connection = self.call("acl", "aclrtMemcpyAsync", "0", "ACL_RTS", begin, begin + took)
        ready, dur = begin + took + 4_000, copy_ns(self._chip, size)
        for _ in range(parts):
            ready = max(self._busy.get(STREAM, 0) - _EARLY, ready)
            self._busy[STREAM] = ready + dur
            if self.segment is not None:
                number = self._tasks[STREAM] = self._tasks.get(STREAM, 300) + 1
                self.segment.tasks.append(
                    Task(COPIES[to_host], ready, dur, STREAM, number, connection, begin, self._tid, op, size)
                )
        self._done(item, begin + took)

    def mark(self, op: HostOp, start: int, end: int) -> Mark:
        """Launch a mark: a moment on the compute stream."""
        begin, item = self._take(op.info.name, op, start, end)
        self._connection += 1
        at = max(self._busy.get(STREAM, 0) + 300, begin + self._vary(_ARRIVE))
        self._busy[STREAM] = at + MARK
        number = self._tasks[STREAM] = self._tasks.get(STREAM, 300) + 1
        self._done(item, begin + self._vary(_BEFORE))
        return Mark(at, self._connection, number)

    def wait_for(self, group: int) -> None:
        """Let the compute stream wait for the communication of a group."""
        self.wait_until(self._communicating.get(group, 0))

    def wait_until(self, done: int) -> None:
        """Let the compute stream wait for communication that is done then: a task without a flow."""
        busy = self._busy.get(STREAM, 0)
        if done <= busy:
            return
        begin = max(busy + 300, self.free_at)
        end = max(done, begin) + 200
        self._busy[STREAM] = end
        if self.segment is not None:
            number = self._tasks[STREAM] = self._tasks.get(STREAM, 300) + 1
            self.segment.tasks.append(Task(_EVENT_WAIT, begin, end - begin, STREAM, number, self._connection))

    # -- communication ------------------------------------------------------------------------------
    def arrive(self, type_: str, group: int, op: HostOp | None, start: int, end: int) -> Arrival:
        """Launch a communication operator; gives when this rank arrives at it. It goes on with `communicate`."""
        begin, item = self._take(CALLS[type_], op, start, end)
        took = self._vary(30_000)
        self.call("acl", type_, "0", "HOST_HCCL", begin, begin + took)  # three slices that begin together
        self.call("node", "launch", type_, "launch", begin, begin + took - 1_000)
        connection = self.call("hccl", "Launch_Ffts", "Launch_Ffts", "master", begin, begin + took - 2_000)
        # its data come from the compute stream
        at = max(self._communicating.get(group, 0) + 2_000, begin + took + 5_000, self._busy.get(STREAM, 0) + 1_500)
        self._done(item, begin + took)
        return Arrival(at, connection, begin + took // 20 * 10, self._tid, op)

    def communicate(
        self, name: str, transfer: Transfer, exchange: Exchange, group: Group, arrival: Arrival, end: int,
        planes: list[PlaneTask],
    ) -> None:  # fmt: skip
        """The operator is done at `end`."""
        self._communicating[group.index] = end
        if self.segment is None or arrival.op is None:
            return
        mesh = group.planes > 1 and exchange.type in PHASES
        count = count_of(transfer.type, exchange.size // transfer.item, len(group.ranks))
        op = CommOp(
            name, transfer.type, group, arrival.at, end - arrival.at, arrival.connection, arrival.acl,
            arrival.tid, count, planes, arrival.op, main=1 if mesh or _receives(transfer, planes) else 0,
            data_type=transfer.data_type or {1: "INT8", 4: "FP32"}.get(transfer.item, "BFP16"),
            algorithm="MESH-RING" if mesh else "RING",
        )  # fmt: skip
        self.segment.comm.append(op)
        self.meters.count_communication(op)


def _receives(transfer: Transfer, tasks: list[PlaneTask]) -> bool:
    return transfer.type == BATCH and any(task.plane == RECEIVED for task in tasks)


@dataclass(frozen=True)
class Mark:
    """A mark on the device: when, by which launch, and its number on the stream."""

    at: int
    connection: int
    task: int


@dataclass(frozen=True)
class Arrival:
    """A rank at a communication operator: when, and by which launch."""

    at: int
    connection: int
    acl: int
    tid: int
    op: HostOp | None
