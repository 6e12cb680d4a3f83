"""Collectives and transfers between two ranks: when each member is done, and the tasks on its planes.

The schedule is computed for all members from when each of them arrived, so that the waits of one fit the arrivals of
the others. Members that reach each other directly use the mesh, as a real 910B does inside a server: each member has
a plane per peer, all planes start when the last peer has arrived, and the phases are a reducing read and a plain read
of one share from each peer. Other groups use the ring: one plane, one share passed on per round.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tb_npu_plugin.capture.simulation.records import PlaneTask
from tb_npu_plugin.capture.simulation.topology import Topology

#: Collective -> its phases: does a phase reduce?
PHASES = {
    "hcom_allReduce_": (True, False), "hcom_reduceScatter_": (True,), "hcom_allGather_": (False,),
    "hcom_broadcast_": (False,), "hcom_alltoall_": (False,), "hcom_alltoallv_": (False,), "hcom_reduce_": (True,),
    "hcom_scatter_": (False,),
}  # fmt: skip
#: Collectives whose count is that of one member's share: so their calls of HCCL take it, and so HCCL reports it.
_BY_SHARE = frozenset(("hcom_allGather_", "hcom_reduceScatter_", "hcom_alltoall_", "hcom_scatter_"))
#: ns: local copy per byte, handshake, one notification, latency of a hop.
_LOCAL, _HANDSHAKE, _NOTIFY, _HOP = 1 / 400, 900, 700, {"SIO": 300, "HCCS": 900, "PCIE": 2_500, "RDMA": 6_000}


@dataclass(frozen=True)
class Exchange:
    """One communication operator of a group. size: bytes of the whole tensor; members: their ranks in the world."""

    type: str
    size: int
    members: tuple[int, ...]
    seed: str


def schedule(
    exchange: Exchange, arrivals: tuple[int, ...], topology: Topology, member: int | None = None
) -> tuple[list[int], list[PlaneTask]]:
    """When each member is done, and the tasks of `member` by plane: its operator begins at its arrival."""
    work = _Schedule(exchange, arrivals, topology, member)
    if exchange.type not in PHASES:
        ends = work.transfer()
    elif topology.is_mesh(exchange.members):
        ends = work.mesh()
    else:
        ends = work.ring()
    return ends, work.tasks


def count_of(type_: str, elements: int, members: int) -> int:
    """Count of an operator that moves so many elements in all."""
    return elements // members if type_ in _BY_SHARE else elements


def planes(type_: str, members: tuple[int, ...], topology: Topology) -> int:
    """Rows that the tasks of such operators take."""
    if type_ in PHASES and topology.is_mesh(members):
        return len(members)
    return 1


def in_group(tasks: list[PlaneTask], exchange: Exchange, ranks: tuple[int, ...]) -> list[PlaneTask]:
    """The tasks with ranks counted in the group instead of places in the exchange, where a sender comes first."""
    if exchange.members != ranks:
        for task in tasks:
            task.src, task.dst = 1 - task.src, 1 - task.dst
    return tasks


class _Schedule:
    """Works out one operator. With `member`, its tasks are kept."""

    def __init__(
        self, exchange: Exchange, arrivals: tuple[int, ...], topology: Topology, member: int | None = None
    ) -> None:
        self._exchange, self._arrivals, self._topology, self._member = exchange, arrivals, topology, member
        random = Random(exchange.seed)
        self._vary = [0.98 + 0.04 * random.random() for _ in arrivals]
        self._closing = 20 + int(500 * random.random())
        self.tasks: list[PlaneTask] = []

    def _task(self, member: int, plane: int, name: str, start: int, dur: int, peer: int, size: int = 0,
              link: str = "INVALID_TYPE", notify: int = 0) -> None:  # fmt: skip
        self.tasks.append(PlaneTask(plane, name, start, dur, member, peer, size, link, notify))

    def _move(self, member: int, base: int) -> int:
        """ns of a move that takes `base` ns on average."""
        return int(base * self._vary[member]) + 600

    def _local(self, member: int, start: int, size: int) -> int:
        """Copy into the buffer of the communicator; gives its end."""
        dur = 700 + int(size * _LOCAL)
        if member == self._member:
            self._task(member, 0, "Memcpy", start, dur, member, size, "ON_CHIP")
        return start + dur

    def _share(self) -> int:
        """Bytes that one member has of the tensor."""
        return max(512, self._exchange.size // len(self._arrivals) // 512 * 512)

    def _finish(self, ready: list[int]) -> list[int]:
        """The last task of each member is a word of its own memory; gives the ends."""
        if self._member is not None:
            self._task(self._member, 0, "Reduce_Inline", ready[self._member] + 100, 600, self._member, 0, "ON_CHIP")
        return [at + 700 for at in ready]

    # -- mesh ---------------------------------------------------------------------------------------
    def mesh(self) -> list[int]:
        """Each member reads one share from each other member, in each phase."""
        share = self._share()
        ready = [self._local(m, at, share) for m, at in enumerate(self._arrivals)]
        for reduce in PHASES[self._exchange.type]:
            go = max(ready) + _HANDSHAKE  # all planes start when the slowest peer is there
            moves = self._topology.mesh_moves(self._exchange.members, share, reduce)
            if self._member is not None:
                self._reads(ready, go, share, reduce, moves[self._member])
            ready = [go + self._move(m, max(base)) + 130 + _NOTIFY for m, base in enumerate(moves)]
        return self._finish(ready)

    def _reads(self, ready: list[int], go: int, share: int, reduce: bool, moves: tuple[int, ...]) -> None:
        """Tasks of a phase. `ready`: when each member began it; moves: ns by plane, from plane 1."""
        member, members = self._member, self._exchange.members
        assert member is not None
        begin, count = ready[member], len(members)
        for plane, base in enumerate(moves, 1):
            peer = (member + plane) % count
            at = begin + 200 + 40 * plane
            wait = max(20, ready[peer] + _HANDSHAKE - at - 90)
            dur, start = self._move(member, base), go + 30
            closing = start + dur + 100
            link = self._topology.link(members[member], members[peer])
            self._task(member, plane, "Notify_Record", at, 60, peer, notify=plane)
            self._task(member, plane, "Notify_Wait", at + 90, wait, peer, notify=plane)
            self._task(member, plane, "Reduce_Inline" if reduce else "Memcpy", start, dur, peer, share, link)
            self._task(member, plane, "Notify_Record", closing, 60, peer, notify=plane)
            self._task(member, plane, "Notify_Wait", closing + 90, self._closing, peer, notify=plane)

    # -- ring ---------------------------------------------------------------------------------------
    def ring(self) -> list[int]:
        """Every member takes one share from the one before it, in each round."""
        share, count, members = self._share(), len(self._arrivals), self._exchange.members
        now = [self._local(m, at, share) for m, at in enumerate(self._arrivals)]
        links = [self._topology.link(members[m], members[m - 1]) for m in range(count)]
        for reduce in PHASES[self._exchange.type]:
            bases = [self._topology.move_ns(members[m], members[m - 1], share, reduce) for m in range(count)]
            durs = [self._move(m, base) for m, base in enumerate(bases)]
            for _ in range(count - 1):
                goes = [max(now[m] + 120, now[m - 1] + _HOP[links[m]]) for m in range(count)]
                if self._member is not None:
                    member = self._member
                    self._round(now[member], goes[member], durs[member], share, links[member], reduce)
                now = [go + dur + 100 for go, dur in zip(goes, durs)]
        return self._finish(now)

    def _round(self, begin: int, go: int, dur: int, share: int, link: str, reduce: bool) -> None:
        member = self._member
        assert member is not None
        before = (member - 1) % len(self._arrivals)
        self._task(member, 0, "Notify_Record", begin + 20, 60, before, notify=1)
        self._task(member, 0, "Notify_Wait", begin + 90, max(20, go - begin - 100), before, notify=1)
        name = "RDMASend" if link == "RDMA" else "Reduce_Inline" if reduce else "Memcpy"
        self._task(member, 0, name, go, dur, before, share, link)

    # -- two ranks ----------------------------------------------------------------------------------
    def transfer(self) -> list[int]:
        """The first member sends to the second. Inside a node the receiver reads, else the sender sends."""
        size, (one, other) = self._exchange.size, self._exchange.members
        link = self._topology.link(one, other)
        sent = self._local(0, self._arrivals[0], size)
        listening = self._arrivals[1] + 300
        go = max(sent, listening) + _HOP[link]
        dur = self._move(0, self._topology.move_ns(one, other, size, False))
        done = go + dur
        if self._member == 1:
            self._task(1, 0, "Reduce_Inline", self._arrivals[1], 280, 1, 0, "ON_CHIP")
        if self._member is not None:
            self._ends_of(self._member, sent if self._member == 0 else listening, go, done, link)
        return self._finish([done, done + 100])

    def _ends_of(self, member: int, since: int, go: int, done: int, link: str) -> None:
        """Tasks of one of two ranks."""
        peer = 1 - member
        self._task(member, 0, "Notify_Record", since + 20, 60, peer, notify=1)
        if member == (0 if link == "RDMA" else 1):
            self._task(member, 0, "Notify_Wait", since + 90, max(20, go - since - 100), peer, notify=1)
            name = "RDMASend" if link == "RDMA" else "Memcpy"
            self._task(member, 0, name, go, done - go, peer, self._exchange.size, link)
        else:
            self._task(member, 0, "Notify_Wait", since + 90, done - since - 60, peer, notify=1)
