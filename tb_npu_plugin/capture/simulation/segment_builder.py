"""Makes the records of one rank while its host goes on: operators, Python calls, launches, tasks."""

from __future__ import annotations

from collections import defaultdict

from tb_npu_plugin.capture.simulation import device, records
from tb_npu_plugin.capture.simulation.collectives import CALLS
from tb_npu_plugin.capture.simulation.launch import Launch

#: Tasks of a stream are numbered from here on, in batches of 2**16.
FIRST_TASK, _TASK_BITS = 300, 16
#: First numbers of elements of the task queue and of CANN calls.
_FIRST_CORRELATION, _FIRST_CONNECTION = 8001, 901
_NO_OP = records.OpInfo("")
STEP_MARK = "ProfilerStep#"


class SegmentBuilder:
    """Records since the last `take`; none without `keep`.

    queues      there is a task queue, whose thread calls CANN; otherwise the thread of the operator does
    runtime     runtime calls are recorded
    open        operators that are open on the current thread, innermost last
    connection  number of the last CANN call
    """

    def __init__(
        self, process: records.Process, meters: device.Meters, keep: bool, queues: bool, runtime: bool
    ) -> None:
        self._process, self._meters, self._keep, self._queues, self._runtime = process, meters, keep, queues, runtime
        self._segment = records.Segment()
        self.open: list[records.HostOp] = []
        self._frames: list[records.PyCall] = []
        self._frame_count = 0
        self._correlation, self.connection = _FIRST_CORRELATION, _FIRST_CONNECTION - 1
        self._tasks: defaultdict[int, int] = defaultdict(lambda: FIRST_TASK)

    def take(self) -> records.Segment:
        """The segment of all records since the last call."""
        segment, self._segment = self._segment, records.Segment()
        segment.tasks = sorted(segment.tasks, key=records.by_start)
        segment.cann = sorted(segment.cann, key=lambda call: (call.start, -call.end))
        segment.comm = sorted(segment.comm, key=records.by_start)
        return segment

    @property
    def op(self) -> records.OpInfo:
        """The innermost operator that is open; without a name if none is."""
        return self.open[-1].info if self.open else _NO_OP

    def add_op(self, info: records.OpInfo, tid: int, start: int, end: int) -> None:
        """Add an operator that another thread has run."""
        if self._keep:
            self._segment.ops.append(records.HostOp(info, tid, start, end))

    def add_step(self, number: int, start: int, end: int) -> None:
        """Add the mark of a step, behind its operators."""
        if self._keep:
            self._segment.step = records.Step(number, start, end)
            self._segment.ops.insert(
                0, records.HostOp(records.OpInfo(f"{STEP_MARK}{number}"), self._process.pid, start, end)
            )

    def enter(self, info: records.OpInfo, tid: int, now: int, sequence: int, forward: int) -> None:
        """Begin an operator. forward: the forward thread, 0 outside the backward pass."""
        if self._keep:
            op = records.HostOp(info, tid, now, 0, sequence, forward)
            self._segment.ops.append(op)
            self.open.append(op)

    def leave(self, now: int) -> None:
        """End the innermost operator."""
        if self._keep:
            self.open.pop().end = now

    def enter_frame(self, name: str, module: int | None, now: int) -> None:
        """Begin a Python function or module."""
        if self._keep:
            self._frame_count += 1
            parent = self._frames[-1].id if self._frames else 0
            frame = records.PyCall(name, self._process.pid, now, 0, self._frame_count, parent, module)
            self._segment.python.append(frame)
            self._frames.append(frame)

    def leave_frame(self, now: int) -> None:
        """End the innermost Python function."""
        if self._keep:
            self._frames.pop().end = now

    def add_pause(self, tid: int, start: int, end: int) -> None:
        """Add a pause of the garbage collector."""
        if self._keep:
            self._segment.gc.append(records.GcPause(tid, start, end))

    @property
    def launching_tid(self) -> int:
        """Thread that calls CANN for the innermost operator."""
        return self._process.dequeue_tid if self._queues else self.open[-1].tid

    def call(self, level: str, name: str, item: str, mode: str, tid: int, start: int, end: int) -> None:
        """Add a call of CANN."""
        if self._keep:
            self.connection += 1
            self._segment.cann.append(records.CannCall(level, name, item, mode, tid, start, end, self.connection))

    def prepare(self, launch: Launch, tid: int, start: int, end: int) -> None:
        """Add the call that asks for the size of the workspace of a kernel."""
        if self._keep:
            name, mode = launch.prepared
            self.call("acl", name, "0", mode, tid, start, end)

    def _queue(self, name: str, start: int, end: int, begin: int, done: int) -> None:
        """Add an element that was enqueued from `start` to `end`, whose call lasted from `begin` to `done`."""
        if self._queues:
            element = records.Queued(
                self._correlation, name, self.open[-1], start, end, begin - device.DEQUEUE, done + device.AFTER
            )
            self._segment.queue.append(element)
        self._correlation += 1

    def next_task(self, stream: int) -> tuple[int, int]:
        """Number and batch of the next task of a stream."""
        number = self._tasks[stream] = self._tasks[stream] + 1
        return number & ((1 << _TASK_BITS) - 1), number >> _TASK_BITS

    def launch(self, launch: Launch, stream: int, start: int, end: int, times: device.Launched) -> None:
        """Add the launch of a kernel that was enqueued from `start` to `end`."""
        if not self._keep:
            return
        kernel, tid = launch.kernel, self.launching_tid
        begin, node, node_end = times.begin, times.node, times.node_end
        if times.sized > begin:
            self.prepare(launch, tid, begin, times.sized)
        if times.compiling:
            self.call("acl", "opCompile", "0", "ACL_OP", tid, begin + 1_000, begin + times.compiling - 1_000)
        if self._runtime:
            self.call("runtime", "KernelLaunchWithHandle", "0", "runtime", tid, node + 600, node_end - 400)
        self.call("node", "launch", kernel.name, "launch", tid, node, node_end)
        connection, mode = self.connection, "ACL_OP" if launch.is_graph else "ACL_NN"
        self.call("acl", launch.api, "0", mode, tid, times.prepared, times.end)
        self._queue(launch.queued, start, end, begin, times.end)
        launched = connection, node + device.ACL, tid, self.open[-1]
        self._add_task(records.Task(kernel, times.start, times.dur, stream, 0, *launched))

    def _add_task(self, task: records.Task) -> None:
        """Add a task as the next one of its stream."""
        task.task, task.batch = self.next_task(task.stream)
        self._segment.tasks.append(task)
        if task.kernel.computes:
            self._meters.count(task)

    def copy(self, to_host: bool, size: int, start: int, end: int, times: device.Copied) -> None:
        """Add a copy that was enqueued from `start` to `end`."""
        if self._keep:
            name = "acl_memcpy_device_to_host" if to_host else "acl_memcpy_host_to_device"
            tid = self.launching_tid
            self.call("acl", "aclrtMemcpyAsync", "0", "ACL_RTS", tid, times.begin, times.end)
            self._queue(name, start, end, times.begin, times.end)
            launched = self.connection, times.begin, tid, self.open[-1]
            for at in times.starts:
                self._add_task(records.Task(device.COPIES[to_host], at, times.dur, device.STREAM, 0, *launched, size))

    def communicate(self, type_: str, start: int, end: int, begin: int, done: int) -> None:
        """Add the calls, from `begin` to `done`, of a communication operator that was enqueued from `start` to `end`."""
        if self._keep:
            tid = self.launching_tid
            self.call("acl", type_, "0", "HOST_HCCL", tid, begin, done)
            self.call("node", "launch", type_, "launch", tid, begin, done - 1_000)
            self.call("hccl", "Launch_Ffts", "Launch_Ffts", "master", tid, begin, done - 2_000)
            self._queue(CALLS[type_], start, end, begin, done)

    def add_communication(self, op: records.CommOp) -> None:
        """Add a communication operator that is done."""
        self._segment.comm.append(op)
        self._meters.count_communication(op)

    def mark(self, name: str, stream: int, start: int, end: int, begin: int) -> tuple[int, int]:
        """Add a mark on a stream that was enqueued from `start` to `end`. Returns its task and its connection: it takes both
        numbers without a call of CANN."""
        self.connection += 1
        self._queue(name, start, end, begin, begin + device.MARK_CALL)
        return self.next_task(stream)[0], self.connection

    def wait(self, start: int, end: int, stream: int) -> None:
        """Add the wait of a stream."""
        if self._keep:
            self._add_task(records.Task(device.EVENT_WAIT, start, end - start, stream, 0, self.connection))
