"""What goes over the links of a device, sampled as sys_io and sys_interconnection do it: bytes that collectives and copies
moved, spread evenly over the time that each move took.

- HCCS: collectives inside a node. RoCE: those between nodes; the network card sees the same bytes, nothing else uses it.
- PCIe: a device that reads gets completions, which the other side sends; what it writes is posted. So copies to the
  device and reads from a neighbour are received completions, copies to the host posted writes. Of each 32 bytes read one is
  a request (16 bytes ask for 512; assumed), answered after 1 us (assumed).
- Each member of a collective sends as much as it receives: in a mesh to the same peer over the same link (what reduces is
  written, everything else read), in a ring what it has taken from the one before it to the one behind it.
"""

from __future__ import annotations

from collections import defaultdict
from operator import attrgetter

from tb_npu_plugin.capture.simulation.records import CommOp, LinkSample, Moved, Process, Segment
from tb_npu_plugin.schema.link_files import SYS_INTERCONNECTION_EVERY, SYS_IO_EVERY
from tb_npu_plugin.schema.trace_events import HCCS, NIC, PCIE, ROCE

#: ns of the pieces of time of which the quietest and the busiest are given.
PIECE = 2_000_000
REQUEST, LATENCY = 32, 1_000
#: Chips without RDMA over Ethernet: not among those of which the vendor's reference says that it can be sampled.
_WITHOUT_ROCE = frozenset(("310P",))
#: Packets that ask -> those that answer them.
_REQUESTS = {"tx_nonpost": "rx_cpl", "rx_nonpost": "tx_cpl"}
#: Link of the files -> transport of the tasks that go over it.
_TRANSPORTS = {NIC: "RDMA", ROCE: "RDMA", PCIE: "PCIE", HCCS: "HCCS"}
#: Tasks that write to the other rank; the others read from it.
_WRITES = ("RDMASend", "Reduce_Inline")


class LinkMeters:
    """Samples the links of a process, segment by segment."""

    def __init__(self, process: Process, io: bool, interconnection: bool) -> None:
        self._process, chip = process, process.chip
        network = [NIC, *([] if chip.name in _WITHOUT_ROCE else [ROCE])] if io else []
        inside = [PCIE] if interconnection else []
        if interconnection and chip.hccs and process.world > 1:  # the reference: a single device has no such data
            inside.append(HCCS)
        self._every = {**dict.fromkeys(network, SYS_IO_EVERY), **dict.fromkeys(inside, SYS_INTERCONNECTION_EVERY)}
        self._next = {link: process.start + every for link, every in self._every.items()}
        self._flows = {transport: _Flows(process.start) for transport in ("RDMA", "PCIE", "HCCS")}

    def take(self, segment: Segment) -> list[LinkSample]:
        """The samples that are due before the end of the segment, by time; of the last one all that are left."""
        if not self._every:
            return []
        for task in segment.tasks:
            if task.size:
                kind = "tx_post" if task.kernel.hardware == "SDMA_SQE" else "rx_cpl"
                self._flows["PCIE"].add(kind, task.start, task.dur, task.size)
        for op in segment.comm:
            self._communicated(op)
        out: list[LinkSample] = []
        for link, every in self._every.items():
            flows = self._flows[_TRANSPORTS[link]]
            until = segment.until
            if until > max(self._process.end, flows.end):  # the last one: to the end of the window that has begun
                until = max(self._process.end, flows.end) + every
            while self._next[link] < until:
                at = self._next[link]
                moved = flows.moved(at - every, at)
                for asks, answers in _REQUESTS.items() if link == PCIE else ():
                    if answers in moved:
                        moved[asks] = Moved(*(size // REQUEST for size in moved[answers]))
                out.append(LinkSample(link, at, every, moved))
                self._next[link] += every
        earliest = min(at - self._every[link] for link, at in self._next.items())
        for flows in self._flows.values():
            flows.forget(earliest)
        return sorted(out, key=attrgetter("at"))

    def _communicated(self, op: CommOp) -> None:
        is_p2p = op.is_p2p
        for task in op.planes:
            own = task if task.size and task.src != task.dst else None
            other = task.peer or (None if is_p2p else own)
            found = other or own
            # in a ring each takes from the one before it, whatever the task is called
            writes = found is not None and (is_p2p or task.plane > 0) and found.name in _WRITES
            for move, sends in ((own, writes), (other, not writes)):
                if move is not None and move.link in self._flows:
                    way = ("tx" if sends else "rx") + ("_cpl" if move.link == "PCIE" else "")
                    self._flows[move.link].add(way, move.start, move.dur, move.size)


class _Flows:
    """Bytes by kind and piece of time."""

    def __init__(self, start: int) -> None:
        self._start, self.end = start, 0
        self._bytes: dict[str, defaultdict[int, int]] = {}

    def add(self, kind: str, start: int, dur: int, size: int) -> None:
        """Spread a move over its time, to the byte."""
        pieces = self._bytes.setdefault(kind, defaultdict(int))
        end = start + dur
        self.end = max(self.end, end)
        first, last = (start - self._start) // PIECE, (max(end - 1, start) - self._start) // PIECE
        done = 0
        for piece in range(first, last):
            before = size * (self._start + (piece + 1) * PIECE - start) // dur
            pieces[piece] += before - done
            done = before
        pieces[last] += size - done

    def moved(self, start: int, end: int) -> dict[str, Moved]:
        """What went in this time, which begins and ends with a piece."""
        first, last = (start - self._start) // PIECE, (end - self._start) // PIECE
        out = {}
        for kind, pieces in self._bytes.items():
            found = [pieces.get(piece, 0) for piece in range(first, last)]
            out[kind] = Moved(sum(found), min(found), max(found))
        return out

    def forget(self, before: int) -> None:
        """Nobody asks for what was earlier any more."""
        first = (before - self._start) // PIECE
        for pieces in self._bytes.values():
            for piece in [piece for piece in pieces if piece < first]:
                del pieces[piece]
