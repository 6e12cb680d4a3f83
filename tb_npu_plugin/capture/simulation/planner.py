"""Goes through the instructions of a program and makes its plan (plan.py). Each method is an instruction."""

from __future__ import annotations

from tb_npu_plugin.capture.simulation.collectives import CALLS
from tb_npu_plugin.capture.simulation.device import (
    COPIES,
    EVENT_WAIT,
    LEVEL_2,
    STREAM,
    WORKSPACE_SIZE,
    stream_of,
    workspace_of,
    workspace_states,
)
from tb_npu_plugin.capture.simulation.launch import Launch
from tb_npu_plugin.capture.simulation.plan import (
    DRAWS,
    Action,
    CallKind,
    Circumstances,
    Enqueued,
    Frame,
    Held,
    Launched,
    Op,
    Plan,
    Row,
    Thread,
    Total,
)
from tb_npu_plugin.capture.simulation.program import Program, Transfer
from tb_npu_plugin.capture.simulation.records import Kernel, OpInfo
from tb_npu_plugin.capture.simulation.samples import WORKSPACE

#: ns that the host takes: before an operator, at its begin and end; before and in an enqueue; around a frame.
_BEFORE_OP, _BEGIN_OP, _END_OP, _BEFORE_ENQUEUE, _ENQUEUE, _FRAME = 1_800, 4_000, 2_500, 1_200, 5_000, 1_500
#: Instructions that a host without an NPU leaves out.
_OF_THE_DEVICE = frozenset(("launch", "copy", "communicate", "wait", "synchronize", "engine_block", "map_memory"))


def plan_of(program: Program, around: Circumstances, known: set[Kernel]) -> Plan:
    """The plan of one step. known: operators that are compiled."""
    planner = Planner(around, known)
    skipped = frozenset() if around.npu else _OF_THE_DEVICE
    planner.begin()
    for name, *arguments in program.instructions:
        if name not in skipped:
            getattr(planner, name)(*arguments)
    planner.end()
    planner.plan.sequences = program.sequences
    return planner.plan


class Planner:
    """Makes one plan. Subclasses take other times (recording/replay.py)."""

    def __init__(self, around: Circumstances, known: set[Kernel]) -> None:
        self.plan, self._around, self._known = Plan(), around, set(known)
        self._workspaces = dict(around.workspaces)
        self._tick = 0
        self._open: list[int] = []  # operators
        self._frames: list[int] = []
        self._blocks: dict[int, int] = {}  # slot -> row in `memory`

    @property
    def tick(self) -> int:
        """The last one."""
        return self._tick

    # -- the step -----------------------------------------------------------------------------------
    def begin(self) -> None:
        """What comes before the program."""
        self.enter_frame("pretrain.py(88): main")
        self.enter_frame("pretrain.py(61): train_step")
        self.spend(3_000)
        if self._around.marks:
            self._op(None, Thread.MAIN)
        self.plan.step = self._tick, 0

    def end(self) -> None:
        """What comes behind it."""
        self.spend(5_000)
        if self._around.marks:
            self.plan.op_ends[0] = self._tick
        self.plan.step = self.plan.step[0], self._tick
        self.leave_frame()
        self.leave_frame()
        self.plan.workspaces = tuple(sorted(self._workspaces.items()))
        self.plan.once = self.plan.once or self.plan.workspaces != self._around.workspaces

    def spend(self, ns: int) -> None:
        """Host time passes: `ns` on the mean (Host._draw)."""
        plan = self.plan
        plan.spells.append(ns)
        plan.lots.append(plan.draws)
        plan.draws += 1
        self._tick += 1

    def _wait_tick(self) -> int:
        """A tick to which only waiting leads."""
        self.plan.spells.append(0)
        self.plan.lots.append(0)
        self._tick += 1
        return self._tick

    # -- frames and operators -----------------------------------------------------------------------
    def enter_frame(self, name: str, module: int | None = None) -> None:
        """Begin a Python function or module."""
        self.spend(_FRAME)
        frames = self.plan.frames
        parent = self._frames[-1] + 1 if self._frames else 0
        self._frames.append(len(frames))
        frames.append(Frame(name, self._tick, len(frames) + 1, parent, module))
        self.plan.frame_ends.append(0)

    def leave_frame(self) -> None:
        """End the innermost Python function."""
        self.spend(_FRAME)
        self.plan.frame_ends[self._frames.pop()] = self._tick

    def _op(self, info: OpInfo | None, thread: int, sequence: int = -1, backward: int = 0) -> int:
        self.plan.ops.append(Op(info, thread, self._tick, sequence, backward))
        self.plan.op_ends.append(self._tick)
        return len(self.plan.ops) - 1

    def enter(self, info: OpInfo, sequence: int, backward: bool) -> None:
        """Begin an operator."""
        self.spend(_BEFORE_OP)
        self._open.append(self._op(info, Thread.AUTOGRAD if backward else Thread.MAIN, sequence, backward))
        self.spend(_BEGIN_OP)

    def leave(self) -> None:
        """End the innermost operator."""
        self.spend(_END_OP)
        self.plan.op_ends[self._open.pop()] = self._tick

    def aside(self, info: OpInfo, ns: int) -> None:
        """Another thread runs an operator; its Python side hears of it a little later."""
        self.plan.aside = True
        self.spend(1_500)
        op = self._op(info, Thread.ASIDE)
        self.spend(ns)
        self.plan.op_ends[op] = self._tick
        self.spend(2_000)

    # -- launches -----------------------------------------------------------------------------------
    def _call(self, level: str, name: str, item: str, mode: str, thread: int) -> int:
        """Gives the place of the call; its connection is one more."""
        self.plan.calls.append(CallKind(level, name, item, mode, thread))
        return len(self.plan.calls) - 1

    def _enqueue(self, action: Action, name: str, draws: int, argument: object) -> int:
        """Gives the place in the queue; without one CANN is called at once, and the operator waits for it."""
        plan = self.plan
        self.spend(_BEFORE_ENQUEUE)
        place, tick = len(plan.queue), self._tick
        if self._around.task_queue:
            self.spend(_ENQUEUE)
        else:
            self._wait_tick()
        plan.queue.append(Enqueued(name, self._open[-1], tick, plan.draws, self._thread()))
        plan.draws += draws
        if action is Action.LAUNCH and plan.actions and plan.actions[-1][0] is action:
            _, first, count = plan.actions[-1]
            plan.actions[-1] = (action, first, count + 1)
        else:
            plan.actions.append((action, place, argument))
        return place

    def _thread(self) -> int:
        """Thread that calls CANN for the open operator."""
        return Thread.LAUNCHING if self._around.task_queue else self.plan.ops[self._open[-1]].thread

    def _caller(self) -> int:
        """Thread that waits for the device and asks for the size of workspaces."""
        return Thread.MAIN

    def _stream_of(self, kernel: Kernel) -> int:
        """Stream that a kernel is launched on."""
        return stream_of(kernel)

    def launch(self, launch: Launch) -> None:
        """Launch a kernel, whose workspace this thread gets unless the launching thread does."""
        plan, kernel = self.plan, launch.kernel
        launcher_prepares = self._around.task_queue == LEVEL_2
        if launch.workspace and not launcher_prepares:
            self._use_workspace(launch.workspace)
        if not launch.compiled and not launcher_prepares:
            start = self._tick
            self.spend(WORKSPACE_SIZE)
            name, mode = launch.prepared
            call = self._call("acl", name, "0", mode, self._caller())
            plan.host_calls.append((call, start, self._tick))
        new, prepares = launch.compiled and kernel not in self._known, launcher_prepares and not launch.compiled
        takes = prepares and launch.workspace > 0
        place = self._enqueue(Action.LAUNCH, launch.queued, DRAWS + new + prepares + takes, 1)
        stream, thread = self._stream_of(kernel), self._thread()
        size = compiles = runtime = -1
        if prepares:
            name, mode = launch.prepared
            size = self._call("acl", name, "0", mode, thread)
        if takes:
            for later, state in workspace_states(self._workspaces, stream, workspace_of(launch.workspace)):
                plan.totals.append(Total(WORKSPACE, 0, -1, state, later, len(plan.launches)))
        if launch.compiled:
            self._known.add(kernel)
            plan.compiled.add(kernel)
        if new:
            plan.once = True
            compiles = self._call("acl", "opCompile", "0", "ACL_OP", thread)
        if self._around.runtime:
            runtime = self._call("runtime", "KernelLaunchWithHandle", "0", "runtime", thread)
        node = self._call("node", "launch", kernel.name, "launch", thread)
        self._call("acl", launch.api, "0", "ACL_OP" if launch.is_graph else "ACL_NN", thread)
        plan.launches.append(Launched(launch, place, len(plan.tasks), node, runtime, compiles, size, takes))
        plan.tasks.append(Row(kernel, stream, self._open[-1], node + 1, thread))

    def copy(self, size: int, to_host: bool, parts: int) -> None:
        """Launch a copy."""
        plan = self.plan
        name = "acl_memcpy_device_to_host" if to_host else "acl_memcpy_host_to_device"
        place = self._enqueue(Action.COPY, name, 1, (size, parts))
        thread = self._thread()
        call = self._call("acl", "aclrtMemcpyAsync", "0", "ACL_RTS", thread)
        plan.copies.append((place, call, len(plan.tasks), parts, size))
        plan.tasks += [Row(COPIES[to_host], STREAM, self._open[-1], call + 1, thread, size)] * parts

    def communicate(self, transfer: Transfer) -> None:
        """Launch a communication operator."""
        type_ = transfer.type
        place = self._enqueue(Action.COMMUNICATE, CALLS[type_], 1, transfer)
        thread = self._thread()
        call = self._call("acl", type_, "0", "HOST_HCCL", thread)
        self._call("node", "launch", type_, "launch", thread)
        self._call("hccl", "Launch_Ffts", "Launch_Ffts", "master", thread)
        self.plan.exchanges.append((place, call))

    def wait(self, group: str) -> None:
        """Let the compute stream wait for a group."""
        plan = self.plan
        plan.actions.append((Action.WAIT, len(plan.waits), group))
        plan.waits.append(len(plan.tasks))
        plan.tasks.append(Row(EVENT_WAIT, STREAM, -1, len(plan.calls)))

    def synchronize(self) -> None:
        """Wait on the main thread until the device has done everything."""
        start, end = self._wait_tick(), self._wait_tick()
        self.plan.actions.append((Action.SYNCHRONIZE, start, None))
        call = self._call("acl", "aclrtSynchronizeStreamWithTimeout", "0", "ACL_RTS", self._caller())
        self.plan.host_calls.append((call, start, end))
        self.spend(1_000)

    # -- memory -------------------------------------------------------------------------------------
    def _allocation(self, size: int) -> int:
        """Gives the row of the block."""
        self.spend(400)
        row = self._allocated(size)
        self.spend(300)
        return row

    def _allocated(self, size: int) -> int:
        plan = self.plan
        plan.events.append((size, -1))
        event = len(plan.events) - 1
        info = plan.ops[self._open[-1]].info if self._open else None
        plan.memory.append(Held(info.name if info else "", self._tick, event, len(plan.totals)))
        plan.totals.append(Total("PTA", self._tick, event))
        return len(plan.memory) - 1

    def _use_workspace(self, size: int) -> None:
        """Workspace of one kernel, from the caching allocator: what follows on the stream may have it as well."""
        self.spend(300)
        row = self._allocated(size)
        self.spend(2_000)
        self.plan.events.append((0, self.plan.memory[row].event))
        self._released(row, self._tick)

    def allocate(self, slot: int, size: int) -> None:
        """Allocate a block and remember it as `slot`."""
        self._blocks[slot] = self._allocation(size)

    def release(self, slot: int) -> None:
        """Give a block back; it can be used again a moment before the release is recorded."""
        row = self._blocks.pop(slot)
        self.spend(300)
        active = self._tick
        self.plan.events.append((0, self.plan.memory[row].event))
        self.spend(200)
        self._released(row, active)
        self.spend(200)

    def _released(self, row: int, active: int) -> None:
        plan = self.plan
        plan.memory[row] = plan.memory[row]._replace(release=self._tick, active_release=active, after=len(plan.totals))
        plan.totals.append(Total("PTA", self._tick, len(plan.events) - 1))

    def leak(self, size: int) -> None:
        """Allocate a block that nothing gives back."""
        self._allocation(size)

    def engine_block(self, name: str, size: int, dur: int) -> None:
        """A block that CANN holds for one operator, for `dur` ns of host time."""
        plan = self.plan
        self.spend(300)
        before = len(plan.totals)
        plan.totals.append(Total("GE", self._tick, -1, (size, 76 << 20, None)))
        plan.totals.append(Total("GE", self._tick, -1, (0, 76 << 20, None), dur))
        plan.memory.append(Held(f"cann::{name}", self._tick, -1, before, self._tick, None, before + 1, size, dur))
        self.spend(dur + 1_000)

    # -- what goes wrong ----------------------------------------------------------------------------
    def load(self, ns: int) -> None:
        """Wait for the data loader."""
        start = self._tick
        self.spend(ns + self._around.loader)
        self.plan.loads.append((start, self._tick))

    def _lose(self, ns: int) -> None:
        """As `spend`, with a random number that the run has without the fault, too: all else takes as long as there."""
        self.plan.spells.append(ns)
        self.plan.lots.append(0)
        self._tick += 1

    def map_memory(self) -> None:
        """Map device memory, if the allocator has none left."""
        if self._around.allocator:
            start = self._tick
            self._lose(self._around.allocator)
            call = self._call("acl", "aclrtMallocPhysical", "0", "ACL_RTS", Thread.MAIN)
            self.plan.host_calls.append((call, start, self._tick))

    def collect(self) -> None:
        """Let the garbage collector run, if it does."""
        if self._around.gc:
            start = self._tick
            self._lose(self._around.gc)
            self.plan.pauses.append((start, self._tick))
