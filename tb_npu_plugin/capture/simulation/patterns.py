"""Which tasks the operators of collectives.py have on one member, in order: when they are is worked out there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tb_npu_plugin.capture.simulation.planes import Pattern, PlaneTask

#: Bytes of the tasks that begin and end an operator: a word of the member's own memory.
_WORD = 4
#: Link between two ranks of the world.
Link = Callable[[int, int], str]


class _Tasks:
    """Tasks of one member, without times."""

    def __init__(self, member: int) -> None:
        self._member, self.found = member, list[PlaneTask]()

    def _add(
        self, plane: int, name: str, peer: int, size: int = 0, link: str = "INVALID_TYPE", notify: int = 0
    ) -> None:
        self.found.append(PlaneTask(plane, name, 0, 0, self._member, peer, size, link, notify))

    def word(self) -> None:
        """What begins and ends an operator."""
        self._add(0, "Reduce_Inline", self._member, _WORD, "ON_CHIP")

    def local(self, size: int) -> None:
        """Copy into the buffer of the communicator, or out of it."""
        self._add(0, "Memcpy", self._member, size, "ON_CHIP")

    def shake(self, plane: int, peer: int, notify: int) -> None:
        """Tell the other side, and wait until it tells."""
        self._add(plane, "Notify_Record", peer, notify=notify)
        self._add(plane, "Notify_Wait", peer, notify=notify)

    def move(self, plane: int, name: str, peer: int, size: int, link: str) -> None:
        """Move data."""
        self._add(plane, name, peer, size, link)

    def meanwhile(self, name: str, peer: int, size: int, link: str) -> None:
        """The other side moves something else during the last task."""
        task = self.found[-1]
        task.peer = PlaneTask(task.plane, name, 0, 0, peer, self._member, size, link)

    def pattern(self) -> Pattern:
        """All of them."""
        return Pattern(self.found)


def mesh(members: Sequence[int], member: int, shares: Sequence[int], phases: Sequence[bool], link: Link) -> Pattern:
    """Each plane is for one peer; shares: bytes by member; phases: does one reduce?"""
    tasks, count, own = _Tasks(member), len(members), shares[member]
    tasks.word()
    for number, reduce in enumerate(phases):
        tasks.local(own)
        for plane in range(1, count):
            behind = count - plane if number else plane  # the second phase takes the peers in reverse
            peer = (member + behind) % count
            over, name = link(members[member], members[peer]), "Reduce_Inline" if reduce else "Memcpy"
            tasks.shake(plane, peer, 8 * behind + 4)
            if shares[peer]:
                tasks.move(plane, name, peer, shares[peer], over)
            if shares[peer] != own:
                tasks.meanwhile(name, peer, own, over)
            tasks.shake(plane, peer, 8 * behind)
    tasks.word()
    return tasks.pattern()


def ring(member: int, share: int, phases: Sequence[bool], links: Sequence[str]) -> Pattern:
    """share: bytes of a round; links: of each member to the one before it."""
    tasks, count, link = _Tasks(member), len(links), links[member]
    before, behind = (member - 1) % count, (member + 1) % count
    tasks.word()
    tasks.local(share)
    for reduce in phases:
        for _ in range(count - 1):
            tasks.shake(0, before, 4)
            name = "RDMASend" if link == "RDMA" else "Reduce_Inline" if reduce else "Memcpy"
            tasks.move(0, name, before, share, link)
            if links[behind] != link:
                tasks.meanwhile("", behind, share, links[behind])
    tasks.word()
    return tasks.pattern()


def transfer(member: int, size: int, link: str) -> Pattern:
    """The first member sends to the second. Inside a node the receiver reads, else the sender sends."""
    tasks, peer, name = _Tasks(member), 1 - member, "RDMASend" if link == "RDMA" else "Memcpy"
    tasks.word()
    if not member:
        tasks.local(size)
    tasks.shake(0, peer, 4)
    if member == (0 if link == "RDMA" else 1):
        tasks.move(0, name, peer, size, link)
    else:
        tasks.meanwhile(name, peer, size, link)
    tasks.word()
    return tasks.pattern()
