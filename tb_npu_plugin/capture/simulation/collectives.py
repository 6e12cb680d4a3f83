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
    "hcom_broadcast_": (False,), "hcom_alltoall_": (False,),
}  # fmt: skip
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
    done = _Schedule(exchange, arrivals, topology, member)
    return done.ends, done.tasks


def planes(type_: str, members: tuple[int, ...], topology: Topology) -> int:
    """Rows that the tasks of such operators take."""
    if type_ in PHASES and topology.is_mesh(members):
        return len(members)
    return 1


class _Schedule:
    """Works out one operator. With `member`, its tasks are kept."""

    def __init__(
        self, exchange: Exchange, arrivals: tuple[int, ...], topology: Topology, member: int | None = None
    ) -> None:
        self._exchange, self._arrivals, self._topology, self._member = exchange, arrivals, topology, member
        self._random = Random(exchange.seed)
        self.tasks: list[PlaneTask] = []
        self.ends: list[int] = []
        if exchange.type not in PHASES:
            self._transfer()
        elif topology.is_mesh(exchange.members):
            self._mesh()
        else:
            self._ring()

    def _task(self, member: int, plane: int, name: str, start: int, dur: int, peer: int, size: int = 0, link: str = "",
              notify: int = 0) -> None:  # fmt: skip
        if member == self._member:
            self.tasks.append(PlaneTask(plane, name, start, dur, member, peer, size, link or "INVALID_TYPE", notify))

    def _move(self, member: int, peer: int, size: int, reduce: bool) -> int:
        members = self._exchange.members
        rate = self._topology.rate(members[member], members[peer], size, reduce)
        return int(size / rate * (0.98 + 0.04 * self._random.random())) + 600

    def _local(self, member: int, start: int, size: int) -> int:
        """Copy into the buffer of the communicator; gives its end."""
        dur = 700 + int(size * _LOCAL)
        self._task(member, 0, "Memcpy", start, dur, member, size, "ON_CHIP")
        return start + dur

    # -- mesh ---------------------------------------------------------------------------------------
    def _mesh(self) -> None:
        exchange, count = self._exchange, len(self._arrivals)
        share = max(512, exchange.size // count // 512 * 512)
        ready = [self._local(m, at, share) for m, at in enumerate(self._arrivals)]
        for reduce in PHASES[exchange.type]:
            ready = self._phase(ready, share, reduce)
        self.ends = [at + 700 for at in ready]

    def _phase(self, ready: list[int], share: int, reduce: bool) -> list[int]:
        """Read a share from each peer; `ready` is when each member began, what comes back is when it is done."""
        count, out = len(ready), []
        for member in range(count):
            peers = [(member + plane) % count for plane in range(1, count)]
            begin = ready[member]
            # all planes start when the slowest peer is there
            go = max(max(ready[peer] for peer in peers) + _HANDSHAKE, begin + _HANDSHAKE)
            last = go
            for plane, peer in enumerate(peers, 1):
                at = begin + 200 + 40 * plane
                self._task(member, plane, "Notify_Record", at, 60, peer, notify=plane)
                wait = max(20, ready[peer] + _HANDSHAKE - at - 90)
                self._task(member, plane, "Notify_Wait", at + 90, wait, peer, notify=plane)
                dur = self._move(member, peer, share, reduce)
                start = max(go, at + 90 + wait) + 30
                link = self._topology.link(self._exchange.members[member], self._exchange.members[peer])
                self._task(member, plane, "Reduce_Inline" if reduce else "Memcpy", start, dur, peer, share, link)
                closing = start + dur + 100
                self._task(member, plane, "Notify_Record", closing, 60, peer, notify=plane)
                self._task(member, plane, "Notify_Wait", closing + 90, 20 + int(500 * self._random.random()), peer)
                last = max(last, closing + _NOTIFY)
            out.append(last)
        return out

    # -- ring ---------------------------------------------------------------------------------------
    def _ring(self) -> None:
        exchange, count = self._exchange, len(self._arrivals)
        share = max(512, exchange.size // count // 512 * 512)
        now = [self._local(m, at, share) for m, at in enumerate(self._arrivals)]
        for reduce in PHASES[exchange.type]:
            for _ in range(count - 1):
                now = self._round(now, share, reduce)
        self.ends = [at + 700 for at in now]

    def _round(self, now: list[int], share: int, reduce: bool) -> list[int]:
        """Every member takes one share from the one before it."""
        count, out, members = len(now), [], self._exchange.members
        for member in range(count):
            before = (member - 1) % count
            link = self._topology.link(members[member], members[before])
            begin = now[member]
            go = max(begin + 120, now[before] + _HOP[link])
            self._task(member, 0, "Notify_Record", begin + 20, 60, before, notify=1)
            self._task(member, 0, "Notify_Wait", begin + 90, max(20, go - begin - 100), before, notify=1)
            dur = self._move(member, before, share, reduce)
            name = "RDMASend" if link == "RDMA" else "Reduce_Inline" if reduce else "Memcpy"
            self._task(member, 0, name, go, dur, before, share, link)
            out.append(go + dur + 100)
        return out

    # -- two ranks ----------------------------------------------------------------------------------
    def _transfer(self) -> None:
        """hcom_send_: the first member sends to the second. Inside a node the receiver reads, else the sender sends."""
        size, (one, other) = self._exchange.size, self._exchange.members
        link = self._topology.link(one, other)
        sent = self._local(0, self._arrivals[0], size)
        listening = self._arrivals[1] + 300
        go = max(sent, listening) + _HOP[link]
        mover = 0 if link == "RDMA" else 1
        dur = self._move(0, 1, size, False)
        done = go + dur
        for member, since in ((0, sent), (1, listening)):
            peer = 1 - member
            self._task(member, 0, "Notify_Record", since + 20, 60, peer, notify=1)
            if member == mover:
                self._task(member, 0, "Notify_Wait", since + 90, max(20, go - since - 100), peer, notify=1)
                name = "RDMASend" if link == "RDMA" else "Memcpy"
                self._task(member, 0, name, go, dur, peer, size, link)
            else:
                self._task(member, 0, "Notify_Wait", since + 90, done - since - 60, peer, notify=1)
        self.ends = [done + 600, done + 700]
