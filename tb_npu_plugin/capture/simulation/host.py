"""The host of one rank: carries out the instructions of a program, and leaves records.

The clock `now` is shared by the main and the autograd thread, one of which always waits. Host times lie on a 10 ns grid
as on real ARM hosts. The same seed gives the same times, whether records are kept or not: the times of a whole cluster
are worked out first (cluster.py), and then each rank is recorded by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tb_npu_plugin.capture.simulation.allocator import Block, CachingAllocator
from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.device import LEVEL_2, WORKSPACE_SIZE, Arrival, Device
from tb_npu_plugin.capture.simulation.kernels import Launch
from tb_npu_plugin.capture.simulation.program import Instruction, Program, Transfer
from tb_npu_plugin.capture.simulation.records import (
    Allocation,
    GcPause,
    HostOp,
    OpInfo,
    Process,
    PyCall,
    Segment,
    Step,
    Totals,
    by_start,
    outer_first,
)  # fmt: skip

#: ns that the host takes: before an operator, at its begin and end; before and in an enqueue; around a frame.
_BEFORE_OP, _BEGIN_OP, _END_OP, _BEFORE_ENQUEUE, _ENQUEUE, _FRAME = 1_800, 4_000, 2_500, 1_200, 5_000, 1_500
#: Blocks that fill a segment of 20 MB: two that are given back, and one between them that stays.
_SIDE, _PIN = 9 << 20, 3 << 19


#: Instructions that a host without an NPU leaves out.
_OF_THE_DEVICE = frozenset(("launch", "copy", "communicate", "wait", "synchronize", "engine_block"))


@dataclass
class HostFaults:
    """What goes wrong on one host: ns of each pause of the garbage collector, ns that the loader takes more."""

    gc: int = 0
    loader: int = 0
    pauses: list[GcPause] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """One rank: which process, which chip, what it holds before the capture, and what to record.

    keep        records are kept; otherwise only times are worked out
    runtime     runtime calls are recorded (level 2)
    slow        factor of the kernels' durations
    task_queue  TASK_QUEUE_ENABLE
    """

    process: Process
    chip: Chip
    seed: int
    held: int
    keep: bool = True
    runtime: bool = False
    slow: float = 1.0
    task_queue: int = 1


class Host:
    """Runs programs. `run` stops at each communication and is resumed when its end is known."""

    def __init__(self, place: Place, faults: HostFaults) -> None:
        process = place.process
        random = Random(f"{place.seed}/{process.rank}")
        self.process, self._random, self._faults = process, random.random, faults
        self.device = Device(place.chip, random, process.start, process.dequeue_tid, place.runtime, place.slow,
                             place.task_queue)  # fmt: skip
        self.allocator = CachingAllocator(place.chip.memory)
        self.allocator.hold(place.held)
        self.now = process.start
        self.tid, self._autograd = process.pid, process.pid + 91
        launching = [process.dequeue_tid] if process.npu and place.task_queue else []
        process.threads[:] = [self.tid, *launching, self._autograd]
        self._keep = place.keep
        self._segment: Segment | None = None
        self._open: list[HostOp | None] = []
        self._frames: list[PyCall] = []
        self._names: list[str] = []
        self._calls = self._sequence = 0
        self._blocks: dict[int, tuple[Block, Allocation | None]] = {}
        self._leaked: list[Block] = []
        self._fragmented = False
        self._engine = 0
        self._program: Program | None = None
        self._plan: list[tuple[Callable[..., Any], Instruction]] = []

    # -- steps --------------------------------------------------------------------------------------
    def run(self, program: Program, number: int) -> Iterator[Transfer]:
        """One step, in a segment of its own. Stops at each communication, with `arrival` set."""
        segment = self._segment = self.device.segment = Segment() if self._keep else None
        self._blocks.clear()
        main, train = "pretrain.py(88): main", "pretrain.py(61): train_step"
        self.enter_frame(main)
        self.enter_frame(train)
        self.spend(3_000)
        step = Step(number, self.now)
        mark = HostOp(OpInfo(f"ProfilerStep#{number}"), self.tid, self.now)
        if segment is not None and self.process.marks:
            segment.step = step
            segment.ops.append(mark)
        for method, arguments in self._plan_of(program):
            transfer = method(*arguments)
            if transfer is not None:
                yield transfer
        self._sequence += program.sequences
        self.spend(5_000)
        step.end = mark.end = self.now
        self.leave_frame()
        self.leave_frame()

    def _plan_of(self, program: Program) -> list[tuple[Callable[..., Any], Instruction]]:
        """What carries out each instruction, and its arguments. Most steps run the program of the step before."""
        if program is not self._program:
            skipped = frozenset() if self.process.npu else _OF_THE_DEVICE
            methods = {name: getattr(self, name) for name in {instruction[0] for instruction in program.instructions}}
            self._program = program
            self._plan = [(methods[name], tuple(arguments)) for name, *arguments in program.instructions
                          if name not in skipped]  # fmt: skip
        return self._plan

    def take(self) -> Segment:
        """The segment of the step that has just been run, complete."""
        segment, self._segment, self.device.segment = self._segment, None, None
        assert segment is not None
        segment.until = min(self.now, self.device.free_at) if self.process.npu else self.now
        if self.process.npu:
            self.device.meters.sample(segment, segment.until, self.allocator.reserved)
        segment.ops.sort(key=by_start)
        segment.tasks.sort(key=by_start)
        segment.comm.sort(key=by_start)
        outer_first(segment.cann)
        return segment

    def spend(self, ns: int) -> None:
        """Let host time pass: `ns` give or take a tenth, on the 10 ns grid."""
        self.now += int(ns * (0.9 + 0.2 * self._random())) // 10 * 10 + 10

    # -- frames and operators -----------------------------------------------------------------------
    def enter_frame(self, name: str, module: int | None = None) -> None:
        """Begin a Python function or module."""
        self.spend(_FRAME)
        if self._segment is not None:
            self._calls += 1
            parent = self._frames[-1].id if self._frames else 0
            call = PyCall(name, self.tid, self.now, 0, self._calls, parent, module)
            self._frames.append(call)
            self._segment.python.append(call)

    def leave_frame(self) -> None:
        """End the innermost Python function."""
        self.spend(_FRAME)
        if self._frames:
            self._frames.pop().end = self.now

    def enter(self, info: OpInfo, sequence: int, backward: bool) -> None:
        """Begin an operator."""
        self.spend(_BEFORE_OP)
        op = None
        if self._segment is not None:
            number = self._sequence + sequence if sequence >= 0 else -1
            tid = self._autograd if backward else self.tid
            op = HostOp(info, tid, self.now, 0, number, 1 if backward else 0)
            self._segment.ops.append(op)
        self._open.append(op)
        self.spend(_BEGIN_OP)

    def leave(self) -> None:
        """End the innermost operator."""
        self.spend(_END_OP)
        op = self._open.pop()
        if op is not None:
            op.end = self.now

    def aside(self, info: OpInfo, ns: int) -> None:
        """Another thread runs an operator; its Python side hears of it a little later."""
        tid = self.tid + 133
        if tid not in self.process.threads:
            self.process.threads.append(tid)
        self.spend(1_500)
        start = self.now
        self.spend(ns)
        if self._segment is not None:
            self._segment.ops.append(HostOp(info, tid, start, self.now))
        self.spend(2_000)

    # -- launches -----------------------------------------------------------------------------------
    def _enqueue(self) -> tuple[int, int]:
        """Start and end of an enqueue; without a task queue both are now."""
        self.spend(_BEFORE_ENQUEUE)
        start = self.now
        if not self.device.task_queue:
            return start, start
        self.now = -(-self.device.room_at(start) // 10) * 10
        self.spend(_ENQUEUE)
        return start, self.now

    def _launched(self) -> None:
        """Without a task queue the operator has launched by itself, and goes on now."""
        if not self.device.task_queue:
            self.now = -(-self.device.free_at // 10) * 10

    def launch(self, launch: Launch) -> None:
        """Launch a kernel, whose workspace this thread gets unless the launching thread does."""
        prepares = self.device.task_queue != LEVEL_2
        if prepares and launch.workspace:
            self._use_workspace(launch.workspace)
        if prepares and not launch.compiled:
            start = self.now
            self.spend(WORKSPACE_SIZE)
            name, mode = launch.prepared
            self.device.call("acl", name, "0", mode, start, self.now, self.tid)
        start, end = self._enqueue()
        self.device.launch(launch, self._open[-1], start, end)
        self._launched()

    def copy(self, size: int, to_host: bool, parts: int) -> None:
        """Launch a copy."""
        start, end = self._enqueue()
        self.device.copy(size, to_host, self._open[-1], start, end, parts)
        self._launched()

    def communicate(self, transfer: Transfer) -> Transfer:
        """Launch a communication operator."""
        start, end = self._enqueue()
        self.arrival: Arrival = self.device.arrive(
            transfer.type, self.groups[transfer.group], self._open[-1], start, end
        )
        self._launched()
        return transfer

    #: Role of a group -> its index on this rank; set by the cluster.
    groups: dict[str, int]

    def wait(self, group: str) -> None:
        """Let the compute stream wait for a group."""
        self.device.wait_for(self.groups[group])

    def synchronize(self) -> None:
        """Wait on the main thread until the device has done everything."""
        start = self.now = max(self.now, -(-self.device.free_at // 10) * 10 + 10)
        self.now = (max(self.device.busy_until(), start) + 15_000) // 10 * 10
        self.device.call("acl", "aclrtSynchronizeStreamWithTimeout", "0", "ACL_RTS", start, self.now, self.tid)
        self.spend(1_000)

    # -- memory -------------------------------------------------------------------------------------
    def _totals(self, component: str = "PTA") -> Totals:
        allocator = self.allocator
        return Totals(component, self.now, allocator.allocated, allocator.reserved, allocator.allocated)

    def _allocation(self, size: int) -> tuple[Block, Allocation | None]:
        self.spend(400)
        found = self._allocated(size)
        self.spend(300)
        return found

    def _allocated(self, size: int) -> tuple[Block, Allocation | None]:
        block, allocation = self.allocator.allocate(size), None
        if self._segment is not None:
            op = self._open[-1] if self._open else None
            totals = self._totals()
            allocation = Allocation(op.info.name if op else "", block.size, self.now, totals)
            self._segment.memory.append(allocation)
            self._segment.totals.append(totals)
        return block, allocation

    def allocate(self, slot: int, size: int) -> None:
        """Allocate a block and remember it as `slot`."""
        self._blocks[slot] = self._allocation(size)

    def release(self, slot: int) -> None:
        """Give a block back; it can be used again a moment before the release is recorded."""
        block, allocation = self._blocks.pop(slot)
        self.spend(300)
        active = self.now
        self.allocator.release(block)
        self.spend(200)
        self._released(allocation, active)
        self.spend(200)

    def _released(self, allocation: Allocation | None, active: int) -> None:
        if self._segment is not None and allocation is not None:
            allocation.active_release, allocation.release = active, self.now
            allocation.after = self._totals()
            self._segment.totals.append(allocation.after)

    def _use_workspace(self, size: int) -> None:
        """Workspace of one kernel, from the caching allocator: what follows on the stream may have it as well."""
        self.spend(300)
        block, allocation = self._allocated(size)
        self.spend(2_000)
        self.allocator.release(block)
        self._released(allocation, self.now)

    def leak(self, size: int) -> None:
        """Allocate a block that nothing gives back."""
        self._leaked.append(self._allocation(size)[0])

    def fragment(self, count: int) -> None:
        """In the first step only: fill `count` segments with blocks of which a small one in the middle stays. The holes
        beside it are too small for blocks of 10 MB and more, which get segments of their own."""
        if self._fragmented:
            return
        self._fragmented, sides = True, []
        for _ in range(count):
            left, pin, right = (self._allocation(size) for size in (_SIDE, _PIN, _SIDE))
            self._leaked.append(pin[0])
            sides += [left, right]
        for side in sides:
            self._blocks[-1] = side
            self.release(-1)

    def engine_block(self, name: str, size: int, dur: int) -> None:
        """A block that CANN holds for one operator, for `dur` ns of host time."""
        self.spend(300)
        if self._segment is not None:
            before = Totals("GE", self.now, size, 76 << 20, None)
            after = Totals("GE", self.now + dur, 0, 76 << 20, None)
            self._segment.memory.append(Allocation(f"cann::{name}", size, self.now, before, after.at, None, after))
            self._segment.totals += [before, after]
        self.spend(dur + 1_000)

    # -- what goes wrong ----------------------------------------------------------------------------
    def load(self, ns: int) -> None:
        """Wait for the data loader."""
        self.spend(ns + self._faults.loader)

    def collect(self) -> None:
        """Let the garbage collector run, if it does."""
        if self._faults.gc:
            start = self.now
            self.spend(self._faults.gc)
            pause = GcPause(self.tid, start, self.now)
            self._faults.pauses.append(pause)
            if self._segment is not None:
                self._segment.gc.append(pause)
