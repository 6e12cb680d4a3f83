"""The tasks of communication operators on their planes.

Operators of the same size between the same ranks have the same tasks, at other times. What they share is one Pattern, so
that whatever follows from it is worked out once, not for each of thousands of operators.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from operator import attrgetter

_SIZE = attrgetter("size")
_NO_ID = 0xFFFFFFFF
#: Task -> what the stream runs for it.
_KINDS = {"Notify_Wait": "Notify Wait", "Notify_Record": "Write Value", "RDMASend": "Write Value"}
#: us that CANN estimates for a task: a constant, and bytes a us of those that move data.
_CONSTANT = {"Notify_Record": 1, "Notify_Wait": 0.02, "Reduce_Inline": 0.6, "Memcpy": 1.5, "RDMASend": 1.5}
_BYTES_A_US = 19_300
#: Patterns of which writers keep what operators share: more than a step has.
PATTERNS = 1024
#: Planes of an operator that joins sends and receives (HcclBatchSendRecv), and the plane of what is received.
BATCH_PLANES, RECEIVED = 2, 1


@dataclass(eq=False)
class PlaneTask:
    """One step of a communication operator on one plane. `size` 0: it moves nothing. src, dst: ranks in the group."""

    plane: int
    name: str
    start: int
    dur: int
    src: int
    dst: int
    size: int = 0
    link: str = "INVALID_TYPE"
    notify: int = 0
    peer: PlaneTask | None = None  # what moves data of this rank meanwhile, where it is not this same move

    # What the trace and the database show of it, as the public sample of a real 910B has it.
    @property
    def kind(self) -> str:
        """What the stream runs for it, as the host side names it."""
        return _KINDS.get(self.name, "SDMA")

    @property
    def notify_id(self) -> int:
        """The upper half holds the waiting rank. Moves that reduce have 0, copies have none: -1."""
        if self.notify:
            return (self.dst if self.name == "Notify_Record" else self.src) << 32 | self.notify
        return 0 if self.name == "Reduce_Inline" else -1

    @property
    def target(self) -> int:
        """The other rank; own memory is that of the rank itself for copies, of none for what reduces."""
        return _NO_ID if self.src == self.dst and self.name == "Reduce_Inline" else self.dst

    @property
    def transport(self) -> str:
        """Waits are local, SDMA moves data inside a device and between those of a node, RDMA between nodes."""
        if self.name == "Notify_Wait":
            return "LOCAL"
        return "RDMA" if self.link == "RDMA" else "SDMA"

    def data_type(self, of_operator: str) -> str:
        """Only what reduces looks at the elements."""
        if self.name != "Reduce_Inline":
            return "INVALID_TYPE"
        return "INT32" if self.src == self.dst else of_operator

    @property
    def estimated_us(self) -> float:
        """How long CANN expects it to take."""
        constant = _CONSTANT[self.name]
        return constant + self.size / _BYTES_A_US if self.size else constant


class Pattern:
    """The tasks that operators of one kind have; start and dur are 0 in them. Equal only to itself."""

    def __init__(self, tasks: Sequence[PlaneTask]) -> None:
        self.tasks = tuple(tasks)

    @cached_property
    def size(self) -> int:
        """Bytes that all tasks move."""
        return sum(map(_SIZE, self.tasks))


class Planes:
    """The tasks of one operator: a pattern, and when each of its tasks begins and how long it takes (ns). peers: the same,
    by place, of moves of the other side that are not at the time of their task. The records are made when they are asked for."""

    __slots__ = ("_records", "durs", "pattern", "peers", "starts")

    def __init__(
        self, pattern: Pattern, starts: list[int], durs: list[int], peers: Mapping[int, tuple[int, int]] | None = None
    ) -> None:
        self.pattern, self.starts, self.durs, self.peers = pattern, starts, durs, peers or {}
        self._records: list[PlaneTask] | None = None

    def renamed(self, ranks: tuple[int, ...], plane: int | None = None) -> Planes:
        """The same with other ranks, by those so far; and on another plane, if one is given."""
        return Planes(_renamed(self.pattern, ranks, plane), self.starts, self.durs, self.peers)

    @staticmethod
    def joined(parts: Sequence[Planes]) -> Planes:
        """All of them, one behind the other."""
        if len(parts) == 1:
            return parts[0]
        out = Planes(_joined(tuple(part.pattern for part in parts)), [], [], {})
        peers: dict[int, tuple[int, int]] = {}
        for part in parts:
            peers.update({place + len(out): times for place, times in part.peers.items()})
            out.starts += part.starts
            out.durs += part.durs
        out.peers = peers
        return out

    @property
    def records(self) -> list[PlaneTask]:
        """The tasks themselves."""
        if self._records is None:
            self._records = [
                replace(task, start=start, dur=dur)
                for task, start, dur in zip(self.pattern.tasks, self.starts, self.durs)
            ]
            for place, task in enumerate(self._records):
                if task.peer is not None:
                    start, dur = self.peers.get(place, (task.start, task.dur))
                    task.peer = replace(task.peer, start=start, dur=dur)
        return self._records

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[PlaneTask]:
        return iter(self.records)


#: Of an operator whose tasks are not kept.
NO_PLANES = Planes(Pattern(()), [], [])


@lru_cache(maxsize=64)
def _renamed(pattern: Pattern, ranks: tuple[int, ...], plane: int | None) -> Pattern:
    return Pattern(
        [
            replace(task, src=ranks[task.src], dst=ranks[task.dst], plane=task.plane if plane is None else plane)
            for task in pattern.tasks
        ]
    )


@lru_cache(maxsize=64)
def _joined(patterns: tuple[Pattern, ...]) -> Pattern:
    return Pattern([task for pattern in patterns for task in pattern.tasks])
