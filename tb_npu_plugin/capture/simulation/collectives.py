"""Collectives and transfers between two ranks: when each member is done, and the tasks on its planes.

The schedule is computed for all members from when each of them arrived, so that the waits of one fit the arrivals of
the others. Members that reach each other directly use the mesh, as a real 910B does inside a server: each member has
a plane per peer, all planes start when the last peer has arrived, and each peer's share moves once in each phase: first
reduced, then plain and with the peers in reverse. A group over several servers, as many members in each, works in levels:
inside each server, between the servers (members of the same place, each with its share), and inside each server again.
Other groups use the ring: one plane, one share passed on per round.
The order, sizes and links of an all-reduce are those of the tasks of the public sample of a real 910B.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

import numpy as np

from tb_npu_plugin.capture.simulation.planes import NO_PLANES, Pattern, Planes, PlaneTask
from tb_npu_plugin.capture.simulation.records import Ints
from tb_npu_plugin.capture.simulation.topology import Topology
from tb_npu_plugin.csv_tables import read_table

_Places = tuple[int, ...]


@dataclass(frozen=True)
class _Type:
    """A type of communication: a row of collectives.csv."""

    call: str
    phases: str = ""  # "reduce" or "move" each
    counts_share: bool = False  # its count is that of a member's share: its call of HCCL takes it, and HCCL reports it
    logged: str = ""  # its names in the log of the device
    mindspore: str = ""  # and in MindSpore


_TYPES = read_table(__file__, "collectives.csv", _Type)
#: Collective -> its phases: does a phase reduce?
PHASES = {name: tuple(one == "reduce" for one in row.phases.split()) for name, row in _TYPES.items() if row.phases}
#: Name that torch_npu gives what launches a collective: HcclAllreduce in the public sample, all in ProcessGroupHCCL.cpp.
CALLS = {name: type_.call for name, type_ in _TYPES.items()}
#: Name in the log of the device (native/hccl.cpp) -> its type; a barrier is the all-reduce of one float.
LOGGED = {logged: name for name, type_ in _TYPES.items() for logged in type_.logged.split()}
#: Type of an operator of MindSpore that communicates -> its type.
COLLECTIVES = {type_.mindspore: name for name, type_ in _TYPES.items() if type_.mindspore}
#: Bytes of which the shares of an all-reduce are multiples: of HCCL's HCCL_MIN_SLICE_ALIGN_910B on the mesh (so in the
#: public sample), and HCCL_MIN_SLICE_ALIGN on the ring. The last members get what is left. What gives no member more
#: than such a unit moves whole, in one phase (assumed: HCCL has such algorithms for few bytes).
_MESH_UNIT, _RING_UNIT = 16 << 10, 128
#: Bytes of the tasks that begin and end an operator: a word of the member's own memory.
_WORD = 4
#: ns of the task that records a notification, and from its start to that of the wait behind it.
_RECORD, _BEHIND = 700, 900
#: ns: local copy per byte, handshake, one notification (recorded and waited for), latency of a hop.
_LOCAL, _HANDSHAKE, _NOTIFY, _HOP = 1 / 400, 3_000, 1_600, {"SIO": 300, "HCCS": 900, "PCIE": 2_500, "RDMA": 6_000}


@dataclass(frozen=True)
class Transfer:
    """A communication operator of one rank."""

    group: str  # as the host names it, in programs its role ("tp", "dp", "pp+", "pp-")
    type: str  # hcom_...
    size: int  # bytes
    item: int = 2  # bytes of an element
    data_type: str = ""  # as HCCL names it; empty: as usual for an element of that size
    slow: float = 1.0  # factor of its moves
    resend: int = 0  # ns until RDMA sends again what was lost in the first round of a ring
    joined: bool = False  # Megatron launches it together with the next one of the group


@dataclass(frozen=True)
class Exchange:
    """One communication operator of a group; slow, resend: as in Transfer."""

    type: str
    size: int  # bytes of the whole tensor
    members: tuple[int, ...]  # their ranks in the world
    seed: str
    slow: float = 1.0
    resend: int = 0


#: Collectives that work in levels over several servers -> (collective, between servers?) of each level.
_LEVELS = {
    "hcom_allReduce_": (("hcom_reduceScatter_", False), ("hcom_allReduce_", True), ("hcom_allGather_", False)),
    "hcom_reduceScatter_": (("hcom_reduceScatter_", False), ("hcom_reduceScatter_", True)),
    "hcom_allGather_": (("hcom_allGather_", True), ("hcom_allGather_", False)),
}


def schedule(
    exchange: Exchange, arrivals: tuple[int, ...], topology: Topology, member: int | None = None
) -> tuple[list[int], Planes]:
    """When each member is done, and the tasks of `member` by plane: its operator begins at its arrival."""
    inside, between = _levels(exchange.type, exchange.members, topology)
    if not between:
        return _Schedule(exchange, arrivals, topology, member).run()
    ends, parts = list(arrivals), list[Planes]()
    for number, (type_, over_servers) in enumerate(_LEVELS[exchange.type]):
        size = max(1, exchange.size // len(inside[0])) if over_servers else exchange.size
        for places in between if over_servers else inside:
            ranks = tuple(exchange.members[place] for place in places)
            own = places.index(member) if member in places else None
            part = Exchange(type_, size, ranks, f"{exchange.seed}/{number}", exchange.slow, exchange.resend)
            done, planes = _Schedule(part, tuple(ends[place] for place in places), topology, own).run()
            for place, end in zip(places, done):
                ends[place] = end
            if own is not None:
                parts.append(planes.renamed(places))
    return ends, Planes.joined(parts) if parts else NO_PLANES


@lru_cache(maxsize=64)
def _levels(type_: str, members: tuple[int, ...], topology: Topology) -> tuple[list[_Places], list[_Places]]:
    """Places of the members of each server, and of those with the same place in all servers; none where a collective does not
    work in levels."""
    if type_ not in _LEVELS or topology.is_mesh(members):
        return [], []
    by_server: dict[int, list[int]] = {}
    for place, rank in enumerate(members):
        by_server.setdefault(topology.server(rank), []).append(place)
    inside = [tuple(places) for places in by_server.values()]
    local = len(inside[0])
    meshes = all(topology.is_mesh(tuple(members[place] for place in places)) for places in inside if local > 1)
    if len(inside) == 1 or local == 1 or not meshes or any(len(places) != local for places in inside):
        return [], []
    return inside, list(zip(*inside))


def count_of(type_: str, elements: int, members: int) -> int:
    """Count of an operator that moves so many elements in all."""
    return elements // members if _TYPES[type_].counts_share else elements


def planes(type_: str, members: tuple[int, ...], topology: Topology) -> int:
    """Rows that the tasks of such operators take."""
    if type_ in PHASES and topology.is_mesh(members):
        return len(members)
    inside, between = _levels(type_, members, topology)
    return len(inside[0]) if between else 1


def in_group(tasks: Planes, exchange: Exchange, ranks: tuple[int, ...]) -> Planes:
    """The tasks with ranks counted in the group instead of places in the exchange, where a sender comes first."""
    return tasks if exchange.members == ranks else tasks.renamed((1, 0))


class _Kind:
    """What all operators of one type and size between the same ranks have in common. shares: bytes of the tensor that each
    member has; copies: ns that it takes to copy them; phases: does one reduce?"""

    def __init__(self, type_: str, size: int, members: tuple[int, ...], topology: Topology, slow: float) -> None:
        count, self.is_mesh = len(members), topology.is_mesh(members)
        self.shares = shares = _shares(type_, size, count, _MESH_UNIT if self.is_mesh else _RING_UNIT)
        #: What is not divided needs one phase.
        self.phases = PHASES[type_][:1] if shares[0] == size else PHASES[type_]

        def move_ns(one: int, other: int, size: int, reduce: bool) -> int:
            return int(topology.move_ns(members[one], members[other], size, reduce) * slow)

        if self.is_mesh:
            #: Of each phase: ns of the moves of each member by how far the peer is behind, and of the longest of them.
            peers = [[(one + plane) % count for plane in range(1, count)] for one in range(count)]
            self.moves = [
                [[move_ns(one, peer, shares[peer], reduce) for peer in row] for one, row in enumerate(peers)]
                for reduce in self.phases
            ]
            self.longest = [list(map(max, moves)) for moves in self.moves]
        else:  # each member takes from the one before it; the last share is hardly smaller
            self.shares = shares[:1] * count
            self.links = [topology.link(members[m], members[m - 1]) for m in range(count)]
            self.hops = np.array([_HOP[link] for link in self.links], dtype=np.int64)
            self.rounds = [[move_ns(m, m - 1, shares[0], reduce) for m in range(count)] for reduce in self.phases]
        self.copies = list(map(_copy_ns, self.shares))


_kind = lru_cache(maxsize=128)(_Kind)


def _copy_ns(size: int) -> int:
    return 700 + int(size * _LOCAL)


def _shares(type_: str, size: int, count: int, unit: int) -> list[int]:
    """Bytes of the tensor that each member has; an all-reduce divides it by units."""
    if type_ != "hcom_allReduce_":
        return [max(1, size // count)] * count
    if size <= unit * count:
        return [size] * count
    share = -(-size // (unit * count)) * unit
    return [max(0, min(share, size - number * share)) for number in range(count)]


class _Tasks:
    """Tasks of one member, in order: what they are (as PlaneTask has it), and when."""

    def __init__(self, member: int) -> None:
        self.member = member
        self._what: list[tuple[Any, ...]] = []
        self._starts: list[int] = []
        self._durs: list[int] = []
        self._others: dict[int, tuple[int, int]] = {}

    def move(
        self, start: int, dur: int, plane: int, name: str, peer: int, size: int, link: str = "ON_CHIP", notify: int = 0
    ) -> None:
        """Move data; over ON_CHIP in the own memory."""
        self._what.append((plane, name, self.member, peer, size, link, notify, None))
        self._starts.append(start)
        self._durs.append(dur)

    def shake(self, plane: int, peer: int, notify: int, at: int, wait_at: int, wait: int) -> None:
        """Notify the other side at a time, and wait for its notification."""
        self.move(at, _RECORD, plane, "Notify_Record", peer, 0, "INVALID_TYPE", notify)
        self.move(wait_at, wait, plane, "Notify_Wait", peer, 0, "INVALID_TYPE", notify)

    def meanwhile(self, name: str, size: int, link: str, times: tuple[int, int] | None = None) -> None:
        """The other side moves something else during the last task. times: start and ns, if they are others."""
        self._what[-1] = (*self._what[-1][:-1], (name, size, link))
        if times is not None:
            self._others[len(self._what) - 1] = times

    def planes(self) -> Planes:
        return Planes(_pattern(tuple(self._what)), self._starts, self._durs, self._others)


@lru_cache(maxsize=256)
def _pattern(tasks: tuple[tuple[Any, ...], ...]) -> Pattern:
    """The same for all operators of one type and size between the same ranks."""
    return Pattern([PlaneTask(*task) for task in tasks])


class _Schedule:
    """Works out one operator: its ends, and the tasks of `member`."""

    def __init__(self, exchange: Exchange, arrivals: tuple[int, ...], topology: Topology, member: int | None) -> None:
        self._exchange, self._arrivals, self._topology = exchange, arrivals, topology
        random = Random(exchange.seed)
        self._vary = [0.98 + 0.04 * random.random() for _ in arrivals]
        self._closing = 20 + int(500 * random.random())
        self._tasks = _Tasks(member) if member is not None else None

    def run(self) -> tuple[list[int], Planes]:
        exchange, topology = self._exchange, self._topology
        if exchange.type in PHASES:
            kind = _kind(exchange.type, exchange.size, exchange.members, topology, exchange.slow)
            ends = self._mesh(kind) if kind.is_mesh else self._ring(kind)
        else:
            ends = self._transfer(topology.link(*exchange.members))
        return ends, self._tasks.planes() if self._tasks is not None else NO_PLANES

    def _move(self, member: int, base: int) -> int:
        """ns of a move that takes `base` ns on average."""
        return int(base * self._vary[member]) + 600

    def _copies(self, ready: list[int], kind: _Kind) -> list[int]:
        """Each member copies its share; gives the ends."""
        if self._tasks is not None:
            own = self._tasks.member
            self._tasks.move(ready[own], kind.copies[own], 0, "Memcpy", own, kind.shares[own])
        return [at + dur for at, dur in zip(ready, kind.copies)]

    def _word(self, ready: Sequence[int], wait: int) -> list[int]:
        """Add the first and the last task of each member: each moves one word within its memory. Returns when they end."""
        if self._tasks is not None:
            own = self._tasks.member
            self._tasks.move(ready[own] + wait, 600, 0, "Reduce_Inline", own, _WORD)
        return [at + 700 for at in ready]

    def _mesh(self, kind: _Kind) -> list[int]:
        """Each member moves the share of each other member, in each phase; its own it copies."""
        ready = self._word(self._arrivals, 0)
        for phase, longest in enumerate(kind.longest):
            ready = self._copies(ready, kind)  # what is reduced leaves the buffer of the communicator in the second
            go = max(ready) + _HANDSHAKE  # all planes start when the slowest peer is there
            if self._tasks is not None:
                self._reads(self._tasks, ready, go, kind, phase)
            after = go + 600 + 130 + _NOTIFY
            ready = [after + int(base * vary) for base, vary in zip(longest, self._vary)]
        return self._word(ready, 100)

    def _reads(self, tasks: _Tasks, ready: list[int], go: int, kind: _Kind, phase: int) -> None:
        """Tasks of a phase, each plane for one peer: first all wait, so that the order of the waits is that of the peers.
        `ready`: when each member began it."""
        member, count, start = tasks.member, len(kind.shares), go + 30
        members, own = self._exchange.members, kind.shares[member]
        name = "Reduce_Inline" if kind.phases[phase] else "Memcpy"
        # the second phase takes the peers in reverse
        order = [(plane, count - plane if phase else plane) for plane in range(1, count)]
        for plane, behind in order:
            peer, at = (member + behind) % count, ready[member] + 200 + 40 * plane
            wait = max(20, ready[peer] + _HANDSHAKE - at - _BEHIND)
            tasks.shake(plane, peer, 8 * behind + 4, at, at + _BEHIND, wait)
        for plane, behind in order:
            peer = (member + behind) % count
            share, link = kind.shares[peer], self._topology.link(members[member], members[peer])
            dur = self._move(member, kind.moves[phase][member][behind - 1])
            end = start + dur + 100
            if share:
                tasks.move(start, dur, plane, name, peer, share, link)
            if share != own:
                tasks.meanwhile(name, own, link, None if share else (start, dur))
            tasks.shake(plane, peer, 8 * behind, end, end + _BEHIND, self._closing)

    def _ring(self, kind: _Kind) -> list[int]:
        """Every member takes one share from the one before it, in each round: all at once, as rings may be long."""
        count = len(self._arrivals)
        now = np.array(self._copies(self._word(self._arrivals, 0), kind), dtype=np.int64)
        before = np.arange(count) - 1
        again = np.where(np.array(kind.links) == "RDMA", self._exchange.resend, 0)
        for reduce, bases in zip(kind.phases, kind.rounds):
            durs = np.array([self._move(m, base) for m, base in enumerate(bases)], dtype=np.int64)
            for _ in range(count - 1):
                goes, took = np.maximum(now + (_BEHIND + 40), now[before] + kind.hops), durs + again
                if self._tasks is not None:
                    self._round(self._tasks, now, goes, took, kind, reduce)
                now, again = goes + took + 100, again * 0
        return self._word(now.tolist(), 100)

    @staticmethod
    def _round(tasks: _Tasks, now: Ints, goes: Ints, durs: Ints, kind: _Kind, reduce: bool) -> None:
        """Tasks of a round. now: when each member began it; goes: when its move begins."""
        member, count, share = tasks.member, len(kind.links), kind.shares[0]
        before, behind, begin, go = (member - 1) % count, (member + 1) % count, int(now[member]), int(goes[member])
        link, other = kind.links[member], kind.links[behind]
        name = "RDMASend" if link == "RDMA" else "Reduce_Inline" if reduce else "Memcpy"
        tasks.shake(0, before, 4, begin + 10, begin + _BEHIND, max(20, go - begin - _BEHIND - 20))
        tasks.move(go, int(durs[member]), 0, name, before, share, link)
        if other != link:
            tasks.meanwhile("", share, other, (int(goes[behind]), int(durs[behind])))

    def _transfer(self, link: str) -> list[int]:
        """The first member sends to the second. Inside a node the receiver reads, else the sender sends."""
        size, (one, other), tasks = self._exchange.size, self._exchange.members, self._tasks
        begun, copy = self._word(self._arrivals, 0), _copy_ns(size)
        sent, listening = begun[0] + copy, begun[1]
        go = max(sent, listening) + _BEHIND + _HOP[link]
        dur = self._move(0, self._topology.move_ns(one, other, size, False))
        done = go + dur
        if tasks is not None:
            name, peer = "RDMASend" if link == "RDMA" else "Memcpy", 1 - tasks.member
            since = listening if tasks.member else sent
            if not tasks.member:
                tasks.move(begun[0], copy, 0, "Memcpy", 0, size)
            if tasks.member == (0 if link == "RDMA" else 1):
                tasks.shake(0, peer, 4, since + 10, since + _BEHIND, max(20, go - since - _BEHIND - 20))
                tasks.move(go, dur, 0, name, peer, size, link)
            else:
                tasks.shake(0, peer, 4, since + 10, since + _BEHIND, done - since - _BEHIND + 30)
                tasks.meanwhile(name, size, link, (go, dur))
        return self._word([done, done + 100], 100)
