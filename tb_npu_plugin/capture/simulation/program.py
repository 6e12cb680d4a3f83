"""What the host of one rank does in a training step, as a list of instructions; the host that carries them out one by one; and models that
give such programs.

A program is built once from a model and run for every step and by every rank that has the same place in the model, so
that what instructions share (names, shapes, stacks, kernels) exists once.
The clock is shared by the main and the autograd thread, one of which always waits. Host times lie on a 10 ns grid as on
real ARM hosts. The same seed gives the same times, whether records are kept or not: the times of a whole cluster are worked
out first (cluster.py), and then each rank is recorded by itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from random import Random
from typing import Any

from tb_npu_plugin.capture.simulation.collectives import CALLS, Transfer
from tb_npu_plugin.capture.simulation.device import LAST, LEAST, RISE
from tb_npu_plugin.capture.simulation.faults import Faults
from tb_npu_plugin.capture.simulation.host import Clock, Host
from tb_npu_plugin.capture.simulation.kernels import KernelFactory
from tb_npu_plugin.capture.simulation.launch import Launch
from tb_npu_plugin.capture.simulation.memory import Held
from tb_npu_plugin.capture.simulation.records import GcPause, HostOp, OpInfo, Process, PyCall
from tb_npu_plugin.capture.simulation.topology import Layout
from tb_npu_plugin.capture.simulation.work import Shape, Shapes, Tensor, Types
from tb_npu_plugin.csv_tables import read_table
from tb_npu_plugin.schema.chips import Chip

#: ns that the host takes: before an operator, at its begin and end; around a frame.
_BEFORE_OP, _BEGIN_OP, _END_OP, _FRAME = 1_800, 4_000, 2_500, 1_500
#: ns. Shorter times are those of the host's own work and vary much; longer ones are waits for data, pauses and the like,
#: known figures give or take a tenth.
_SHORT = 50_000
#: Thread ids, counted from that of the main thread.
AUTOGRAD, OTHER = 91, 133
#: A call of a method of TrainingHost without the host: partial(TrainingHost.copy, size=4, ...).
Instruction = partial[None]


class TrainingClock(Clock):
    """random: gives numbers from 0 to 1; slow: factor of the host's work."""

    def __init__(self, now: int, random: Callable[[], float], slow: float) -> None:
        self.now, self._random, self._slow = now, random, slow

    def spend(self, ns: int, number: float | None = None) -> None:
        """Work for `ns` on average. number: random, from 0 to 1; the next one without."""
        if number is None:
            number = self._random()
        # short times as device.vary, without a call: there are 12,000 in a step of llama-7b
        share = (LEAST + RISE * number / (LAST - number)) * self._slow if ns < _SHORT else 0.9 + 0.2 * number
        self.now += int(ns * share) // 10 * 10 + 10


class TrainingHost(Host):
    """Runs programs: an instruction is a call of one of its methods."""

    clock: TrainingClock

    def __init__(
        self, process: Process, chip: Chip, seed: int, faults: Faults, keep: bool, runtime: bool, task_queue: int
    ) -> None:
        rank = process.rank
        random = Random(f"{seed}/{rank}").random
        clock = TrainingClock(process.start, random, faults.slow_hosts.get(rank, 1.0))
        slow = faults.slow_ranks.get(rank, 1.0) * faults.low_clocks.get(rank, 1.0)
        super().__init__(process, chip, clock, random, keep, runtime, slow, task_queue, faults.preempted.get(rank, 0))
        struck = faults.loader, faults.allocator, faults.gc
        self._loader, self._mapping, self._pause = (ns.get(rank, 0) for ns in struck)
        self._sequences = 0  # links of operators before this step
        self._blocks: dict[int, Held] = {}  # by slot
        self._fault_number = 0.0
        self._frames: list[PyCall] = []
        self._frame_count = 0

    def run(self, step: int, instructions: Iterable[Instruction], sequences: int) -> Iterator[Transfer]:
        """Run one step. Stops at each communication, with `arrival` set, and is resumed after `communicated`.
        sequences: how many links of operators the instructions use."""
        self.figures, self._launches = Counter(), 0
        self._fault_number = self.random()
        self.enter_frame("pretrain.py(88): main", number=self._fault_number)
        self.enter_frame("pretrain.py(61): train_step")
        self.clock.spend(3_000)
        start = self.now
        skipped = set[object]() if self.process.npu else _OF_THE_DEVICE
        for instruction in instructions:
            if instruction.func not in skipped:
                instruction(self)
                if instruction.func is Host.communicate:
                    yield instruction.keywords["transfer"]
        self.clock.spend(5_000)
        if self.process.marks and self.keep:
            self.add_step(step, start)
        self.leave_frame()
        self.leave_frame()
        self._sequences += sequences
        self.figures["allocated"], self.figures["reserved"] = self.allocator.allocated, self.allocator.reserved

    def spend(self, ns: int) -> None:
        self.clock.spend(ns)

    def enter_frame(self, name: str, module: int | None = None, number: float | None = None) -> None:
        """Begin a Python function or module. number: as in spend."""
        self.clock.spend(_FRAME, number)
        if self.keep:
            self._frame_count += 1
            parent = self._frames[-1].id if self._frames else 0
            self._frames.append(PyCall(name, self.process.pid, self.now, 0, self._frame_count, parent, module))
            self._segment.python.append(self._frames[-1])

    def leave_frame(self) -> None:
        self.clock.spend(_FRAME)
        if self.keep:
            self._frames.pop().end = self.now

    def enter(self, info: OpInfo, sequence: int, backward: bool) -> None:
        self.clock.spend(_BEFORE_OP)
        if self.keep:
            tid = self.process.pid + AUTOGRAD if backward else self.process.pid
            self.begin_operator(info, tid, self._sequences + sequence if sequence >= 0 else -1, int(backward))
        self.clock.spend(_BEGIN_OP)

    def leave(self) -> None:
        self.clock.spend(_END_OP)
        if self.keep:
            self.open.pop().end = self.now

    def run_on_other_thread(self, info: OpInfo, ns: int) -> None:
        """Another thread runs an operator of `ns`."""
        tid = self.process.pid + OTHER
        if tid not in self.process.threads:
            self.process.threads.append(tid)
        self.clock.spend(1_500)
        start = self.now
        self.clock.spend(ns)
        if self.keep:
            self._segment.ops.append(HostOp(info, tid, start, self.now))
        self.clock.spend(2_000)

    def allocate(self, slot: int | None, size: int) -> None:
        """Allocate a block and remember it as `slot`; None: nothing gives it back."""
        self.clock.spend(400)
        held = self.memory.allocate(self.op.name, size, self.now)
        self.clock.spend(300)
        if slot is not None:
            self._blocks[slot] = held

    def release(self, slot: int) -> None:
        """Give a block back. It can be used again 200 ns before the release is recorded."""
        self.clock.spend(300)
        active = self.now
        self.clock.spend(200)
        self.memory.release(self._blocks.pop(slot), self.now, active)
        self.clock.spend(200)

    def use_graph_engine(self, name: str, size: int, dur: int) -> None:
        """CANN's graph engine holds a block for one operator, for `dur` ns of host time."""
        self.clock.spend(300)
        self.memory.use_graph_engine(name, size, self.now, dur)
        self.clock.spend(dur + 1_000)

    def load(self, ns: int) -> None:
        start = self.now
        self.clock.spend(ns + self._loader)
        self.figures["loading"] += self.now - start

    def map_memory(self) -> None:
        """Map device memory, if the allocator has none left."""
        if self._mapping:
            start = self.now
            self.clock.spend(self._mapping, self._fault_number)
            if self.keep:
                self._call("acl", "aclrtMallocPhysical", "ACL_RTS", self.process.pid, start, self.now)

    def collect(self) -> None:
        """Let the garbage collector run, if it does."""
        if self._pause:
            start = self.now
            self.clock.spend(self._pause, self._fault_number)
            self._segment.gc.append(GcPause(self.process.pid, start, self.now))
            self.figures["pauses"] += self.now - start


#: Instructions that a host without an NPU leaves out.
_OF_THE_DEVICE = {Host.launch, Host.copy, Host.communicate, Host.wait, Host.synchronize}
_OF_THE_DEVICE |= {TrainingHost.use_graph_engine, TrainingHost.map_memory}


#: Forward operator -> what its backward operator calls.
_BACKWARD = {name: row["backward"] for name, row in read_table(__file__, "backward.csv", dict[str, str]).items()}
_SEPARATOR = ";\r\n"


@dataclass(frozen=True)
class Kept:
    """What the forward pass of an operator leaves for the backward pass."""

    name: str
    sequence: int
    shapes: Shapes
    slot: int
    weight: int = 0  # bytes of its gradient
    reduce: int = 0  # bytes of an all-reduce among tensor parallel ranks that follows its gradient


class Program:
    """The instructions of a step of a model, which its subclass adds."""

    def __init__(self, model: Workload) -> None:
        self.layout, self.faults, self.synced, self._kernels = model.layout, model.faults, model.synced, model.kernels
        self.instructions: list[Instruction] = []
        self.sequences = 0
        self.launches: list[Launch] = []  # of kernels
        self.roles: set[str] = set()  # of groups that communicate
        self.peak = self._allocated = 0  # bytes that are allocated at once at most, and now: without workspaces
        self._sizes: list[int] = []  # by slot
        self._infos = cache(OpInfo)
        self._frames: list[str] = []
        self._modules = Counter[str]()

    def do(self, method: Callable[..., None], **arguments: Any) -> None:
        """Add an instruction: a call of this method of the host."""
        self.instructions.append(partial(method, **arguments))

    def _info(self, name: str, shapes: Shapes, types: Types, stacked: bool) -> OpInfo:
        stack = tuple(reversed(self._frames)) if stacked else ()
        sizes = _SEPARATOR.join(",".join(map(str, shape)) for shape in shapes)
        return self._infos(name, sizes, _SEPARATOR.join(types), stack)

    @contextmanager
    def frame(self, name: str, module: int | None = None) -> Iterator[None]:
        """A Python function, or a module with its number, around what runs inside."""
        self.do(TrainingHost.enter_frame, name=name, module=module)
        if module is None:
            self._frames.append(name)
        yield
        if module is None:
            self._frames.pop()
        self.do(TrainingHost.leave_frame)

    def module(self, kind: str) -> AbstractContextManager[None]:
        number = self._modules[kind]
        self._modules[kind] += 1
        return self.frame(f"nn.Module: {kind}_{number}", number)

    @contextmanager
    def op(
        self, name: str, shapes: Shapes = (), types: Types = (), sequence: int = -1, backward: bool = False
    ) -> Iterator[None]:
        """An operator call around what runs inside. sequence: what links it with its other direction."""
        info = self._info(name, shapes, types, not backward)
        self.do(TrainingHost.enter, info=info, sequence=sequence, backward=backward)
        yield
        self.do(TrainingHost.leave)

    def run(
        self, name: str, shapes: Shapes, types: Types, sequence: int = -1, backward: bool = False, output: bool = True
    ) -> int:
        """An operator with its kernels; gives the slot of its output, -1 without one: in place, or not `output`."""
        slot = -1
        launches = self._kernels.launches(name, shapes, types)
        with self.op(name, shapes, types, sequence, backward):
            if output and launches and not name.endswith("_"):
                out = launches[-1].kernel.outputs.partition(";")[0]
                shape = tuple(int(part) for part in out.split(",")) if out else (1,)
                slot = self.allocate(Tensor(shape, types[0]).size)
            self.instructions += [partial(TrainingHost.launch, launch=launch) for launch in launches]
            self.launches += launches
        return slot

    def next_sequence(self) -> int:
        """A number that links a forward operator with its backward one."""
        self.sequences += 1
        return self.sequences

    def run_forward(self, name: str, shapes: Shapes, types: Types, weight: int = 0, reduce: int = 0) -> Kept:
        """An operator with one output, that autograd will run backward."""
        sequence = self.next_sequence()
        return Kept(name, sequence, shapes, self.run(name, shapes, types, sequence), weight, reduce)

    def run_backward(self, kept: Kept, type_: str, title: str = "", product: str = "") -> None:
        """The gradient of an operator, in tensors of this type; gives its output back. title: of the operator of
        autograd, where it does not follow from the name; product: type of matrix products, if that is another one."""
        title = title or "".join(part.capitalize() for part in kept.name.partition("::")[2].strip("_").split("_"))
        with self.op(f"{title}Backward0", kept.shapes[:1], [type_], kept.sequence, backward=True):
            if kept.name == "aten::matmul":
                x, weight = kept.shapes
                out = (x[0], weight[1])
                for shapes in ((out, (weight[1], weight[0])), ((x[1], x[0]), out)):
                    self.free(self.run("aten::mm", shapes, (product or type_,) * 2, backward=True))
            elif kept.name in _BACKWARD:
                backward = _BACKWARD[kept.name]
                # this one takes the gradient of the result, which is as large as the input, beside the inputs
                of_norm = backward == "npu::npu_rms_norm_backward"
                taken = (kept.shapes[0], *kept.shapes) if of_norm else kept.shapes
                self.free(self.run(backward, taken, [type_] * len(taken), backward=True))
        self.free(kept.slot)

    def communicate(self, transfer: Transfer, backward: bool = False, wait: bool = True) -> None:
        """Communicate; `wait`: the compute stream goes on when it is done."""
        type_ = "c10::BFloat16" if transfer.item == 2 else "float"
        with self.op(CALLS[transfer.type], ((transfer.size // transfer.item,),), (type_,), backward=backward):
            self.do(TrainingHost.communicate, transfer=transfer)
        self.roles.add(transfer.group)
        if wait:
            self.do(TrainingHost.wait, group=transfer.group)

    def allocate(self, size: int) -> int:
        """Allocate in the open operator; gives the slot."""
        self.do(TrainingHost.allocate, slot=len(self._sizes), size=size)
        self._sizes.append(size)
        self._allocated += size
        self.peak = max(self.peak, self._allocated)
        return len(self._sizes) - 1

    def free(self, slot: int) -> None:
        if slot >= 0:
            self.do(TrainingHost.release, slot=slot)
            self._allocated -= self._sizes[slot]

    def leak(self, size: int) -> None:
        """Keep a block of `size` bytes, if any, that nothing gives back."""
        if size:
            with self.op("aten::cat", [(size // 4,)], ["float"]):
                self.do(TrainingHost.allocate, slot=None, size=size)

    def read_loss(self, size: int, type_: str, names: Sequence[str] = ("aten::item",)) -> None:
        """Copy the loss to the host and wait for it, inside operators of these names, unless the training never reads it."""
        if not self.synced:
            return
        with ExitStack() as stack:
            for name in names:
                stack.enter_context(self.op(name, [(1,)], [type_]))
            self.do(TrainingHost.copy, size=size, to_host=True, parts=1)
            self.do(TrainingHost.synchronize)

    def run_on_other_thread(self, name: str, shapes: Shapes, types: Types, ns: int) -> None:
        """Let another thread run an operator of `ns` inside the open one."""
        self.do(TrainingHost.run_on_other_thread, info=self._info(name, shapes, types, False), ns=ns)

    def load_batch(self, shape: Shape, type_: str, ns: int) -> int:
        """Let the host wait `ns` for a batch of PyTorch's data loader and copy it to the device; gives its slot."""
        size = Tensor(shape, type_).size
        with (
            self.frame("torch/utils/data/dataloader.py(631): __next__"),
            self.op("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"),
        ):
            self.do(TrainingHost.load, ns=ns)
        with self.op("aten::to", [shape], [type_]), self.op("aten::copy_", [shape, shape], [type_, type_]):
            slot = self.allocate(size)
            self.do(TrainingHost.copy, size=size, to_host=False, parts=1)
        return slot

    def interrupt(self) -> None:
        """A place where the garbage collector may run and the allocator may map device memory."""
        self.instructions += [partial(TrainingHost.collect), partial(TrainingHost.map_memory)]


@dataclass(eq=False)
class Workload(ABC):
    """A model on the ranks of a layout."""

    layout: Layout
    kernels: KernelFactory
    faults: Faults
    synced: bool  # the host reads the loss at the end of each step, and so waits for the device
    _known: dict[tuple[int, int], Program] = field(default_factory=dict, init=False)

    @abstractmethod
    def held(self, stage: int) -> int:
        """Bytes of weights, gradients and states of the optimizer on a rank of a pipeline stage."""

    @abstractmethod
    def size(self, step: int) -> int:
        """Of the input of a step, counted from 0: tokens of a sequence, pixels of an image's side. Dynamic shapes change it."""

    @abstractmethod
    def build(self, stage: int, size: int) -> Program:
        """The program of a stage for inputs of this size."""

    def program(self, stage: int, step: int) -> Program:
        """The program of a stage in a step. The same object for the same instructions."""
        key = (stage, self.size(step))
        if key not in self._known:
            self._known[key] = self.build(*key)
        return self._known[key]
