"""A cluster: all ranks of a run, whose waits fit each other's arrivals.

First all ranks run side by side without records (`times`): each runs until it communicates, and goes on when all members
of the group are there. What comes out are the arrivals at each communication (Timetable). With them each rank can then be
recorded by itself, in any order and in any process: the same seed gives the same times.
"""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from tb_npu_plugin.capture.simulation.collectives import Exchange, Transfer, planes, schedule
from tb_npu_plugin.capture.simulation.faults import Faults
from tb_npu_plugin.capture.simulation.planes import NO_PLANES, Planes
from tb_npu_plugin.capture.simulation.program import AUTOGRAD, TrainingHost, Workload
from tb_npu_plugin.capture.simulation.records import RECEIVE, SEND, Group, Process, Segment
from tb_npu_plugin.capture.simulation.topology import Communicator, Layout, Topology
from tb_npu_plugin.schema.chips import Chip
from tb_npu_plugin.schema.communicators import group_hash

#: Group -> arrivals of its members at its first communication, at its second ...: a long run has many.
Timetable = dict[str, "array[int]"]
#: ns between the starts of the captures of two ranks, at most: processes do not begin together.
_SKEW = 400_000
#: HCCL's ports begin here (HCCL_IF_BASE_PORT); us from the first communicator to the capture.
_PORT, _FOUNDED = 60_000, 95_000_000


@dataclass
class Truth:
    """Known figures of each rank by step: what analyses can be held against. All in ns or bytes."""

    computing: list[int] = field(default_factory=list)  # of the compute kernels
    slowed: list[int] = field(default_factory=list)  # what a slow rank adds to it
    waited: list[int] = field(default_factory=list)  # for the last member of each communication
    ai_cpu: list[int] = field(default_factory=list)  # of AI CPU kernels
    compiles: list[int] = field(default_factory=list)  # operators that were compiled
    compile: list[int] = field(default_factory=list)  # and the time of that
    allocated: list[int] = field(default_factory=list)  # of the caching allocator at the end of the step
    reserved: list[int] = field(default_factory=list)
    pauses: list[int] = field(default_factory=list)  # of the garbage collector
    loading: list[int] = field(default_factory=list)  # of the data loader


@dataclass(frozen=True)
class Cluster:
    """A run."""

    workload: Workload
    layout: Layout
    chip: Chip
    steps: int
    start: int  # ns since the epoch
    seed: int = 0
    first_step: int = 11  # number of the first recorded step
    faults: Faults = field(default_factory=Faults)
    npu: bool = True  # there is a device, not only the host of a single rank
    marks: bool = True  # steps leave marks
    task_queue: int = 1  # TASK_QUEUE_ENABLE of all ranks
    named_groups: bool = False  # the script names the communicators

    @cached_property
    def topology(self) -> Topology:
        """Links between the ranks."""
        return Topology(self.chip, self.faults.slow_links)

    def process(self, rank: int) -> Process:
        """The process of a rank, as far as it is known before it runs."""
        chip, start = self.chip, self.start + (rank * 37_510 % _SKEW) // 10 * 10
        own = replace(chip, clock=round(chip.clock / self.faults.low_clocks.get(rank, 1.0)))
        process = Process(31_780 + 6 * rank, rank % chip.node, rank, self.layout.world, start, npu=self.npu, chip=own)
        process.marks, process.dequeue_tid = self.marks, process.pid + 57
        launching = [process.dequeue_tid] if self.npu and self.task_queue else []
        process.threads = [process.pid, *launching, process.pid + AUTOGRAD]
        return process

    def communicator_name(self, communicator: Communicator) -> str:
        """Name of a communicator, the same on all its ranks, as HCCL makes it on the first of them: address and card of
        its server, port of its device, how many it has founded before, and when (us). Or as the script names it: a rank
        has each name once, and other ranks use it for other communicators."""
        if self.named_groups:
            role, stage = communicator.role, self.layout.stage(communicator.ranks[0])
            return f"{role}_{stage}" if role == "p2p" else f"{role.removesuffix('_group')}_group"
        server, device = divmod(communicator.ranks[0] + self.chip.node, self.chip.node)  # servers count from 1
        number = self.layout.number(communicator)
        at = self.start // 1000 - _FOUNDED + number * 2_750_000 + communicator.ranks[0] * 1_210
        return f"10.{server >> 16}.{server >> 8 & 255}.{server & 255}%eth0_{_PORT + device}_{number}_{at}"

    def linked(self, rank: int) -> list[int]:
        """Ranks to which a rank has links that its communication uses: in a ring those beside it."""
        roles = self.workload.program(self.layout.stage(rank), 0).roles
        out: set[int] = set()
        for role, communicator in self.layout.communicators(rank).items():
            if role in roles:
                ranks = communicator.ranks
                own, is_mesh = ranks.index(rank), self.topology.is_mesh(ranks)
                out.update(ranks if is_mesh else (ranks[own - 1], ranks[(own + 1) % len(ranks)]))
        return sorted(out - {rank})

    def times(self, progress: Callable[[float], None] = lambda share: None) -> tuple[Timetable, list[Truth]]:
        """Arrivals at all communications, and the truth of each rank. progress: share of the ranks that are done."""
        runs = [_Run(self, rank) for rank in range(self.layout.world)]
        table, waiting = Timetable(), dict[str, dict[_Run, tuple[Transfer, Exchange]]]()
        ready, done = deque(runs), 0
        while ready:
            run = ready.popleft()
            transfer = next(run.transfers, None)
            if transfer is None:
                done += 1
                progress(done / len(runs))
                continue
            exchange = run.exchange(transfer)
            there = waiting.setdefault(exchange.seed, {})
            there[run] = transfer, exchange
            if len(there) == len(exchange.members):
                members = self._meet(waiting.pop(exchange.seed))
                arrivals = table.setdefault(run.communicators[transfer.group].key, array("q"))
                arrivals.extend(member.arrival for member in members)
                ready += members
        if waiting:
            raise RuntimeError(f"ranks wait for ever at {sorted(waiting)[:3]}: the programs do not fit each other")
        return table, [run.truth for run in runs]

    def _meet(self, there: dict[_Run, tuple[Transfer, Exchange]]) -> list[_Run]:
        """All members have arrived at an operator: tell each when it is done. Returns them in their order in the exchange."""
        exchange, *others = {exchange for _, exchange in there.values()}
        if others:
            raise RuntimeError(f"ranks do not fit each other: {[exchange, *others]}")
        members = sorted(there, key=lambda run: exchange.members.index(run.rank))
        arrivals = tuple(run.arrival for run in members)
        ends, _ = schedule(exchange, arrivals, self.topology)
        for run, end in zip(members, ends):
            run.finish(there[run][0], exchange, max(arrivals), end, NO_PLANES)
        return members

    def record(self, rank: int, table: Timetable, runtime: bool = False) -> tuple[Process, Iterator[Segment], Truth]:
        """The process, segments and truth of a rank; the first and the last are complete after the last segment. runtime:
        with the calls of level 2."""
        run = _Run(self, rank, table, runtime)
        return run.process, run.segments(), run.truth


class _Run(TrainingHost):
    """The host of one rank and what it communicates. table: arrivals of all members, to record this one; runtime: with
    the calls of level 2."""

    def __init__(self, cluster: Cluster, rank: int, table: Timetable | None = None, runtime: bool = False) -> None:
        faults, keep, queue = cluster.faults, table is not None, cluster.task_queue
        super().__init__(cluster.process(rank), cluster.chip, cluster.seed, faults, keep, runtime, queue)
        self.rank, self._cluster, self._stage, self._table = rank, cluster, cluster.layout.stage(rank), table
        self.communicators = cluster.layout.communicators(rank)
        self._counts = Counter[str]()
        held, program = cluster.workload.held(self._stage), cluster.workload.program(self._stage, 0)
        self.allocator.hold(held)
        if faults.fragmentation:  # half of what the rank needs
            self.allocator.fragment((held + program.peak) // 2)
        groups = dict[str, Group]()
        used = {self.communicators[role].key for role in program.roles}
        for role, one in self.communicators.items():
            if one.key not in groups:
                rows = 1 if role.startswith("pp") else planes("hcom_allReduce_", one.ranks, cluster.topology)
                name, own = cluster.communicator_name(one), one.ranks.index(self.rank)
                identity = name if cluster.named_groups else group_hash(name)
                rows = rows if one.key in used else 0
                groups[one.key] = Group(len(groups), identity, one.ranks, own, rows, name, one.role)
        self.join({role: groups[one.key] for role, one in self.communicators.items()})
        if not faults.dynamic:  # operators were compiled before the capture
            self.device.compiled |= {launch.kernel for launch in program.launches if launch.compiled}
        self.truth = Truth()
        #: What it communicates in all steps, while it runs.
        self.transfers = chain.from_iterable(map(self._step, range(cluster.steps)))

    def exchange(self, transfer: Transfer) -> Exchange:
        """The operator as all members see it. Of two ranks the sender comes first."""
        communicator, type_ = self.communicators[transfer.group], transfer.type
        members, seed = communicator.ranks, f"{communicator.key}/{self._counts[communicator.key]}"
        if type_ in (SEND, RECEIVE):
            members = tuple(sorted(members, key=lambda rank: (rank == self.rank) != (type_ == SEND)))
            type_ = SEND
        return Exchange(type_, transfer.size, members, seed, transfer.slow, transfer.resend)

    def _step(self, step: int) -> Iterator[Transfer]:
        cluster = self._cluster
        program = cluster.workload.program(self._stage, step)
        yield from self.run(cluster.first_step + step, program.instructions, program.sequences)
        for name, figures in vars(self.truth).items():
            figures.append(self.figures[name])

    def segments(self) -> Iterator[Segment]:
        """Run all steps with the known arrivals; the records of each."""
        for step in range(self._cluster.steps):
            for transfer in self._step(step):
                self._communicate(transfer)
            self.process.end = self.stopped()
            segment = self.take_step()
            if step == self._cluster.steps - 1:
                segment.until = 1 << 63
            yield segment

    def _communicate(self, transfer: Transfer) -> None:
        """Communicate with the known arrivals."""
        assert self._table is not None
        key, exchange = self.communicators[transfer.group].key, self.exchange(transfer)
        first, member = self._counts[key] * len(exchange.members), exchange.members.index(self.rank)
        arrivals = tuple(self._table[key][first : first + len(exchange.members)])
        assert arrivals[member] == self.arrival, "the recorded run is not the one whose times are known"
        ends, tasks = schedule(exchange, arrivals, self._cluster.topology, member)
        self.finish(transfer, exchange, max(arrivals), ends[member], tasks)

    def finish(self, transfer: Transfer, exchange: Exchange, last: int, end: int, tasks: Planes) -> None:
        """The communication where it has stopped is done at `end`. last: when the last member arrived."""
        key = self.communicators[transfer.group].key
        self.figures["waited"] += last - self.arrival
        self.communicated(self._counts[key], transfer, exchange, end, tasks)
        self._counts[key] += 1
