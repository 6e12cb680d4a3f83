"""Figures of communication operators, as communication.json and communication_matrix.json have them.
Source: docs/facts/ascend_pt.md, communication.json, communication_matrix.json."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple, Optional

from tb_npu_plugin.capture.simulation.planes import PlaneTask
from tb_npu_plugin.capture.simulation.records import CommOp
from tb_npu_plugin.schema import torch_npu_json as schema

Json = dict[str, Any]
#: Tasks that carry data between ranks or inside one.
MOVES = ("Memcpy", "Reduce_Inline", "RDMASend")
#: Keys of the bandwidths.
TRANSPORTS = ("RDMA", "HCCS", "PCIE", "SDMA", "SIO")
#: Link types that the SDMA row adds up.
_SDMA = frozenset({"HCCS", "PCIE", "SIO"})


def ratio(part: float, transit: float) -> float:
    """Share of a time in it and the transit."""
    return round(part / (part + transit), 4) if part + transit else 0


def _timed(op: CommOp) -> list[tuple[PlaneTask, int]]:
    """Its tasks, each with its duration."""
    return list(zip(op.planes.pattern.tasks, op.planes.durs))


def times_of(op: CommOp) -> Json:
    """Main plane only: transit is the moves, wait the waits, synchronization the waits before the first move."""
    transit_ns = wait_ns = sync_ns = moves = 0
    for task, dur in _timed(op):
        if task.plane != op.main or task.link == "ON_CHIP":
            continue
        if task.name in MOVES:
            moves += 1
            transit_ns += dur
        elif task.name == "Notify_Wait":
            wait_ns += dur
            sync_ns += 0 if moves else dur
    elapse, transit, wait, sync = (ns / 1e6 for ns in (op.dur, transit_ns, wait_ns, sync_ns))
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
    over: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for task, dur in _timed(op):
        if task.size:
            over[task.link].append((task.size, dur))
            if task.link in _SDMA:
                over["SDMA"].append((task.size, dur))
    return {link: _bandwidth(link, over[link]) for link in links}


def _bandwidth(link: str, moves: list[tuple[int, int]]) -> Json:
    """Figures of the moves over one transport: bytes and ns of each. A sum of transports has no packets."""
    size, time = sum(size for size, _ in moves) / 1e6, sum(dur for _, dur in moves) / 1e6
    packets: dict[str, list[float]] = {}
    large = 0
    for packet_size, dur in () if link in schema.ROLLUP_TRANSPORTS else moves:
        packet = packets.setdefault(str(packet_size / 1e6), [0, 0.0])
        packet[0] += 1
        packet[1] += dur / 1e6
        large += packet_size / 1e6 > schema.LARGE_PACKET_MB[link]
    return {
        schema.SIZE: size or 0,
        schema.TRANSIT: time or 0,
        schema.BANDWIDTH_GBS: round(size / time, 4) if time else 0,
        schema.LARGE_PACKETS: round(large / len(moves), 4) if packets else 0,
        schema.COMM_SIZE_DISTRIBUTION: packets,
    }


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
        """Figures of communication_matrix.json, and the operator's name under this key, if one is given."""
        size, time = self.size / 1e6, self.dur / 1e6
        out = {
            schema.TRANSPORT: self.transport,
            schema.SIZE: size,
            schema.TRANSIT: time,
            schema.BANDWIDTH_GBS: round(size / time, 4),
        }
        return {**out, name_key: self.name} if name_key else out


def links_of(op: CommOp) -> dict[tuple[int, int], Moved]:
    """What one operator moved, by link."""
    out: dict[tuple[int, int], Moved] = {}
    for task, dur in _timed(op):
        if task.size:
            ends = task.src, task.dst
            first = Moved(op.name, "LOCAL" if task.src == task.dst else task.link, 0, 0)
            before = out.get(ends, first)
            out[ends] = before._replace(size=before.size + task.size, dur=before.dur + dur)
    return out


def total_of(each: list[Moved]) -> Moved:
    """The sum of what was moved over one link."""
    return Moved("", each[0].transport, sum(moved.size for moved in each), sum(moved.dur for moved in each))
