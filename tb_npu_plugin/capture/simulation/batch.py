"""Sends and receives that are one operator (HcclBatchSendRecv): sends on one plane, receives on the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tb_npu_plugin.capture.simulation.collectives import Exchange, schedule
from tb_npu_plugin.capture.simulation.planes import Planes
from tb_npu_plugin.capture.simulation.records import SEND
from tb_npu_plugin.capture.simulation.topology import Topology

#: Planes of such an operator, and that of what is received.
PLANES, RECEIVED = 2, 1


class Item(NamedTuple):
    """One send or receive. peer: counted in the group; size: bytes."""

    sends: bool
    peer: int
    size: int


def batch(
    items: Sequence[Item], exchange: Exchange, arrivals: tuple[int, ...], topology: Topology, member: int
) -> tuple[int, Planes]:
    """When the operator is done on this member, and its tasks. On a plane one comes after the other."""
    now = [arrivals[member]] * PLANES
    tasks: list[Planes] = []
    for number, item in enumerate(items):
        plane = 0 if item.sends else RECEIVED
        two = (member, item.peer) if item.sends else (item.peer, member)
        own = two.index(member)
        times = tuple(now[plane] if one == member else arrivals[one] for one in two)
        members = tuple(exchange.members[one] for one in two)
        ends, found = schedule(Exchange(SEND, item.size, members, f"{exchange.seed}/{number}"), times, topology, own)
        tasks.append(found.renamed(two, plane))
        now[plane] = ends[own]
    return max(now), Planes.joined(tasks)
