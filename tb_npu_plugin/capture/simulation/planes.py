"""The tasks of communication operators on their planes.

Operators of the same size between the same ranks have the same tasks, at other times. What they share is one Pattern, so
that whatever follows from it is worked out once, not for each of thousands of operators.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, Optional

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


class PlaneTask(NamedTuple):
    """One step of a communication operator on one plane. `size` 0: it moves nothing. src, dst: ranks in the group.
    other: name, bytes and link of what moves data of this rank meanwhile, where it is not this same move."""

    plane: int
    name: str
    src: int
    dst: int
    size: int
    link: str
    notify: int
    other: Optional[tuple[str, int, str]]

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
        return "LOCAL" if self.name == "Notify_Wait" else "RDMA" if self.link == "RDMA" else "SDMA"

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
    """The tasks that operators of one kind have; size: bytes that all of them move. Equal only to itself."""

    def __init__(self, tasks: Sequence[PlaneTask]) -> None:
        self.tasks, self.size = tuple(tasks), sum([task.size for task in tasks])


class Planes(NamedTuple):
    """The tasks of one operator: a pattern, and when each of its tasks begins and how long it takes (ns). others: the
    same, by place, of moves of the other side that are not at the time of their task."""

    pattern: Pattern
    starts: list[int]
    durs: list[int]
    others: dict[int, tuple[int, int]]

    def timed(self) -> Iterable[tuple[PlaneTask, int, int]]:
        """Each task, when it begins and how long it takes."""
        return zip(self.pattern.tasks, self.starts, self.durs)

    def renamed(self, ranks: tuple[int, ...], plane: int | None = None) -> Planes:
        """The same with other ranks, by those so far; and on another plane, if one is given."""
        return self._replace(pattern=_renamed(self.pattern, ranks, plane))

    @staticmethod
    def joined(parts: Sequence[Planes]) -> Planes:
        """All of them, one behind the other."""
        if len(parts) == 1:
            return parts[0]
        out = Planes(_joined(tuple(part.pattern for part in parts)), [], [], {})
        for part in parts:
            out.others.update({place + len(out.starts): times for place, times in part.others.items()})
            out.starts.extend(part.starts)
            out.durs.extend(part.durs)
        return out


#: Of an operator whose tasks are not kept.
NO_PLANES = Planes(Pattern(()), [], [], {})


@lru_cache(maxsize=64)
def _renamed(pattern: Pattern, ranks: tuple[int, ...], plane: int | None) -> Pattern:
    tasks = [task._replace(src=ranks[task.src], dst=ranks[task.dst]) for task in pattern.tasks]
    return Pattern(tasks if plane is None else [task._replace(plane=plane) for task in tasks])


@lru_cache(maxsize=64)
def _joined(patterns: tuple[Pattern, ...]) -> Pattern:
    return Pattern([task for pattern in patterns for task in pattern.tasks])
