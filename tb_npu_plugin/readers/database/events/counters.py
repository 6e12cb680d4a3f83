"""Counter events of the device.
Source: docs/facts/ascend_pt.md, Events of the trace; docs/facts/databases.md, ascend_pytorch_profiler.db."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.events.processes import Processes
from tb_npu_plugin.readers.database.events.sink import EventSink
from tb_npu_plugin.readers.database.source import Rows
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema import trace_events as words
from tb_npu_plugin.schema.link_files import LATENCY, LINK_MB
from tb_npu_plugin.tables import NULL_INT, FloatArray, IntArray

_KIB = 1024


def add_counters(processes: Processes) -> None:
    """Add all recorded counters of each device."""
    context = processes.context
    for select, name, add in (
        (schema.AICORE_FREQ, words.AICORE_FREQ, _frequency),
        (schema.NPU_MEMORY, words.NPU_MEMORY, _memory),
        (schema.HBM, words.HBM, _bandwidth),
        (schema.LLC, words.LLC, _cache),
        (schema.ACC_PMU, words.ACC_PMU, _accelerators),
        (schema.SOC_BANDWIDTH, words.SOC, _soc),
        (schema.QOS, words.QOS, _quality),
        (schema.NIC, words.NIC, _network),
        (schema.ROCE, words.ROCE, _network),
        (schema.PCIE, words.PCIE, _pcie),
        (schema.HCCS, words.HCCS, _hccs),
    ):
        rows = context.source.read(select)
        devices = context.devices(rows)
        devices = np.where(devices == NULL_INT, processes.device, devices)
        for device in np.unique(devices).tolist():
            pid, own = processes.pid(name, device), _chosen_rows(rows, devices == device)
            curves = _Curves(context, processes.sink, pid, own.ints("time_ns"), np.zeros(len(own), dtype=np.bool_))
            add(curves, own)
            curves.count(select.table)
            processes.name(name, pid, device)


def _chosen_rows(rows: Rows, chosen: NDArray[np.bool_]) -> Rows:
    """Return the chosen rows of a table without texts."""
    return rows if chosen.all() else Rows(int(chosen.sum()), {key: values[chosen] for key, values in rows.data.items()})


@dataclass(frozen=True)
class _Curves:
    """Adds the rows of a table as counters to one process of the trace. at: time of each row; drawn: whether it has a point."""

    context: Context
    sink: EventSink
    pid: int
    at: IntArray
    drawn: NDArray[np.bool_]

    def add(
        self, name: str, key: str, values: NDArray[Any], of: NDArray[np.bool_] | None = None, more: str = ""
    ) -> None:
        """Add the points of one counter; see EventSink.counters. of: mask of the rows with these values; None: all."""
        rows = np.arange(len(self.at)) if of is None else np.flatnonzero(of)
        self.sink.counters(self.pid, name, key, self.at[rows], values, more)
        self.drawn[rows[~np.isnan(values)]] = True

    def count(self, table: str) -> None:
        """Count the rows, and report those without a point."""
        self.sink.see(table, len(self.at))
        self.sink.show(table, int(np.count_nonzero(self.drawn)))
        self.sink.leave_out("unknown_curve", table, int(np.count_nonzero(~self.drawn)))


def _frequency(curves: _Curves, rows: Rows) -> None:
    curves.add(words.AICORE_FREQ, words.FREQUENCY_KEY, rows.floats("mhz"))


def _memory(curves: _Curves, rows: Rows) -> None:
    places = curves.context.strings.column(rows.ints("place"))
    ddr, hbm = rows.floats_of("ddr"), rows.floats_of("hbm")
    for place, title in words.MEMORY_PLACES.items():
        chosen = places.equals(place)
        for kind, values in zip(words.MEMORY_KINDS, (ddr, hbm, ddr + hbm)):
            name = f"{title}/{kind}"
            curves.add(name, words.MEMORY_KEY, values[chosen] / _KIB, chosen)


def _bandwidth(curves: _Curves, rows: Rows) -> None:
    ways = curves.context.strings.column(rows.ints("way"))
    for bank in _known_banks(rows):
        for way, (title, key) in words.HBM_KEYS.items():
            chosen = (rows.ints("bank") == bank) & ways.equals(way)
            name = words.HBM_COUNTER.format(bank, title)
            curves.add(name, key, _to_mb_per_s(rows.floats("bandwidth")[chosen]), chosen)


def _cache(curves: _Curves, rows: Rows) -> None:
    ways = curves.context.strings.column(rows.ints("way"))
    for bank in _known_banks(rows):
        for way in ways.values:
            chosen = (rows.ints("bank") == bank) & ways.equals(way)
            title, speed = way.capitalize(), _to_mb_per_s(rows.floats("throughput")[chosen])
            curves.add(words.LLC_THROUGHPUT.format(bank, title), words.LLC_THROUGHPUT_KEY, speed, chosen)
            hits = rows.floats("hit_rate")[chosen]
            curves.add(words.LLC_HIT_RATE.format(bank, title), words.LLC_HIT_RATE_KEY, hits, chosen)


def _accelerators(curves: _Curves, rows: Rows) -> None:
    """Add levels without a unit."""
    accelerators = rows.ints("acc")
    for accelerator in np.unique(accelerators).tolist():
        chosen = accelerators == accelerator
        more = words.ACC_ID.format(accelerator)
        for column, name in words.ACC_NAMES.items():
            curves.add(name, words.VALUE_KEY, rows.floats_of(column)[chosen], chosen, more)


def _soc(curves: _Curves, rows: Rows) -> None:
    """Add levels without a unit."""
    for column, name in words.SOC_NAMES.items():
        curves.add(name, name, rows.floats_of(column))


def _quality(curves: _Curves, rows: Rows) -> None:
    events = curves.context.strings.column(rows.ints("event"))
    for event in events.values:
        chosen = events.equals(event)
        name = event if event.startswith(words.QOS) else words.QOS_COUNTER.format(event)
        curves.add(name, words.VALUE_KEY, _to_mb_per_s(rows.floats("bandwidth")[chosen]), chosen)


def _network(curves: _Curves, rows: Rows) -> None:
    """Add the counters of each port, in percent and packets per second."""
    speed = rows.floats("bandwidth")
    speed = np.where(speed > 0, speed, np.nan)
    ports = np.where(rows.ints("port") == NULL_INT, 0, rows.ints("port"))
    for port in np.unique(ports).tolist():
        chosen = ports == port
        for title, keys in words.PORT_COUNTERS.items():
            way = title.lower()
            packets = rows.floats_of(f"{way}_packets")
            packets = np.where(packets > 0, packets, np.nan)
            found = (
                _percent_of_packets(rows.floats_of(f"{way}_dropped"), packets),
                _percent_of_packets(rows.floats_of(f"{way}_errors"), packets),
                rows.floats(f"{way}_packet_rate"),
                np.round(rows.floats(f"{way}_rate") * 100 / speed, 3),
            )
            name = words.PORT_COUNTER.format(port, title)
            for key, values in zip(keys, found):
                curves.add(name, key, values[chosen], chosen)


def _percent_of_packets(values: FloatArray, packets: FloatArray) -> FloatArray:
    """Return the percentage of packets; 0 before the first packet, as in text exports."""
    return np.where(np.isnan(packets) & ~np.isnan(values), 0.0, np.round(values * 100 / packets, 3))


def _pcie(curves: _Curves, rows: Rows) -> None:
    for name, kinds in words.PCIE_COUNTERS.items():
        for title, kind in zip((words.PCIE_SENT, words.PCIE_RECEIVED), kinds):
            if kind:
                values = rows.floats(f"{kind}_avg")
                curves.add(name, title, values / 1000 if kind == LATENCY else np.round(values / LINK_MB, 3))


def _hccs(curves: _Curves, rows: Rows) -> None:
    for name, (key, way) in words.HCCS_COUNTERS.items():
        curves.add(name, key, np.round(rows.floats(way) / LINK_MB, 3))


def _known_banks(rows: Rows) -> list[int]:
    banks = np.unique(rows.ints("bank"))
    return [bank for bank in banks.tolist() if bank != NULL_INT]


def _to_mb_per_s(values: NDArray[np.float64]) -> NDArray[Any]:
    """Convert bytes per second, which are truncated to integers, to the unit of text exports."""
    return np.round(values / words.COUNTER_MB, 5)
