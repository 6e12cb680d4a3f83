"""What a step of a program leaves behind, before its times are known.

A host runs the same program step by step: names, threads, what launches what and in which order are the same in each of
them, only times and counts differ. So the instructions are gone through once (planner.py). The plan has a row for each
record to come, with the clock's ticks where it begins and ends: tick n is the time after n spells of the host's work. How
long these last is drawn for a whole step at once, and what the device does is worked out then (host.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any, NamedTuple, Optional

from tb_npu_plugin.capture.simulation.launch import Launch
from tb_npu_plugin.capture.simulation.plan_arrays import PlanArrays
from tb_npu_plugin.capture.simulation.records import Kernel, OpInfo

#: Random numbers of a launch; one more where an operator is compiled on first sight.
DRAWS = 6


class Thread(IntEnum):
    """Threads of a process, by their place in Host.threads."""

    MAIN = 0
    AUTOGRAD = 1
    LAUNCHING = 2
    ASIDE = 3


class Action(IntEnum):
    """What the device is asked for."""

    LAUNCH = 0
    COPY = 1
    COMMUNICATE = 2
    WAIT = 3
    SYNCHRONIZE = 4
    RECORD_EVENT = 5
    MARK = 6


class Circumstances(NamedTuple):
    """What makes one rank's plan of a program differ from another's. gc, loader, allocator: ns, of HostFaults; runtime:
    calls of level 2; task_queue: TASK_QUEUE_ENABLE; workspaces: (stream, bytes) that streams hold before the step."""

    marks: bool
    npu: bool
    runtime: bool
    gc: int
    loader: int
    allocator: int
    task_queue: int = 1
    workspaces: tuple[tuple[int, int], ...] = ()


class Op(NamedTuple):
    """An operator call. info None: the mark of the step; sequence: of the program, -1 without; backward: number of the
    forward thread, 0 in the forward pass."""

    info: Optional[OpInfo]
    thread: int
    start: int
    sequence: int
    backward: int


class Frame(NamedTuple):
    """A Python function or module. id, parent: counted from 1 in the step, parent 0: none."""

    name: str
    start: int
    id: int
    parent: int
    module: Optional[int]


class CallKind(NamedTuple):
    """A CANN call but its times and its connection, which is its place counted from 1 in the step."""

    level: str
    name: str
    item: str
    mode: str
    thread: int


class Enqueued(NamedTuple):
    """An element of the task queue: operator `op` enqueues it from `tick` to the next one, `thread` calls CANN for it.
    draw: place of its first random number."""

    name: str
    op: int
    tick: int
    draw: int
    thread: int


class Launched(NamedTuple):
    """A kernel launch: places in `queue` and `tasks`, and of its calls; that of ACL follows `node`. -1: there is none.
    size: the call for the size of its workspace, where the launching thread makes it; takes: and takes one."""

    launch: Launch
    place: int
    task: int
    node: int
    runtime: int
    compiles: int
    size: int
    takes: bool


class Row(NamedTuple):
    """A task on a stream. connection: counted from 1 in the step."""

    kernel: Kernel
    stream: int
    op: int
    connection: int
    thread: int = 0
    size: int = 0


class Held(NamedTuple):
    """A block. event: of the allocator that makes it, -1: CANN's, of `size` for `dur` ns; before, after: rows of
    `totals`; release: tick, None where nothing gives it back."""

    name: str
    tick: int
    event: int
    before: int
    release: Optional[int] = None
    active_release: Optional[int] = None
    after: Optional[int] = None
    size: int = 0
    dur: int = 0


class Total(NamedTuple):
    """Memory of a component `later` ns behind a tick. event: of the allocator, whose state it is; -1: `sizes` are
    (allocated, reserved, active). launch: it is taken by the launching thread; then `later` is behind its call for the
    size, -1: when the launch begins."""

    component: str
    tick: int
    event: int
    sizes: tuple[int, int, Optional[int]] = (0, 0, None)
    later: int = 0
    launch: int = -1


@dataclass(eq=False)
class Plan:
    """Rows of the records of one step. Ticks and places of draws are those of the step, counted from 0.

    spells      mean ns of each spell of the host's work, 0: none, only a tick; lots: places of their random numbers
    step        ticks of its mark
    op_ends, frame_ends   ticks
    actions     what the device is asked for, in order: (what, place in `queue`, argument), launches with how many follow
                each other, a wait with its place in `waits`, a synchronization with its first tick
    copies      (place in `queue`, in `calls`, first one in `tasks`, parts, size)
    exchanges   (place in `queue`, first one of three in `calls`)
    waits       places in `tasks`
    host_calls  (place in `calls`, ticks of start and end)
    events      of the allocator: (size, -1) allocates, (0, event) gives the block of that event back
    pauses      of the garbage collector: ticks of start and end; loads: of the data loader
    compiled    kernels of operators that CANN compiles
    workspaces  (stream, bytes) that streams hold in the end
    once        no other step is like this one: CANN compiles operators on first sight, or the workspace of a
                stream grows
    aside       another thread runs operators
    """

    spells: list[int] = field(default_factory=list)
    lots: list[int] = field(default_factory=list)
    draws: int = 0
    step: tuple[int, int] = (0, 0)
    ops: list[Op] = field(default_factory=list)
    op_ends: list[int] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    frame_ends: list[int] = field(default_factory=list)
    actions: list[tuple[Action, int, Any]] = field(default_factory=list)
    queue: list[Enqueued] = field(default_factory=list)
    calls: list[CallKind] = field(default_factory=list)
    tasks: list[Row] = field(default_factory=list)
    launches: list[Launched] = field(default_factory=list)
    copies: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    exchanges: list[tuple[int, int]] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    host_calls: list[tuple[int, int, int]] = field(default_factory=list)
    events: list[tuple[int, int]] = field(default_factory=list)
    memory: list[Held] = field(default_factory=list)
    totals: list[Total] = field(default_factory=list)
    pauses: list[tuple[int, int]] = field(default_factory=list)
    loads: list[tuple[int, int]] = field(default_factory=list)
    sequences: int = 0
    compiled: set[Kernel] = field(default_factory=set)
    workspaces: tuple[tuple[int, int], ...] = ()
    once: bool = False
    aside: bool = False

    @cached_property
    def arrays(self) -> PlanArrays:
        """The rows as columns."""
        return PlanArrays(self)
