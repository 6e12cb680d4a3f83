"""Collectives and transfers between two ranks: when each member is done, and the tasks on its planes.

The schedule is computed for all members from when each of them arrived, so that the waits of one fit the arrivals of
the others. Members that reach each other directly use the mesh, as a real 910B does inside a server: each member has
a plane per peer, all planes start when the last peer has arrived, and each peer's share moves once in each phase: first
reduced, then plain and with the peers in reverse. Other groups use the ring: one plane, one share passed on per round.
The order, sizes and links of an all-reduce are those of the tasks of the public sample of a real 910B.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.capture.simulation.records import PlaneTask
from tb_npu_plugin.capture.simulation.topology import Topology

_Ints = NDArray[np.int64]

#: Collective -> its phases: does a phase reduce?
PHASES = {
    "hcom_allReduce_": (True, False), "hcom_reduceScatter_": (True,), "hcom_allGather_": (False,),
    "hcom_broadcast_": (False,), "hcom_alltoall_": (False,), "hcom_alltoallv_": (False,), "hcom_reduce_": (True,),
    "hcom_scatter_": (False,),
}  # fmt: skip
#: Name that torch_npu gives what launches a collective: HcclAllreduce in the public sample, all in ProcessGroupHCCL.cpp.
CALLS = {
    "hcom_allReduce_": "HcclAllreduce", "hcom_reduceScatter_": "HcclReduceScatter", "hcom_allGather_": "HcclAllgather",
    "hcom_broadcast_": "HcclBroadcast", "hcom_alltoall_": "HcclAlltoAll", "hcom_alltoallv_": "HcclAlltoAllV",
    "hcom_reduce_": "HcclReduce", "hcom_scatter_": "HcclScatter", "hcom_send_": "HcclSend", "hcom_receive_": "HcclRecv",
    "hcom_batchSendRecv_": "HcclBatchSendRecv",
}  # fmt: skip
#: Collectives whose count is that of one member's share: so their calls of HCCL take it, and so HCCL reports it.
_BY_SHARE = frozenset(("hcom_allGather_", "hcom_reduceScatter_", "hcom_alltoall_", "hcom_scatter_"))
#: Bytes of which the shares of an all-reduce are multiples: of HCCL's HCCL_MIN_SLICE_ALIGN_910B on the mesh (so in the
#: public sample), and HCCL_MIN_SLICE_ALIGN on the ring. The last members get what is left. What gives no member more
#: than such a unit moves whole, in one phase (assumed: HCCL has such algorithms for few bytes).
_MESH_UNIT, _RING_UNIT = 16 << 10, 128
#: ns of the task that records a notification, and from its start to that of the wait behind it.
_RECORD, _BEHIND = 700, 900
#: Bytes of the tasks that begin and end an operator.
_WORD = 4
#: ns: local copy per byte, handshake, one notification (recorded and waited for), latency of a hop.
_LOCAL, _HANDSHAKE, _NOTIFY, _HOP = 1 / 400, 3_000, 1_600, {"SIO": 300, "HCCS": 900, "PCIE": 2_500, "RDMA": 6_000}


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

    def _shares(self, unit: int) -> list[int]:
        """Bytes of the tensor that each member has; an all-reduce divides it by units."""
        size, count = self._exchange.size, len(self._arrivals)
        if self._exchange.type != "hcom_allReduce_":
            return [max(1, size // count)] * count
        if size <= unit * count:
            return [size] * count
        share = -(-size // (unit * count)) * unit
        return [max(0, min(share, size - number * share)) for number in range(count)]

    def _phases(self, shares: list[int]) -> tuple[bool, ...]:
        """Does a phase reduce? What is not divided needs one."""
        phases = PHASES[self._exchange.type]
        return phases[:1] if shares[0] == self._exchange.size else phases

    def _begin(self) -> list[int]:
        """The first task of each member is a word of its own memory, too; gives when they go on."""
        if self._member is not None:
            self._task(
                self._member, 0, "Reduce_Inline", self._arrivals[self._member], 600, self._member, _WORD, "ON_CHIP"
            )
        return [at + 700 for at in self._arrivals]

    def _finish(self, ready: list[int]) -> list[int]:
        """The last task of each member is a word of its own memory; gives the ends."""
        if self._member is not None:
            self._task(self._member, 0, "Reduce_Inline", ready[self._member] + 100, 600, self._member, _WORD, "ON_CHIP")
        return [at + 700 for at in ready]

    # -- mesh ---------------------------------------------------------------------------------------
    def mesh(self) -> list[int]:
        """Each member moves the share of each other member, in each phase; its own it copies."""
        shares = self._shares(_MESH_UNIT)
        ready = [self._local(m, at, shares[m]) for m, at in enumerate(self._begin())]
        for number, reduce in enumerate(self._phases(shares)):
            if number:  # what is reduced now leaves the buffer of the communicator
                ready = [self._local(m, at, shares[m]) for m, at in enumerate(ready)]
            go = max(ready) + _HANDSHAKE  # all planes start when the slowest peer is there
            moves = self._topology.mesh_moves(self._exchange.members, tuple(shares), reduce)
            if self._member is not None:
                self._reads(ready, go, shares, reduce, moves[self._member], number)
            ready = [go + self._move(m, max(base)) + 130 + _NOTIFY for m, base in enumerate(moves)]
        return self._finish(ready)

    def _reads(
        self, ready: list[int], go: int, shares: list[int], reduce: bool, moves: tuple[int, ...], phase: int
    ) -> None:
        """Tasks of a phase. `ready`: when each member began it; moves: ns by how far the peer is behind."""
        member, members = self._member, self._exchange.members
        assert member is not None
        begin, count = ready[member], len(members)
        for plane in range(1, count):
            behind = count - plane if phase else plane  # the second phase takes the peers in reverse
            peer = (member + behind) % count
            at = begin + 200 + 40 * plane
            wait = max(20, ready[peer] + _HANDSHAKE - at - _BEHIND)
            dur, start = self._move(member, moves[behind - 1]), go + 30
            closing = start + dur + 100
            link = self._topology.link(members[member], members[peer])
            self._task(member, plane, "Notify_Record", at, _RECORD, peer, notify=8 * behind + 4)
            self._task(member, plane, "Notify_Wait", at + _BEHIND, wait, peer, notify=8 * behind + 4)
            name = "Reduce_Inline" if reduce else "Memcpy"
            if shares[peer]:
                self._task(member, plane, name, start, dur, peer, shares[peer], link)
            if shares[peer] != shares[member]:
                self.tasks[-1].peer = PlaneTask(plane, name, start, dur, peer, member, shares[member], link)
            self._task(member, plane, "Notify_Record", closing, _RECORD, peer, notify=8 * behind)
            self._task(member, plane, "Notify_Wait", closing + _BEHIND, self._closing, peer, notify=8 * behind)

    # -- ring ---------------------------------------------------------------------------------------
    def ring(self) -> list[int]:
        """Every member takes one share from the one before it, in each round: all at once, as rings may be long."""
        shares, count, members = self._shares(_RING_UNIT), len(self._arrivals), self._exchange.members
        share = shares[0]  # the last one is hardly smaller
        now = np.array([self._local(m, at, share) for m, at in enumerate(self._begin())], dtype=np.int64)
        links = [self._topology.link(members[m], members[m - 1]) for m in range(count)]
        hops = np.array([_HOP[link] for link in links], dtype=np.int64)
        before = np.arange(count) - 1
        for reduce in self._phases(shares):
            bases = [self._topology.move_ns(members[m], members[m - 1], share, reduce) for m in range(count)]
            durs = np.array([self._move(m, base) for m, base in enumerate(bases)], dtype=np.int64)
            for _ in range(count - 1):
                goes = np.maximum(now + (_BEHIND + 40), now[before] + hops)
                if self._member is not None:
                    self._round(now, goes, durs, share, links, reduce)
                now = goes + durs + 100
        return self._finish(now.tolist())

    def _round(self, now: _Ints, goes: _Ints, durs: _Ints, share: int, links: list[str], reduce: bool) -> None:
        """Tasks of a round. now: when each member began it; goes: when its move begins."""
        member, count = self._member, len(links)
        assert member is not None
        before, behind, link = (member - 1) % count, (member + 1) % count, links[member]
        begin, go = int(now[member]), int(goes[member])
        self._task(member, 0, "Notify_Record", begin + 10, _RECORD, before, notify=4)
        self._task(member, 0, "Notify_Wait", begin + _BEHIND, max(20, go - begin - _BEHIND - 20), before, notify=4)
        name = "RDMASend" if link == "RDMA" else "Reduce_Inline" if reduce else "Memcpy"
        self._task(member, 0, name, go, int(durs[member]), before, share, link)
        if links[behind] != link:
            move = PlaneTask(0, "", int(goes[behind]), int(durs[behind]), behind, member, share, links[behind])
            self.tasks[-1].peer = move

    # -- two ranks ----------------------------------------------------------------------------------
    def transfer(self) -> list[int]:
        """The first member sends to the second. Inside a node the receiver reads, else the sender sends."""
        size, (one, other) = self._exchange.size, self._exchange.members
        link = self._topology.link(one, other)
        begun = self._begin()
        sent = self._local(0, begun[0], size)
        listening = begun[1]
        go = max(sent, listening) + _BEHIND + _HOP[link]
        dur = self._move(0, self._topology.move_ns(one, other, size, False))
        done = go + dur
        if self._member is not None:
            self._ends_of(self._member, sent if self._member == 0 else listening, go, done, link)
        return self._finish([done, done + 100])

    def _ends_of(self, member: int, since: int, go: int, done: int, link: str) -> None:
        """Tasks of one of two ranks."""
        peer, name = 1 - member, "RDMASend" if link == "RDMA" else "Memcpy"
        self._task(member, 0, "Notify_Record", since + 10, _RECORD, peer, notify=4)
        if member == (0 if link == "RDMA" else 1):
            self._task(member, 0, "Notify_Wait", since + _BEHIND, max(20, go - since - _BEHIND - 20), peer, notify=4)
            self._task(member, 0, name, go, done - go, peer, self._exchange.size, link)
        else:
            self._task(member, 0, "Notify_Wait", since + _BEHIND, done - since - _BEHIND + 30, peer, notify=4)
            self.tasks[-1].peer = PlaneTask(0, name, go, done - go, peer, member, self._exchange.size, link)
