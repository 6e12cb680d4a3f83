"""Figures of communication operators, as communication.json and communication_matrix.json have them.
Source: docs/facts/ascend_pt.md, communication.json, communication_matrix.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional
from weakref import WeakKeyDictionary

from tb_npu_plugin.capture.simulation.planes import Pattern, PlaneTask
from tb_npu_plugin.capture.simulation.records import CommOp
from tb_npu_plugin.schema import torch_npu_json as schema

Json = dict[str, Any]
#: Tasks that carry data between ranks or inside one.
MOVES = ("Memcpy", "Reduce_Inline", "RDMASend")
#: Keys of the bandwidths.
TRANSPORTS = ("RDMA", "HCCS", "PCIE", "SDMA", "SIO")
#: Link types that the SDMA row adds up.
_SDMA = frozenset({"HCCS", "PCIE", "SIO"})


class _Transport:
    """What all operators of a pattern move over one transport. places: of the tasks; packets: of those of each size (MB)."""

    def __init__(self, link: str, tasks: Sequence[PlaneTask], places: list[int]) -> None:
        self.places, self.size = places, sum(tasks[place].size for place in places) / 1e6
        self.packets: dict[str, list[int]] = {}
        for place in places if link != "SDMA" else ():
            self.packets.setdefault(str(tasks[place].size / 1e6), []).append(place)
        self.large = self._large_share(link)

    def _large_share(self, link: str) -> float:
        """Share of the packets that are large; 0 of none, as for SDMA."""
        if not self.packets:
            return 0
        large = sum(len(each) for size, each in self.packets.items() if float(size) > schema.LARGE_PACKET_MB[link])
        return round(large / len(self.places), 4)


class _Link(NamedTuple):
    """What all operators of a pattern move between two ranks."""

    transport: str
    size: int
    places: list[int]


class _Shared:
    """What the figures of all operators of a pattern have in common."""

    def __init__(self, pattern: Pattern) -> None:
        self._tasks = tasks = pattern.tasks
        self._main: dict[int, tuple[list[int], list[int], list[int]]] = {}
        over = {link: [place for place in pattern.moves if tasks[place].link == link] for link in TRANSPORTS}
        over["SDMA"] = [place for place in pattern.moves if tasks[place].link in _SDMA]
        self.transports = {link: _Transport(link, tasks, places) for link, places in over.items()}
        between: dict[tuple[int, int], list[int]] = {}
        for place in pattern.moves:
            between.setdefault((tasks[place].src, tasks[place].dst), []).append(place)
        self.links = {
            (src, dst): _Link(
                "LOCAL" if src == dst else tasks[places[0]].link, sum(tasks[place].size for place in places), places
            )
            for (src, dst), places in between.items()
        }

    def main(self, plane: int) -> tuple[list[int], list[int], list[int]]:
        """Places of the moves of a plane, of its waits, and of its waits before the first move."""
        found = self._main.get(plane)
        if found is None:
            own = [
                (place, task)
                for place, task in enumerate(self._tasks)
                if task.plane == plane and task.link != "ON_CHIP"
            ]
            moves = [place for place, task in own if task.name in MOVES]
            waits = [place for place, task in own if task.name == "Notify_Wait"]
            first = moves[0] if moves else len(self._tasks)
            found = self._main[plane] = moves, waits, [place for place in waits if place < first]
        return found


_known: WeakKeyDictionary[Pattern, _Shared] = WeakKeyDictionary()


def _shared(op: CommOp) -> _Shared:
    pattern = op.planes.pattern
    found = _known.get(pattern)
    if found is None:
        found = _known[pattern] = _Shared(pattern)
    return found


def _ms_of(ns: int) -> float:
    return ns / 1e6


def _sum_ns(durs: list[int], places: list[int]) -> int:
    return sum([durs[place] for place in places])


def _ms_each(durs: list[int], places: list[int]) -> float:
    """Added one by one: sum() of such numbers rounds otherwise from Python 3.12 on."""
    total = 0.0
    for place in places:
        total += durs[place] / 1e6
    return total


def ratio(part: float, transit: float) -> float:
    """Share of a time in it and the transit."""
    return round(part / (part + transit), 4) if part + transit else 0


def times_of(op: CommOp) -> Json:
    """Main plane only: transit is the moves, wait the waits, synchronization the waits before the first move."""
    durs = op.planes.durs
    transit, wait, sync = (_ms_of(_sum_ns(durs, places)) for places in _shared(op).main(op.main))
    elapse = _ms_of(op.dur)
    return {
        schema.START: op.start / 1000,
        schema.ELAPSE: elapse,
        schema.TRANSIT: transit,
        schema.WAIT: wait,
        schema.SYNC: sync,
        schema.IDLE: elapse - transit - wait,
        schema.WAIT_RATIO: ratio(wait, transit),
        schema.SYNC_RATIO: ratio(sync, transit),
    }


def bandwidths_of(op: CommOp, links: tuple[str, ...] = TRANSPORTS) -> Json:
    """Figures of one operator by transport."""
    durs, transports = op.planes.durs, _shared(op).transports
    out: Json = {}
    for link in links:
        found = transports[link]
        time = _ms_of(_sum_ns(durs, found.places))
        out[link] = {
            schema.SIZE: found.size or 0,
            schema.TRANSIT: time or 0,
            schema.BANDWIDTH_GBS: round(found.size / time, 4) if time else 0,
            schema.LARGE_PACKETS: found.large,
            schema.COMM_SIZE_DISTRIBUTION: {
                size: [len(places), _ms_each(durs, places)] for size, places in found.packets.items()
            },
        }
    return out


class Moved(NamedTuple):
    """What operators moved over one link, in bytes and ns. name: of the operator, empty for a sum."""

    name: str
    transport: str
    size: int
    dur: int

    @property
    def speed(self) -> float:
        """GB/s."""
        return self.size / self.dur

    def entry(self, name_key: Optional[str]) -> Json:
        """Figures of communication_matrix.json, with the operator's name under this key, if there is one."""
        size, time = self.size / 1e6, _ms_of(self.dur)
        out = {
            schema.TRANSPORT: self.transport,
            schema.SIZE: size,
            schema.TRANSIT: time,
            schema.BANDWIDTH_GBS: round(size / time, 4),
        }
        return {**out, name_key: self.name} if name_key else out


def links_of(op: CommOp) -> dict[tuple[int, int], Moved]:
    """What one operator moved, by link."""
    name, durs = op.name, op.planes.durs
    return {
        ends: Moved(name, transport, size, _sum_ns(durs, places))
        for ends, (transport, size, places) in _shared(op).links.items()
    }


def total_of(each: list[Moved]) -> Moved:
    """The sum of what was moved over one link."""
    return Moved("", each[0].transport, sum(moved.size for moved in each), sum(moved.dur for moved in each))
