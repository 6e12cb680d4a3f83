"""The host of one rank of a simulated training: carries out the instructions of a program one by one.

The clock is shared by the main and the autograd thread, one of which always waits. Host times lie on a 10 ns grid as on
real ARM hosts. The same seed gives the same times, whether records are kept or not: the times of a whole cluster are worked
out first (cluster.py), and then each rank is recorded by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from random import Random

from tb_npu_plugin.capture.simulation.collectives import Transfer
from tb_npu_plugin.capture.simulation.device import LAST, LEAST, RISE
from tb_npu_plugin.capture.simulation.faults import Faults
from tb_npu_plugin.capture.simulation.host import Host, RankSetup
from tb_npu_plugin.capture.simulation.memory import Held
from tb_npu_plugin.capture.simulation.records import OpInfo

#: ns that the host takes: before an operator, at its begin and end; around a frame.
_BEFORE_OP, _BEGIN_OP, _END_OP, _FRAME = 1_800, 4_000, 2_500, 1_500
#: ns. Shorter times are those of the host's own work and vary much; longer ones are waits for data, pauses and the like,
#: known figures give or take a tenth.
_SHORT = 50_000
#: Thread ids, counted from that of the main thread.
AUTOGRAD, OTHER = 91, 133
#: A call of a method of TrainingHost without the host: partial(TrainingHost.copy, size=4, ...).
Instruction = partial[None]


class TrainingClock:
    """A Clock (host.py). random: gives numbers from 0 to 1; slow: factor of the host's work."""

    def __init__(self, now: int, random: Callable[[], float], slow: float) -> None:
        self.now, self._random, self._slow = now, random, slow

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


class TrainingHost(Host):
    """Runs programs: an instruction is a call of one of its methods."""

    clock: TrainingClock

    def __init__(self, setup: RankSetup, faults: Faults) -> None:
        start, rank = setup.process.start, setup.process.rank
        self._random = Random(f"{setup.seed}/{rank}").random
        super().__init__(setup, TrainingClock(start, self._random, faults.slow_hosts.get(rank, 1.0)), self._random)
        self._loader, self._mapping, self._pause = (
            struck.get(rank, 0) for struck in (faults.loader, faults.allocator, faults.gc)
        )
        self._sequences = 0  # links of operators before this step
        self._blocks: dict[int, Held] = {}  # by slot
        self._fault_number = 0.0

    def run(self, number: int, instructions: Iterable[Instruction], sequences: int) -> Iterator[Transfer]:
        """Run one step. Stops at each communication, with `arrival` set, and is resumed after `communicated`.

        sequences: how many links of operators the instructions use.
        """
        self.figures, self._launches = Counter(), 0
        self._fault_number = self._random()
        self.clock.spend(_FRAME, self._fault_number)
        self.records.enter_frame("pretrain.py(88): main", None, self.now)
        self.enter_frame("pretrain.py(61): train_step")
        self.clock.spend(3_000)
        start = self.now
        skipped = frozenset() if self.process.npu else _OF_THE_DEVICE
        for instruction in instructions:
            if instruction.func not in skipped:
                instruction(self)
                if instruction.func is Host.communicate:
                    yield instruction.keywords["transfer"]
        self.clock.spend(5_000)
        if self.process.marks:
            self.records.add_step(number, start, self.now)
        self.leave_frame()
        self.leave_frame()
        self._sequences += sequences
        self.figures["allocated"], self.figures["reserved"] = self.allocator.allocated, self.allocator.reserved

    def spend(self, ns: int) -> None:
        """Let the host work for `ns` on average."""
        self.clock.spend(ns)

    def enter_frame(self, name: str, module: int | None = None) -> None:
        """Begin a Python function or module."""
        self.clock.spend(_FRAME)
        self.records.enter_frame(name, module, self.now)

    def leave_frame(self) -> None:
        """End the innermost Python function."""
        self.clock.spend(_FRAME)
        self.records.leave_frame(self.now)

    def enter(self, info: OpInfo, sequence: int, backward: bool) -> None:
        """Begin an operator."""
        self.clock.spend(_BEFORE_OP)
        tid = self.process.pid + AUTOGRAD if backward else self.process.pid
        sequence = self._sequences + sequence if sequence >= 0 else -1
        self.records.enter(info, tid, self.now, sequence, int(backward))
        self.clock.spend(_BEGIN_OP)

    def leave(self) -> None:
        """End the innermost operator."""
        self.clock.spend(_END_OP)
        self.records.leave(self.now)

    def run_on_other_thread(self, info: OpInfo, ns: int) -> None:
        """Another thread runs an operator of `ns`."""
        tid = self.process.pid + OTHER
        if tid not in self.process.threads:
            self.process.threads.append(tid)
        self.clock.spend(1_500)
        start = self.now
        self.clock.spend(ns)
        self.records.add_op(info, tid, start, self.now)
        self.clock.spend(2_000)

    def allocate(self, slot: int, size: int) -> None:
        """Allocate a block and remember it as `slot`."""
        self._blocks[slot] = self._allocate(size)

    def _allocate(self, size: int) -> Held:
        self.clock.spend(400)
        held = self.memory.allocate(self.records.op.name, size, self.now)
        self.clock.spend(300)
        return held

    def leak(self, size: int) -> None:
        """Allocate a block that nothing gives back."""
        self._allocate(size)

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
        """Wait for the data loader."""
        start = self.now
        self.clock.spend(ns + self._loader)
        self.figures["loading"] += self.now - start

    def map_memory(self) -> None:
        """Map device memory, if the allocator has none left."""
        if self._mapping:
            start = self.now
            self.clock.spend(self._mapping, self._fault_number)
            self.records.call("acl", "aclrtMallocPhysical", "0", "ACL_RTS", self.process.pid, start, self.now)

    def collect(self) -> None:
        """Let the garbage collector run, if it does."""
        if self._pause:
            start = self.now
            self.clock.spend(self._pause, self._fault_number)
            self.records.add_pause(self.process.pid, start, self.now)
            self.figures["pauses"] += self.now - start


#: Instructions that a host without an NPU leaves out.
_OF_THE_DEVICE = frozenset[Callable[..., None]](
    (
        Host.launch,
        Host.copy,
        Host.communicate,
        Host.wait,
        Host.synchronize,
        TrainingHost.use_graph_engine,
        TrainingHost.map_memory,
    )
)
