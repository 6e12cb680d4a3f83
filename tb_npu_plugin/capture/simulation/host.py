"""The host of one rank as far as its device is concerned: launches, copies, communication and waits, while time passes.

Two hosts extend it: a TrainingHost carries out the program of a simulated training, a RecordedHost (capture/recording) repeats
what a real one did. They differ in their clocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.collectives import PHASES, Exchange, Transfer, count_of, in_group
from tb_npu_plugin.capture.simulation.device import LEVEL_2, STREAM, WORKSPACE_SIZE, Device, stream_of
from tb_npu_plugin.capture.simulation.launch import Launch
from tb_npu_plugin.capture.simulation.memory import CachingAllocator, Memory
from tb_npu_plugin.capture.simulation.planes import RECEIVED, Planes
from tb_npu_plugin.capture.simulation.records import BATCH, CommOp, Group, Process, Segment
from tb_npu_plugin.capture.simulation.segment_builder import SegmentBuilder
from tb_npu_plugin.schema.communicators import group_hash

#: ns that the host takes before and in an enqueue.
_BEFORE_ENQUEUE, _ENQUEUE = 1_200, 5_000
#: Launches from one that is preempted to the next one.
PREEMPTED = 40


@dataclass(frozen=True)
class RankSetup:
    """One rank: which process, which chip, what it holds before the capture, and what to record.

    keep        records are kept; otherwise only times are worked out
    runtime     runtime calls are recorded (level 2)
    slow        factor of the kernels' durations
    task_queue  TASK_QUEUE_ENABLE
    fragmented  bytes of the allocator's segments that are in pieces before the capture
    preempted   ns for which the launching thread loses its core at each PREEMPTED-th launch
    """

    process: Process
    chip: Chip
    seed: int | str
    held: int
    keep: bool = True
    runtime: bool = False
    slow: float = 1.0
    task_queue: int = 1
    fragmented: int = 0
    preempted: int = 0


class Clock(Protocol):
    """Time of a host. now: ns since the epoch."""

    now: int

    def spend(self, ns: int) -> None:
        """Let the host work for `ns` on average."""

    def wait_until(self, now: int) -> None:
        """Let the host wait for the device."""


class Host:
    """What the hosts of simulated and of recorded trainings have in common.

    allocates  kernels take their workspaces from the caching allocator
    arrival    when this rank arrived at the communication that it launched last
    tid        thread that prepares kernels and waits for the device
    stream     of kernels and waits
    figures    of the last step, as cluster.Truth has them
    """

    arrival: int

    def __init__(self, setup: RankSetup, clock: Clock, random: Callable[[], float], allocates: bool = True) -> None:
        process = setup.process
        self.process, self.clock, self._setup, self._allocates = process, clock, setup, allocates
        self.device = Device(setup.chip, process.start, random, setup.slow, setup.task_queue)
        self.allocator = CachingAllocator()
        self.allocator.hold(setup.held)
        if setup.fragmented:
            self.allocator.fragment(setup.fragmented)
        self.memory = Memory(self.allocator, setup.keep)
        self.records = SegmentBuilder(process, self.device.meters, setup.keep, setup.task_queue > 0, setup.runtime)
        self.tid, self.stream = process.pid, STREAM
        self._acl = 0  # when the last communication passed through CANN
        self._launches = 0  # of this step
        self.figures: Counter[str] = Counter()

    def join(self, groups: Mapping[str, Group]) -> None:
        """Take part in these groups, by the name in Transfer.group; one may have several names."""
        self.process.groups = list(dict.fromkeys(groups.values()))
        self.device.meters.communicators = len(self.process.groups)
        self._groups = groups

    @property
    def now(self) -> int:
        """Time of the host."""
        return self.clock.now

    def take(self) -> Segment:
        """The segment of the step that has just been run, complete."""
        segment = self.records.take()
        segment.memory, segment.totals = self.memory.take()
        segment.until = self.now
        if self.process.npu:
            segment.until = min(self.now, self.device.free_at)
            self.device.meters.sample(segment, segment.until, self.allocator.reserved)
        return segment

    def stopped(self) -> int:
        """When the profiler has stopped, if it does so now: it waits for the device first."""
        return max(self.now, self.device.busy_until()) if self.process.npu else self.now

    def _enqueue(self) -> int:
        """Put an element on the task queue, if there is one. Returns when this began."""
        self.clock.spend(_BEFORE_ENQUEUE)
        start = self.now
        if self._setup.task_queue:
            self.clock.spend(_ENQUEUE)
        return start

    def _resume(self, start: int) -> None:
        """Go on after what was enqueued at `start`: when the queue has had room, without a queue when CANN has returned."""
        resumes = self.device.resumes
        if resumes > start:
            self.clock.wait_until(self.now + -(-resumes // 10) * 10 - start)

    def launch(self, launch: Launch) -> None:
        """Launch a kernel, which this thread prepares unless the launching thread does."""
        prepares = self._setup.task_queue != LEVEL_2
        if prepares and launch.workspace and self._allocates:
            # from the caching allocator: what follows on the stream may have it as well
            self.clock.spend(300)
            held = self.memory.allocate(self.records.op.name, launch.workspace, self.now)
            self.clock.spend(2_000)
            self.memory.release(held, self.now, self.now)
        if prepares and not launch.compiled:
            start = self.now
            self.clock.spend(WORKSPACE_SIZE)
            self.records.prepare(launch, self.tid, start, self.now)
        start, stream = self._enqueue(), stream_of(launch.kernel, self.stream)
        self._launches += 1
        preempted = 0 if self._launches % PREEMPTED else self._setup.preempted
        launched = self.device.launch(launch, stream, start, preempted)
        self._resume(start)
        self.records.launch(launch, stream, start, self.now, launched)
        if launched.prepared > launched.sized:
            self.memory.use_workspace(stream, launch.workspace, launched.sized, launched.prepared)
        figures = self.figures
        figures["computing"] += launched.dur
        figures["slowed"] += launched.slowed
        figures["ai_cpu"] += launched.dur if launch.kernel.core == "AI_CPU" else 0
        figures["compiles"] += launched.compiling > 0
        figures["compile"] += launched.compiling

    def copy(self, size: int, to_host: bool, parts: int) -> None:
        """Launch a copy between host and device."""
        start = self._enqueue()
        copied = self.device.copy(start, size, parts)
        self._resume(start)
        self.records.copy(to_host, size, start, self.now, copied)

    def communicate(self, transfer: Transfer) -> None:
        """Launch a communication operator. When it is done is known later."""
        start = self._enqueue()
        begin, end, self.arrival = self.device.communicate(start, self._groups[transfer.group].index)
        self._resume(start)
        self._acl = begin + (end - begin) // 20 * 10
        self.records.communicate(transfer.type, start, self.now, begin, end)

    def communicated(self, number: int, transfer: Transfer, exchange: Exchange, end: int, tasks: Planes) -> None:
        """The communication where this rank has stopped is done at `end`. number: how many the group had before it (sends:
        counted for each direction); tasks: name ranks by their place in the exchange."""
        group = self._groups[transfer.group]
        self.device.communicating[group.index] = end
        if not self._setup.keep:
            return
        records, type_ = self.records, transfer.type
        is_mesh = group.planes > 1 and exchange.type in PHASES
        receives = type_ == BATCH and any(task.plane == RECEIVED for task in tasks.pattern.tasks)
        op = CommOp(
            f"{type_}_{group_hash(group.name)[-3:]}_{number}_1",
            type_,
            group,
            self.arrival,
            end - self.arrival,
            records.connection,
            self._acl,
            records.launching_tid,
            count_of(type_, exchange.size // transfer.item, len(group.ranks)),
            in_group(tasks, exchange, group.ranks),
            records.open[-1],
            main=1 if is_mesh or receives else 0,
            data_type=transfer.data_type or {1: "INT8", 4: "FP32"}.get(transfer.item, "BFP16"),
            algorithm="MESH-RING" if is_mesh else "RING",
            joined=transfer.joined,
        )
        records.add_communication(op)

    def wait(self, group: str) -> None:
        """Let the stream wait for the communication of a group."""
        self._wait(self.device.communicating[self._groups[group].index])

    def _wait(self, done: int) -> None:
        waited = self.device.wait(done, self.stream)
        if waited is not None:
            self.records.wait(*waited, self.stream)

    def synchronize(self) -> None:
        """Wait until the device has done everything."""
        start = self.wait_for_device()
        self.records.call("acl", "aclrtSynchronizeStreamWithTimeout", "0", "ACL_RTS", self.tid, start, self.now)
        self.clock.spend(1_000)

    def wait_for_device(self) -> int:
        """Wait until the device has done everything, without a call. Returns when the wait began: launches come first."""
        start = max(self.now, -(-self.device.free_at // 10) * 10 + 10)
        self.clock.wait_until((max(self.device.busy_until(), start) + 15_000) // 10 * 10)
        return start
