"""The host of one rank as far as its device is concerned: launches, copies, communication and waits, while time passes;
and the records of what happens.

Two hosts extend it: a TrainingHost carries out the program of a simulated training, a RecordedHost (capture/recording) repeats
what a real one did. They differ in their clocks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tb_npu_plugin.capture.simulation import device, records
from tb_npu_plugin.capture.simulation.collectives import CALLS, PHASES, Exchange, Transfer, count_of, in_group
from tb_npu_plugin.capture.simulation.launch import Launch
from tb_npu_plugin.capture.simulation.memory import CachingAllocator, Memory
from tb_npu_plugin.capture.simulation.planes import RECEIVED, Planes
from tb_npu_plugin.schema.chips import Chip
from tb_npu_plugin.schema.communicators import group_hash
from tb_npu_plugin.schema.trace import STEP_MARK

#: ns that the host takes before and in an enqueue.
_BEFORE_ENQUEUE, _ENQUEUE = 1_200, 5_000
#: Launches from one that is preempted to the next one.
PREEMPTED = 40
#: Tasks of a stream are numbered from here on, in batches of 2**16.
FIRST_TASK, _TASK_BITS = 300, 16
#: First numbers of elements of the task queue and of CANN calls.
_FIRST_CORRELATION, _FIRST_CONNECTION = 8001, 901
_NO_OP = records.OpInfo("")


class Clock(ABC):
    """Time of a host. now: ns since the epoch."""

    now: int

    @abstractmethod
    def spend(self, ns: int) -> None:
        """Let the host work for `ns` on average."""

    def wait_until(self, now: int) -> None:
        """Let the host wait for the device."""
        self.now = now


@dataclass(eq=False)
class Host:
    """What the hosts of simulated and of recorded trainings have in common."""

    process: records.Process
    chip: Chip
    clock: Clock
    random: Callable[[], float]  # gives numbers from 0 to 1
    keep: bool = True  # records are kept; otherwise only times are worked out
    runtime: bool = False  # runtime calls are recorded (level 2)
    slow: float = 1.0  # factor of the kernels' durations
    task_queue: int = 1  # TASK_QUEUE_ENABLE: with one its thread calls CANN, otherwise the thread of the operator does
    preempted: int = 0  # ns for which the launching thread loses its core at each PREEMPTED-th launch
    allocates: bool = True  # kernels take their workspaces from the caching allocator

    def __post_init__(self) -> None:
        self.device = device.Device(self.chip, self.process.start, self.random, self.slow, self.task_queue)
        self.allocator = CachingAllocator()
        self.memory = Memory(self.allocator, self.keep)
        self.tid, self.stream = self.process.pid, device.STREAM  # that prepares kernels; of kernels and waits
        self.open: list[records.HostOp] = []  # operators on the current thread, innermost last
        self.figures: Counter[str] = Counter()  # of the last step, as cluster.Truth has them
        self.arrival = 0  # of this rank, at the communication that it launched last
        self._segment = records.Segment()
        self._correlation, self._connection = _FIRST_CORRELATION, _FIRST_CONNECTION - 1  # the latter: of the last call
        self._tasks: defaultdict[int, int] = defaultdict(lambda: FIRST_TASK)
        self._acl = 0  # when the last communication passed through CANN
        self._launches = 0  # of this step

    def join(self, groups: Mapping[str, records.Group]) -> None:
        """Take part in these groups, by the name in Transfer.group; one may have several names."""
        self.process.groups = list(dict.fromkeys(groups.values()))
        self.device.meters.communicators = len(self.process.groups)
        self._groups = groups

    @property
    def now(self) -> int:
        return self.clock.now

    @property
    def op(self) -> records.OpInfo:
        """The innermost operator that is open; without a name if none is."""
        return self.open[-1].info if self.open else _NO_OP

    @property
    def _launching_tid(self) -> int:
        return self.process.dequeue_tid if self.task_queue else self.open[-1].tid

    def take(self) -> records.Segment:
        """The segment of all records since the last call."""
        segment, self._segment = self._segment, records.Segment()
        segment.tasks = sorted(segment.tasks, key=records.by_start)
        segment.cann = sorted(segment.cann, key=lambda call: (call.start, -call.end))
        segment.comm = sorted(segment.comm, key=records.by_start)
        segment.memory, segment.totals = self.memory.take()
        return segment

    def take_step(self) -> records.Segment:
        """The segment of the step that has just been run, complete."""
        segment = self.take()
        segment.until = self.now
        if self.process.npu:
            segment.until = min(self.now, self.device.free_at)
            self.device.meters.sample(segment, segment.until, self.allocator.reserved)
        return segment

    def stopped(self) -> int:
        """When the profiler has stopped, if it does so now: it waits for the device first."""
        return max(self.now, self.device.busy_until()) if self.process.npu else self.now

    def begin_operator(self, info: records.OpInfo, tid: int, sequence: int = -1, forward: int = 0) -> records.HostOp:
        """Record the begin of an operator on this thread. forward: the forward thread, 0 outside the backward pass."""
        op = records.HostOp(info, tid, self.now, 0, sequence, forward)
        self._segment.ops.append(op)
        self.open.append(op)
        return op

    def add_step(self, number: int, start: int) -> None:
        """Record a step that ends now, and its mark."""
        self._segment.step = records.Step(number, start, self.now)
        info = records.OpInfo(f"{STEP_MARK}{number}")
        self._segment.ops.insert(0, records.HostOp(info, self.process.pid, start, self.now))

    def _call(self, level: str, name: str, mode: str, tid: int, start: int, end: int, item: str = "0") -> None:
        """Record a call of CANN."""
        self._connection += 1
        self._segment.cann.append(records.CannCall(level, name, item, mode, tid, start, end, self._connection))

    def _enqueue(self) -> int:
        """Put an element on the task queue, if there is one. Returns when this began."""
        self.clock.spend(_BEFORE_ENQUEUE)
        start = self.now
        if self.task_queue:
            self.clock.spend(_ENQUEUE)
        return start

    def _resume(self, start: int) -> None:
        """Go on after what was enqueued at `start`: when the queue has had room, without a queue when CANN has returned."""
        resumes = self.device.resumes
        if resumes > start:
            self.clock.wait_until(self.now + -(-resumes // 10) * 10 - start)

    def _add_element(self, name: str, start: int, begin: int, end: int) -> None:
        """Record an element that was enqueued from `start` until now, whose call lasted from `begin` to `end`."""
        if self.task_queue:
            times = start, self.now, begin - device.DEQUEUE, end + device.AFTER
            self._segment.queue.append(records.Queued(self._correlation, name, self.open[-1], *times))
        self._correlation += 1

    def _next_task(self, stream: int) -> tuple[int, int]:
        """Number and batch of the next task of a stream."""
        number = self._tasks[stream] = self._tasks[stream] + 1
        return number & ((1 << _TASK_BITS) - 1), number >> _TASK_BITS

    def _add_task(self, task: records.Task) -> None:
        """Record a task as the next one of its stream."""
        task.task, task.batch = self._next_task(task.stream)
        self._segment.tasks.append(task)
        if task.kernel.computes:
            self.device.meters.count(task)

    def launch(self, launch: Launch) -> None:
        """Launch a kernel, which this thread prepares unless the launching thread does."""
        prepares = self.task_queue != device.LEVEL_2
        if prepares and launch.workspace and self.allocates:
            # from the caching allocator: what follows on the stream may have it as well
            self.clock.spend(300)
            held = self.memory.allocate(self.op.name, launch.workspace, self.now)
            self.clock.spend(2_000)
            self.memory.release(held, self.now, self.now)
        if prepares and not launch.compiled:
            start = self.now
            self.clock.spend(device.WORKSPACE_SIZE)
            if self.keep:
                self._call("acl", *launch.prepared, self.tid, start, self.now)
        start = self._enqueue()
        stream = device.RANDOM_STREAM if launch.kernel.core == "DSA_SQE" else self.stream
        self._launches += 1
        launched = self.device.launch(launch, stream, start, 0 if self._launches % PREEMPTED else self.preempted)
        self._resume(start)
        if self.keep:
            self._add_launch(launch, stream, start, launched)
        if launched.prepared > launched.sized:
            self.memory.use_workspace(stream, launch.workspace, launched.sized, launched.prepared)
        figures = self.figures
        figures["computing"] += launched.dur
        figures["slowed"] += launched.slowed
        figures["ai_cpu"] += launched.dur if launch.kernel.core == "AI_CPU" else 0
        figures["compiles"] += launched.compiling > 0
        figures["compile"] += launched.compiling

    def _add_launch(self, launch: Launch, stream: int, start: int, times: device.Launched) -> None:
        """Record a launch that was enqueued from `start` until now: the calls, the element of the queue, the task."""
        kernel, tid = launch.kernel, self._launching_tid
        begin, node, node_end = times.begin, times.node, times.node_end
        if times.sized > begin:
            self._call("acl", *launch.prepared, tid, begin, times.sized)
        if times.compiling:
            self._call("acl", "opCompile", "ACL_OP", tid, begin + 1_000, begin + times.compiling - 1_000)
        if self.runtime:
            self._call("runtime", "KernelLaunchWithHandle", "runtime", tid, node + 600, node_end - 400)
        self._call("node", "launch", "launch", tid, node, node_end, kernel.name)
        launched = self._connection, node + device.ACL, tid, self.open[-1]
        self._call("acl", launch.api, "ACL_OP" if launch.is_graph else "ACL_NN", tid, times.prepared, times.end)
        self._add_element(launch.queued, start, begin, times.end)
        self._add_task(records.Task(kernel, times.start, times.dur, stream, 0, *launched))

    def copy(self, size: int, to_host: bool, parts: int) -> None:
        """Launch a copy between host and device."""
        start = self._enqueue()
        begin, end, starts, dur = self.device.copy(start, size, parts)
        self._resume(start)
        if self.keep:
            tid = self._launching_tid
            self._call("acl", "aclrtMemcpyAsync", "ACL_RTS", tid, begin, end)
            name = "acl_memcpy_device_to_host" if to_host else "acl_memcpy_host_to_device"
            self._add_element(name, start, begin, end)
            launched = self._connection, begin, tid, self.open[-1]
            for at in starts:
                self._add_task(records.Task(device.COPIES[to_host], at, dur, device.STREAM, 0, *launched, size))

    def communicate(self, transfer: Transfer) -> None:
        """Launch a communication operator. When it is done is known later."""
        start, type_ = self._enqueue(), transfer.type
        begin, end, self.arrival = self.device.communicate(start, self._groups[transfer.group].index)
        self._resume(start)
        self._acl = begin + (end - begin) // 20 * 10
        if self.keep:
            tid = self._launching_tid
            self._call("acl", type_, "HOST_HCCL", tid, begin, end)
            self._call("node", "launch", "launch", tid, begin, end - 1_000, type_)
            self._call("hccl", "Launch_Ffts", "master", tid, begin, end - 2_000, "Launch_Ffts")
            self._add_element(CALLS[type_], start, begin, end)

    def communicated(self, number: int, transfer: Transfer, exchange: Exchange, end: int, tasks: Planes) -> None:
        """The communication where this rank has stopped is done at `end`. number: how many the group had before it (sends:
        counted for each direction); tasks: name ranks by their place in the exchange."""
        group, type_ = self._groups[transfer.group], transfer.type
        self.device.communicating[group.index] = end
        if not self.keep:
            return
        is_mesh = group.planes > 1 and exchange.type in PHASES
        receives = type_ == records.BATCH and any(task.plane == RECEIVED for task in tasks.pattern.tasks)
        name, times = f"{type_}_{group_hash(group.name)[-3:]}_{number}_1", (self.arrival, end - self.arrival)
        count = count_of(type_, exchange.size // transfer.item, len(group.ranks))
        planes = in_group(tasks, exchange, group.ranks)
        launched = self._connection, self._acl, self._launching_tid
        op = records.CommOp(name, type_, group, *times, *launched, count, planes, self.open[-1], joined=transfer.joined)
        op.data_type = transfer.data_type or {1: "INT8", 4: "FP32"}.get(transfer.item, "BFP16")
        op.main, op.algorithm = int(is_mesh or receives), "MESH-RING" if is_mesh else "RING"
        self._segment.comm.append(op)
        self.device.meters.count_communication(op)

    def wait(self, group: str) -> None:
        """Let the stream wait for the communication of a group."""
        self._wait(self.device.communicating[self._groups[group].index])

    def _wait(self, done: int) -> None:
        waited = self.device.wait(done, self.stream)
        if waited is not None and self.keep:
            start, end = waited
            self._add_task(records.Task(device.EVENT_WAIT, start, end - start, self.stream, 0, self._connection))

    def synchronize(self) -> None:
        """Wait until the device has done everything."""
        start = self.wait_for_device()
        if self.keep:
            self._call("acl", "aclrtSynchronizeStreamWithTimeout", "ACL_RTS", self.tid, start, self.now)
        self.clock.spend(1_000)

    def wait_for_device(self) -> int:
        """Wait until the device has done everything, without a call. Returns when the wait began: launches come first."""
        start = max(self.now, -(-self.device.free_at // 10) * 10 + 10)
        self.clock.wait_until((max(self.device.busy_until(), start) + 15_000) // 10 * 10)
        return start
