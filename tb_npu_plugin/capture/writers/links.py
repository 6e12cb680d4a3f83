"""What went over the links, for the trace, the CSV files and the database.
Source: docs/facts/ascend_pt.md, Files copied from msprof, Events of the trace; docs/facts/databases.md,
ascend_pytorch_profiler.db; the vendor's reference of msprof's files, and the public
source of msprof for what is added up how.

The use of a port is written in percent, as the header and the reference say. msprof's source works out a share of 1, with
the port's speed taken for Mbit/s; no recorded sample is known that would settle it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tb_npu_plugin.capture.simulation.links import LATENCY as ANSWER
from tb_npu_plugin.capture.simulation.links import PIECE, chip_of
from tb_npu_plugin.capture.simulation.records import Segment
from tb_npu_plugin.capture.simulation.samples import LinkSample, Moved
from tb_npu_plugin.capture.writers.database import Database, Row
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.text import time_text
from tb_npu_plugin.schema import link_files as schema
from tb_npu_plugin.schema import trace_events as words

#: Bytes of one packet: the largest of RDMA over Ethernet.
_PACKET = 4096
_NONE = Moved(0, 0, 0)
_SECOND = 1_000_000_000


def mb_per_s(rate: float) -> float:
    """MB/s of bytes per second."""
    return round(rate / schema.LINK_MB, 3)


def port_speed(output: Output) -> int:
    """Whole MB/s of the network port."""
    return chip_of(output.process).rdma // schema.LINK_MB


def rate(sample: LinkSample, way: str) -> int:
    """Bytes per second of a direction."""
    return sample.moved.get(way, _NONE).total * (_SECOND // sample.every)


def packets(sample: LinkSample, way: str) -> int:
    """Packets of a direction."""
    return -(-sample.moved.get(way, _NONE).total // _PACKET)


def pcie_rates(sample: LinkSample) -> dict[str, tuple[int, int, int]]:
    """Least, most and mean by kind of packets: bytes per second, ns of the latency."""
    out = {}
    for kind in schema.PCIE_KINDS:
        if kind == schema.LATENCY:
            out[kind] = (ANSWER,) * 3 if sample.moved.get("rx_cpl", _NONE).total else (0, 0, 0)
            continue
        moved, piece = sample.moved.get(kind, _NONE), _SECOND // PIECE
        out[kind] = (moved.least * piece, moved.most * piece, rate(sample, kind))
    return out


def counters(sample: LinkSample, speed: int) -> dict[str, Mapping[str, float]]:
    """Counters of the trace: name -> values by key. speed: MB/s of a network port."""
    if sample.link == words.HCCS:
        return {name: {key: mb_per_s(rate(sample, way))} for name, (key, way) in words.HCCS_COUNTERS.items()}
    if sample.link == words.PCIE:
        rates = pcie_rates(sample)
        return {
            name: {
                words.PCIE_SENT: _rate_or_latency(sent, rates),
                words.PCIE_RECEIVED: _rate_or_latency(received, rates),
            }
            for name, (sent, received) in words.PCIE_COUNTERS.items()
        }
    out: dict[str, Mapping[str, float]] = {}
    for title, keys in words.PORT_COUNTERS.items():
        way = title.lower()
        values = (0.0, 0.0, packets(sample, way) * (_SECOND // sample.every), _use(rate(sample, way), speed))
        out[words.PORT_COUNTER.format(0, title)] = dict(zip(keys, values))
    return out


def _rate_or_latency(kind: str, rates: Mapping[str, tuple[int, int, int]]) -> float:
    """MB/s, or us of a latency."""
    if not kind:
        return 0
    value = rates[kind][2]
    return value / 1000 if kind == schema.LATENCY else mb_per_s(value)


def _use(bytes_a_second: float, speed: int) -> float:
    """Percent of the port's speed."""
    return round(bytes_a_second * 100 / (speed * schema.LINK_MB), 3)


class Network:
    """nic.csv or roce.csv: one row for the port."""

    def __init__(self, output: Output, link: str) -> None:
        self._output, self._link = output, link
        self._count = self._at = 0
        self._rate, self._packets = {"rx": 0, "tx": 0}, {"rx": 0, "tx": 0}

    def add(self, segment: Segment) -> None:
        """Add up one segment."""
        for sample in segment.links:
            if sample.link == self._link:
                self._count, self._at = self._count + 1, sample.at
                for way in ("rx", "tx"):
                    self._rate[way] += rate(sample, way)
                    self._packets[way] += packets(sample, way) * (_SECOND // sample.every)

    def close(self) -> None:
        """Write the file."""
        if not self._count:
            return
        spec = schema.NIC if self._link == words.NIC else schema.ROCE
        speed, count = port_speed(self._output), self._count
        uses = {way: _use(total / count, speed) for way, total in self._rate.items()}
        rates = {way: round(total / count, 3) for way, total in self._packets.items()}
        cells = [time_text(self._at), speed]
        for way in ("rx", "tx"):
            cells += [uses[way], rates[way], 0.0, 0.0]
        _write(self._output, spec.id, [[*cells, 0]])


@dataclass
class _Range:
    """Least, most and sum of some figures."""

    least: float = float("inf")
    most: float = 0
    total: float = 0
    count: int = 0

    def add(self, least: float, most: float, value: float) -> None:
        """One sample."""
        self.least, self.most = min(self.least, least), max(self.most, most)
        self.total += value
        self.count += 1


class Hccs:
    """hccs.csv: one row for each direction."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._ranges = {way: _Range() for way in schema.HCCS_KINDS}

    def add(self, segment: Segment) -> None:
        """Add up one segment."""
        for sample in segment.links:
            if sample.link == words.HCCS:
                for way, found in self._ranges.items():
                    value = rate(sample, way)
                    found.add(value, value, value)

    def close(self) -> None:
        """Write the file."""
        rows = [
            [
                schema.HCCS_KINDS[way][1],
                mb_per_s(found.most),
                mb_per_s(found.least),
                mb_per_s(found.total / found.count),
            ]
            for way, found in self._ranges.items()
            if found.count
        ]
        _write(self._output, schema.HCCS.id, rows)


class Pcie:
    """pcie.csv: one row for each kind of packets; the least and the most are means of the samples', as msprof has them."""

    def __init__(self, output: Output) -> None:
        self._output, self._count = output, 0
        self._sums = {kind: [0, 0, 0] for kind in schema.PCIE_KINDS}

    def add(self, segment: Segment) -> None:
        """Add up one segment."""
        for sample in segment.links:
            if sample.link == words.PCIE:
                self._count += 1
                for kind, figures in pcie_rates(sample).items():
                    self._sums[kind] = [one + other for one, other in zip(self._sums[kind], figures)]

    def close(self) -> None:
        """Write the file."""
        rows = []
        for kind, sums in self._sums.items() if self._count else ():
            means = [total / self._count for total in sums]
            cells = [round(mean / 1000, 3) if kind == schema.LATENCY else mb_per_s(mean) for mean in means]
            rows.append([schema.PCIE_KINDS[kind][1], *cells])
        _write(self._output, schema.PCIE.id, rows)


def _write(output: Output, id_: str, rows: list[list[object]]) -> None:
    """Write a small file whole; none without rows."""
    spec = next(file for file in schema.LINK_FILES if file.id == id_)
    keys = tuple(column.key for column in spec.columns)
    with_id = output.has_device_id(spec)
    file = output.csv(spec, keys if with_id else keys[1:])
    lead = [output.process.device] if with_id else []
    file.add([",".join(map(str, [*lead, *row])) for row in rows])
    file.close()


def link_writers(output: Output) -> list[Network | Hccs | Pcie]:
    """Writers of the files that the switches bring."""
    options = output.options
    if not options.npu:
        return []
    out: list[Network | Hccs | Pcie] = []
    if options.sys_io:
        out += [Network(output, words.NIC), Network(output, words.ROCE)]
    if options.sys_interconnection:
        out += [Pcie(output), Hccs(output)]
    return out


class LinkTables:
    """Tables of the profiler's database; packets and bytes are counted on."""

    def __init__(self, output: Output, database: Database) -> None:
        self._device, self._speed, self._database = output.process.device, port_speed(output), database
        self._counts: dict[tuple[str, str], tuple[int, int]] = {}

    def add(self, segment: Segment) -> None:
        """Write the samples of one segment."""
        for table, rows in self._rows(segment).items():
            self._database.add(table, rows)

    def close(self) -> None:
        """Nothing is left."""

    def _rows(self, segment: Segment) -> dict[str, list[Row]]:
        """By table."""
        out: dict[str, list[Row]] = {}
        for sample in segment.links:
            front = (self._device, sample.at)
            if sample.link == words.HCCS:
                row: Row = (*front, *(rate(sample, way) for way in schema.HCCS_KINDS))
            elif sample.link == words.PCIE:
                row = (*front, *(figure for figures in pcie_rates(sample).values() for figure in figures))
            else:
                ways = (*self._port(sample, "rx"), *self._port(sample, "tx"))
                row = (*front, self._speed * schema.LINK_MB, *ways, 0)
            out.setdefault(sample.link.upper(), []).append(row)
        return out

    def _port(self, sample: LinkSample, way: str) -> tuple[int, ...]:
        key = (sample.link, way)
        count, size = self._counts.get(key, (0, 0))
        new = packets(sample, way)
        self._counts[key] = count, size = count + new, size + sample.moved.get(way, _NONE).total
        return (new * (_SECOND // sample.every), rate(sample, way), count, size, 0, 0)
