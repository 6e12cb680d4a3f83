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
