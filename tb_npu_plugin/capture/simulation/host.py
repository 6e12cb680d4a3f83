"""The host of one rank: carries out the instructions of a program one by one, while time passes.

The clock is shared by the main and the autograd thread, one of which always waits. Host times lie on a 10 ns grid as on
real ARM hosts. The same seed gives the same times, whether records are kept or not: the times of a whole cluster are worked
out first (cluster.py), and then each rank is recorded by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tb_npu_plugin.capture.simulation.allocator import CachingAllocator
from tb_npu_plugin.capture.simulation.batch import RECEIVED
from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.collectives import PHASES, Exchange, count_of
from tb_npu_plugin.capture.simulation.device import (
    LAST,
    LEAST,
    LEVEL_2,
    RISE,
    STREAM,
    WORKSPACE_SIZE,
    Device,
    stream_of,
)
from tb_npu_plugin.capture.simulation.launch import Launch
from tb_npu_plugin.capture.simulation.memory import Held, Memory
from tb_npu_plugin.capture.simulation.planes import Planes
from tb_npu_plugin.capture.simulation.program import Program, Transfer
from tb_npu_plugin.capture.simulation.records import BATCH, CommOp, Group, Kernel, OpInfo, Process, Segment
from tb_npu_plugin.capture.simulation.segment_builder import SegmentBuilder

#: ns that the host takes: before an operator, at its begin and end; before and in an enqueue; around a frame.
_BEFORE_OP, _BEGIN_OP, _END_OP, _BEFORE_ENQUEUE, _ENQUEUE, _FRAME = 1_800, 4_000, 2_500, 1_200, 5_000, 1_500
#: ns. Shorter times are those of the host's own work and vary much; longer ones are waits for data, pauses and the like,
#: known figures give or take a tenth.
_SHORT = 50_000
#: Launches from one that is preempted to the next one.
PREEMPTED = 40
#: Instructions that a host without an NPU leaves out.
_OF_THE_DEVICE = frozenset(("launch", "copy", "communicate", "wait", "synchronize", "use_graph_engine", "map_memory"))
#: Thread ids, counted from that of the main thread.
AUTOGRAD, OTHER = 91, 133


@dataclass(frozen=True)
class HostFaults:
    """What goes wrong on one host: ns of each pause of the garbage collector, ns that the loader takes more, ns of mapping
    device memory, factor of all its work, ns for which the launching thread loses its core at each PREEMPTED-th launch."""

    gc: int = 0
    loader: int = 0
    allocator: int = 0
    slow: float = 1.0
    preempted: int = 0


@dataclass(frozen=True)
class Place:
    """One rank: which process, which chip, what it holds before the capture, and what to record.

    keep        records are kept; otherwise only times are worked out
    runtime     runtime calls are recorded (level 2)
    slow        factor of the kernels' durations
    task_queue  TASK_QUEUE_ENABLE
    fragmented  bytes of the allocator's segments that are in pieces before the capture
    faults      what goes wrong
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
    faults: HostFaults = HostFaults()


class Host:
    """Runs programs: each instruction is a method.

    now      time of the host
    groups   role of a group -> its index on this rank; set by the cluster
    arrival  when this rank arrived at the communication where it has stopped
    figures  of the last step, as cluster.Truth has them
    """

    groups: dict[str, int]
    arrival: int

    def __init__(self, place: Place) -> None:
        process = place.process
        self.process, self._place, self._faults = process, place, place.faults
        self._random = Random(f"{place.seed}/{process.rank}").random
        self.device = Device(place.chip, process.start, self._random, place.slow, place.task_queue)
        self.allocator = CachingAllocator(place.chip.memory)
        self.allocator.hold(place.held)
        if place.fragmented:
            self.allocator.fragment(place.fragmented)
        self.memory = Memory(self.allocator, place.keep)
        self.records = SegmentBuilder(process, self.device.meters, place.keep, place.task_queue > 0, place.runtime)
        self.now = process.start
        self._acl = 0  # when the last communication passed through CANN
        self._slow = place.faults.slow
        self._sequences = 0  # links of operators before this step
        self._blocks: dict[int, Held] = {}  # by slot
        self._launches = 0  # of this step
        self.figures: Counter[str] = Counter()
        self._fault_number = 0.0

    # -- a step -------------------------------------------------------------------------------------
    def run(self, program: Program, number: int) -> Iterator[Transfer]:
        """One step. Stops at each communication, with `arrival` set, and is resumed after `communicated`."""
        self.figures, self._launches = Counter(), 0
        self._fault_number = self._random()
        self.spend(_FRAME, self._fault_number)
        self.records.enter_frame("pretrain.py(88): main", None, self.now)
        self.enter_frame("pretrain.py(61): train_step")
        self.spend(3_000)
        start = self.now
        skipped = frozenset() if self.process.npu else _OF_THE_DEVICE
        for name, arguments in program.instructions:
            if name not in skipped:
                getattr(self, name)(*arguments)
                if name == "communicate":
                    yield arguments[0]
        self.spend(5_000)
        if self.process.marks:
            self.records.add_step(number, start, self.now)
        self.leave_frame()
        self.leave_frame()
        self._sequences += program.sequences
        self.figures["allocated"], self.figures["reserved"] = self.allocator.allocated, self.allocator.reserved

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

    # -- time ---------------------------------------------------------------------------------------
    def spend(self, ns: int, number: float | None = None) -> None:
        """Work for `ns` on average. number: random, from 0 to 1; the next one without."""
        if number is None:
            number = self._random()
        # short times as device.vary, without a call: there are 12,000 in a step of llama-7b
        share = (LEAST + RISE * number / (LAST - number)) * self._slow if ns < _SHORT else 0.9 + 0.2 * number
        self.now += int(ns * share) // 10 * 10 + 10

    def wait_until(self, now: int) -> None:
        """Wait for the device."""
        self.now = now

    # -- operators and frames -----------------------------------------------------------------------
    def enter_frame(self, name: str, module: int | None = None) -> None:
        """Begin a Python function or module."""
        self.spend(_FRAME)
        self.records.enter_frame(name, module, self.now)

    def leave_frame(self) -> None:
        """End the innermost Python function."""
        self.spend(_FRAME)
        self.records.leave_frame(self.now)

    def enter(self, info: OpInfo, sequence: int, backward: bool) -> None:
        """Begin an operator."""
        self.spend(_BEFORE_OP)
        tid = self.process.pid + AUTOGRAD if backward else self.process.pid
        sequence = self._sequences + sequence if sequence >= 0 else -1
        self.records.enter(info, tid, self.now, sequence, int(backward))
        self.spend(_BEGIN_OP)

    def leave(self) -> None:
        """End the innermost operator."""
        self.spend(_END_OP)
        self.records.leave(self.now)

    def run_on_other_thread(self, info: OpInfo, ns: int) -> None:
        """Another thread runs an operator of `ns`."""
        tid = self.process.pid + OTHER
        if tid not in self.process.threads:
            self.process.threads.append(tid)
        self.spend(1_500)
        start = self.now
        self.spend(ns)
        self.records.add_op(info, tid, start, self.now)
        self.spend(2_000)

    # -- launches -----------------------------------------------------------------------------------
    @property
    def tid(self) -> int:
        """Thread that prepares kernels and waits for the device."""
        return self.process.pid

    def _enqueue(self) -> int:
        """Put an element on the task queue, if there is one. Returns when this began."""
        self.spend(_BEFORE_ENQUEUE)
        start = self.now
        if self._place.task_queue:
            self.spend(_ENQUEUE)
        return start

    def _resume(self, start: int) -> None:
        """Go on after what was enqueued at `start`: when the queue has had room, without a queue when CANN has returned."""
        resumes = self.device.resumes
        if resumes > start:
            self.wait_until(self.now + -(-resumes // 10) * 10 - start)

    def launch(self, launch: Launch) -> None:
        """Launch a kernel, which this thread prepares unless the launching thread does."""
        prepares = self._place.task_queue != LEVEL_2
        if prepares and launch.workspace:
            self._use_workspace(launch.workspace)
        if prepares and not launch.compiled:
            start = self.now
            self.spend(WORKSPACE_SIZE)
            self.records.prepare(launch, self.tid, start, self.now)
        start, stream = self._enqueue(), self._stream_of(launch.kernel)
        self._launches += 1
        preempted = 0 if self._launches % PREEMPTED else self._faults.preempted
        launched = self.device.launch(launch, stream, start, preempted)
        self._resume(start)
        self.records.launch(launch, stream, start, self.now, launched)
        if launched.prepared > launched.sized:
            self.memory.use_workspace(stream, launch.workspace, launched.sized, launched.prepared)
        figures = self.figures
        figures["computing"] += launched.dur
        if launched.slowed:
            figures["slowed"] += launched.slowed
        if launch.kernel.core == "AI_CPU":
            figures["ai_cpu"] += launched.dur
        if launched.compiling:
            figures["compiles"] += 1
            figures["compile"] += launched.compiling

    def _stream_of(self, kernel: Kernel) -> int:
        """Stream that a kernel is launched on."""
        return stream_of(kernel)

    def copy(self, size: int, to_host: bool, parts: int) -> None:
        """Launch a copy between host and device."""
        start = self._enqueue()
        copied = self.device.copy(start, size, parts)
        self._resume(start)
        self.records.copy(to_host, size, start, self.now, copied)

    def communicate(self, transfer: Transfer) -> None:
        """Launch a communication operator. When it is done is known later."""
        start = self._enqueue()
        begin, end, self.arrival = self.device.communicate(start, self.groups[transfer.group])
        self._resume(start)
        self._acl = begin + (end - begin) // 20 * 10
        self.records.communicate(transfer.type, start, self.now, begin, end)

    def communicated(
        self, name: str, transfer: Transfer, exchange: Exchange, group: Group, end: int, planes: Planes
    ) -> None:
        """The communication where this rank has stopped is done at `end`."""
        self.device.communicated(group.index, end)
        if not self._place.keep:
            return
        records, type_ = self.records, transfer.type
        is_mesh = group.planes > 1 and exchange.type in PHASES
        receives = type_ == BATCH and any(task.plane == RECEIVED for task in planes.pattern.tasks)
        op = CommOp(
            name,
            type_,
            group,
            self.arrival,
            end - self.arrival,
            records.connection,
            self._acl,
            records.launching_tid,
            count_of(type_, exchange.size // transfer.item, len(group.ranks)),
            planes,
            records.open[-1],
            main=1 if is_mesh or receives else 0,
            data_type=transfer.data_type or {1: "INT8", 4: "FP32"}.get(transfer.item, "BFP16"),
            algorithm="MESH-RING" if is_mesh else "RING",
            joined=transfer.joined,
        )
        records.add_communication(op)

    def wait(self, group: str) -> None:
        """Let the compute stream wait for a group."""
        waited = self.device.wait(self.device.communication_until(self.groups[group]))
        if waited is not None:
            self.records.wait(*waited, STREAM)

    def synchronize(self) -> None:
        """Wait until the device has done everything."""
        start = self.wait_for_device()
        self.records.call("acl", "aclrtSynchronizeStreamWithTimeout", "0", "ACL_RTS", self.tid, start, self.now)
        self.spend(1_000)

    def wait_for_device(self) -> int:
        """Wait until the device has done everything, without a call. Returns when the wait began: launches come first."""
        start = max(self.now, -(-self.device.free_at // 10) * 10 + 10)
        self.wait_until((max(self.device.busy_until(), start) + 15_000) // 10 * 10)
        return start

    # -- memory -------------------------------------------------------------------------------------
    def allocate(self, slot: int, size: int) -> None:
        """Allocate a block and remember it as `slot`."""
        self._blocks[slot] = self._allocate(size)

    def _allocate(self, size: int) -> Held:
        self.spend(400)
        held = self.memory.allocate(self.records.op.name, size, self.now)
        self.spend(300)
        return held

    def leak(self, size: int) -> None:
        """Allocate a block that nothing gives back."""
        self._allocate(size)

    def release(self, slot: int) -> None:
        """Give a block back. It can be used again 200 ns before the release is recorded."""
        self.spend(300)
        active = self.now
        self.spend(200)
        self.memory.release(self._blocks.pop(slot), self.now, active)
        self.spend(200)

    def _use_workspace(self, size: int) -> None:
        """Workspace of one kernel, from the caching allocator: what follows on the stream may have it as well."""
        self.spend(300)
        held = self.memory.allocate(self.records.op.name, size, self.now)
        self.spend(2_000)
        self.memory.release(held, self.now, self.now)

    def use_graph_engine(self, name: str, size: int, dur: int) -> None:
        """CANN's graph engine holds a block for one operator, for `dur` ns of host time."""
        self.spend(300)
        self.memory.use_graph_engine(name, size, self.now, dur)
        self.spend(dur + 1_000)

    # -- data and faults ----------------------------------------------------------------------------
    def load(self, ns: int) -> None:
        """Wait for the data loader."""
        start = self.now
        self.spend(ns + self._faults.loader)
        self.figures["loading"] += self.now - start

    def map_memory(self) -> None:
        """Map device memory, if the allocator has none left."""
        if self._faults.allocator:
            start = self.now
            self.spend(self._faults.allocator, self._fault_number)
            self.records.call("acl", "aclrtMallocPhysical", "0", "ACL_RTS", self.process.pid, start, self.now)

    def collect(self) -> None:
        """Let the garbage collector run, if it does."""
        if self._faults.gc:
            start = self.now
            self.spend(self._faults.gc, self._fault_number)
            self.records.add_pause(self.process.pid, start, self.now)
            self.figures["pauses"] += self.now - start
