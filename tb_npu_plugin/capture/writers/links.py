"""What goes over the links of a device, sampled and written: for the trace, the CSV files and the database.
Source: docs/facts/ascend_pt.md, Files copied from msprof, Events of the trace; docs/facts/databases.md,
ascend_pytorch_profiler.db; the vendor's reference of msprof's files, and the public source of msprof for the sums.

The use of a port is written in percent, as the header and the reference say. msprof's source works out a share of 1, with
the port's speed taken for Mbit/s; no recorded sample is known that would settle it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from operator import attrgetter

from tb_npu_plugin.capture.simulation.records import CommOp, Figures, LinkSample, Process, Segment
from tb_npu_plugin.capture.writers.files import Database, Output, Row, Writer, time_text
from tb_npu_plugin.capture.writers.options import Options
from tb_npu_plugin.schema import link_files as schema
from tb_npu_plugin.schema import trace_events as words

#: ns of the pieces of time of which the quietest and the busiest are given.
_PIECE = 2_000_000
#: Bytes read of which one packet asks for, and ns until it is answered.
_REQUEST, _LATENCY = 32, 1_000
#: Link of the files -> transport of the tasks that go over it.
TRANSPORTS = {words.NIC: "RDMA", words.ROCE: "RDMA", words.PCIE: "PCIE", words.HCCS: "HCCS"}
#: Bytes of one packet: the largest of RDMA over Ethernet.
_PACKET = 4096
_SECOND = 1_000_000_000
#: Directions of a port, in the order of the files.
_WAYS = ("rx", "tx")


class LinkMeters:
    """Samples the links of a process, segment by segment, as sys_io and sys_interconnection do it: bytes that collectives and
    copies moved, spread evenly over the time that each move took.

    - HCCS: collectives inside a node. RoCE: those between nodes; the network card sees the same bytes, nothing else uses it.
    - PCIe: a device that reads gets completions, which the other side sends; what it writes is posted. So copies to the
      device and reads from a neighbour are received completions, copies to the host posted writes. Of each 32 bytes read one
      is a request (16 bytes ask for 512; assumed), answered after 1 us (assumed).
    - Each member of a collective sends as much as it receives: in a mesh to the same peer over the same link (what reduces is
      written, everything else read), in a ring what it has taken from the one before it to the one behind it.
    """

    def __init__(self, process: Process, options: Options) -> None:
        self._process, chip = process, process.chip
        io, interconnection = options.npu and options.sys_io, options.npu and options.sys_interconnection
        # the vendor's reference does not list 310P among the chips with RoCE, and has no HCCS of one device
        ports = [words.NIC, *([words.ROCE] if chip.name != "310P" else [])] if io else []
        links = [words.PCIE, *([words.HCCS] if chip.hccs and process.world > 1 else [])] if interconnection else []
        self._every = dict.fromkeys(ports, schema.SYS_IO_EVERY)
        self._every |= dict.fromkeys(links, schema.SYS_INTERCONNECTION_EVERY)
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
            flows = self._flows[TRANSPORTS[link]]
            until, end = segment.until, max(self._process.end, flows.end)
            until = until if until <= end else end + every  # the last one: to the end of the window that has begun
            while self._next[link] < until:
                at = self._next[link]
                out.append(LinkSample(link, at, every, flows.figures(link, at, every)))
                self._next[link] += every
        earliest = min(at - self._every[link] for link, at in self._next.items())
        for flows in self._flows.values():
            flows.forget(earliest)
        return sorted(out, key=attrgetter("at"))

    def _communicated(self, op: CommOp) -> None:
        is_p2p = op.is_p2p
        for place, (task, start, dur) in enumerate(op.planes.timed()):
            own = (task.name, task.size, task.link, start, dur) if task.size and task.src != task.dst else None
            other = None if is_p2p else own
            if task.other is not None:
                other = (*task.other, *op.planes.others.get(place, (start, dur)))
            found = other or own
            # these write to the other rank, others read; in a ring each takes from the one before it, whatever its name
            writes = found is not None and (is_p2p or task.plane > 0) and found[0] in ("RDMASend", "Reduce_Inline")
            for move, sends in ((own, writes), (other, not writes)):
                if move is not None and move[2] in self._flows:
                    _, size, link, begin, ns = move
                    way = "tx" if sends else "rx"
                    self._flows[link].add(f"{way}_cpl" if link == "PCIE" else way, begin, ns, size)


class _Flows:
    """Bytes by kind and piece of time. end: of the last move."""

    def __init__(self, start: int) -> None:
        self._start, self.end = start, 0
        self._bytes = defaultdict[str, Counter[int]](Counter)

    def add(self, kind: str, start: int, dur: int, size: int) -> None:
        """Spread a move over its time, to the byte."""
        pieces, end, done = self._bytes[kind], start + dur, 0
        self.end = max(self.end, end)
        first, last = (start - self._start) // _PIECE, (max(end - 1, start) - self._start) // _PIECE
        for piece in range(first, last):
            before = size * (self._start + (piece + 1) * _PIECE - start) // dur
            pieces[piece] += before - done
            done = before
        pieces[last] += size - done

    def figures(self, link: str, at: int, every: int) -> dict[str, Figures]:
        """Of a sample, by direction; of a port the packets of each direction as well, over PCIe by kind of packets."""
        pieces = range((at - every - self._start) // _PIECE, (at - self._start) // _PIECE)
        found = {kind: [sizes[piece] for piece in pieces] for kind, sizes in self._bytes.items()}
        moved = defaultdict[str, Figures](lambda: (0, 0, 0))
        moved.update({kind: (min(sizes), max(sizes), sum(sizes)) for kind, sizes in found.items()})
        each, piece = _SECOND // every, _SECOND // _PIECE
        if link != words.PCIE:
            totals = {way: moved[way][2] for way in schema.HCCS_KINDS}
            totals |= {f"{way} packets": -(-totals[way] // _PACKET) for way in _WAYS if link != words.HCCS}
            return {name: (total * each,) * 3 for name, total in totals.items()}
        for way, other in ("tx", "rx"), ("rx", "tx"):  # packets that ask are answered the other way
            least, most, total = moved[f"{other}_cpl"]
            moved[f"{way}_nonpost"] = least // _REQUEST, most // _REQUEST, total // _REQUEST
        rows = ((kind, *moved[kind]) for kind in schema.PCIE_KINDS)
        rates = {kind: (least * piece, most * piece, total * each) for kind, least, most, total in rows}
        return {**rates, schema.LATENCY: (_LATENCY if moved["rx_cpl"][2] else 0,) * 3}

    def forget(self, before: int) -> None:
        """Nobody asks for what was earlier any more."""
        for pieces in self._bytes.values():
            for piece in [piece for piece in pieces if piece < (before - self._start) // _PIECE]:
                del pieces[piece]


def port_speed(output: Output) -> int:
    """Whole MB/s of the network port."""
    return output.process.chip.rdma // schema.LINK_MB


def _shown(kind: str, value: float) -> float:
    """MB/s, or us of a latency."""
    return round(value / (1000 if kind == schema.LATENCY else schema.LINK_MB), 3)


def _use(bytes_a_second: float, speed: int) -> float:
    """Percent of the port's speed."""
    return round(bytes_a_second * 100 / (speed * schema.LINK_MB), 3)


def counters(sample: LinkSample, speed: int) -> dict[str, Mapping[str, float]]:
    """Counters of the trace: name -> values by key. speed: MB/s of a network port."""
    means = {kind: mean for kind, (_, _, mean) in sample.figures.items()}
    if sample.link == words.HCCS:
        return {name: {key: _shown(way, means[way])} for name, (key, way) in words.HCCS_COUNTERS.items()}
    if sample.link == words.PCIE:
        keys = words.PCIE_SENT, words.PCIE_RECEIVED
        return {
            name: {key: _shown(kind, means.get(kind, 0)) if kind else 0 for key, kind in zip(keys, kinds)}
            for name, kinds in words.PCIE_COUNTERS.items()
        }
    rates = {way: (0.0, 0.0, means[f"{way} packets"], _use(means[way], speed)) for way in _WAYS}
    ports = words.PORT_COUNTERS.items()
    return {words.PORT_COUNTER.format(0, title): dict(zip(keys, rates[title.lower()])) for title, keys in ports}


class LinkFile(Writer):
    """The CSV file of one link: figures of the whole capture. It is not made without a sample."""

    def __init__(self, output: Output, link: str) -> None:
        self._output, self._link = output, link
        self._count = self._at = 0
        self._found: dict[str, list[int]] = {}  # least and most, and the sums of least, most and mean

    def add(self, segment: Segment) -> None:
        for sample in segment.links:
            if sample.link == self._link:
                self._count, self._at = self._count + 1, sample.at
                for name, (least, most, mean) in sample.figures.items():
                    found = self._found.get(name, [least, 0, 0, 0, 0])
                    sums = (total + figure for total, figure in zip(found[2:], (least, most, mean)))
                    self._found[name] = [min(found[0], least), max(found[1], most), *sums]

    def close(self) -> None:
        spec = next(file for file in schema.LINK_FILES if file.id == self._link.lower())
        file, lead = self._output.csv(spec), self._output.lead(spec)
        file.add([lead + ",".join(map(str, row)) for row in self._rows()])

    def _rows(self) -> list[list[object]]:
        """Without the id of the device: over HCCS one for each direction, over PCIe one for each kind of packets, whose least
        and most are means of those of the samples, as msprof has them; of a port one."""
        if not self._found:
            return []
        means = {name: [total / self._count for total in found[2:]] for name, found in self._found.items()}
        if self._link == words.PCIE:
            return [[schema.PCIE_KINDS[kind][1], *(_shown(kind, mean) for mean in means[kind])] for kind in means]
        if self._link == words.HCCS:
            extremes = {way: (found[1], found[0], means[way][2]) for way, found in self._found.items()}
            return [[schema.HCCS_KINDS[way][1], *(_shown(way, one) for one in row)] for way, row in extremes.items()]
        speed = port_speed(self._output)
        row: list[object] = [time_text(self._at), speed]
        for way in _WAYS:
            row += [_use(means[way][2], speed), round(means[f"{way} packets"][2], 3), 0.0, 0.0]
        return [[*row, 0]]


class LinkTables(Writer):
    """Tables of the profiler's database; packets and bytes of a port are running totals."""

    def __init__(self, output: Output, database: Database) -> None:
        self._device, self._speed, self._database = output.process.device, port_speed(output), database
        self._totals = Counter[tuple[str, str]]()

    def add(self, segment: Segment) -> None:
        for sample in segment.links:
            self._database.add(sample.link.upper(), [(self._device, sample.at, *self._cells(sample))])

    def _cells(self, sample: LinkSample) -> Row:
        figures, totals, link = sample.figures, self._totals, sample.link
        if link == words.HCCS:
            return [figures[way][2] for way in schema.HCCS_KINDS]
        if link == words.PCIE:
            return [figure for three in figures.values() for figure in three]
        cells = [self._speed * schema.LINK_MB]
        for way in _WAYS:
            rates = [figures[name][2] for name in (f"{way} packets", way)]
            for name, rate in zip((f"{way} packets", way), rates):
                totals[link, name] += rate // (_SECOND // sample.every)
            cells += [*rates, totals[link, f"{way} packets"], totals[link, way], 0, 0]
        return [*cells, 0]
