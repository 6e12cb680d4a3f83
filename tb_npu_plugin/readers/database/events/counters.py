"""Counters of the device. Source: specs/ascend_pt.md 5.4, 6.1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.events.processes import Processes
from tb_npu_plugin.readers.database.events.sink import Sink
from tb_npu_plugin.readers.database.source import Rows
from tb_npu_plugin.schema import torch_npu_db_reading as schema
from tb_npu_plugin.schema import trace_events as words
from tb_npu_plugin.schema.link_files import LATENCY, LINK_MB
from tb_npu_plugin.tables import NULL_INT, FloatArray

_KIB = 1024


def add_counters(context: Context, sink: Sink, processes: Processes) -> None:
    """All curves that are known."""
    _frequency(context, sink, processes)
    _memory(context, sink, processes)
    _bandwidth(context, sink, processes)
    _cache(context, sink, processes)
    _accelerators(context, sink, processes)
    _soc(context, sink, processes)
    _quality(context, sink, processes)
    for select, process in ((schema.NIC, words.NIC), (schema.ROCE, words.ROCE)):
        _network(context, sink, processes, select, process)
    _pcie(context, sink, processes)
    _hccs(context, sink, processes)


def _frequency(context: Context, sink: Sink, processes: Processes) -> None:
    rows = context.source.read(schema.AICORE_FREQ)
    if len(rows):
        pid = processes.pid(words.AICORE_FREQ)
        sink.counters(pid, words.AICORE_FREQ, words.FREQUENCY_KEY, rows.ints("time_ns"), rows.floats("mhz"))
        processes.name(sink, words.AICORE_FREQ, pid)


def _memory(context: Context, sink: Sink, processes: Processes) -> None:
    rows = context.source.read(schema.NPU_MEMORY)
    if not len(rows):
        return
    pid = processes.pid(words.NPU_MEMORY)
    places = context.strings.column(rows.ints("place"))
    ddr, hbm = rows.floats_of("ddr"), rows.floats_of("hbm")
    for place, title in words.MEMORY_PLACES.items():
        chosen = places.equals(place)
        for kind, values in zip(words.MEMORY_KINDS, (ddr, hbm, ddr + hbm)):
            name = f"{title}/{kind}"
            sink.counters(pid, name, words.MEMORY_KEY, rows.ints("time_ns")[chosen], values[chosen] / _KIB)
    processes.name(sink, words.NPU_MEMORY, pid)


def _bandwidth(context: Context, sink: Sink, processes: Processes) -> None:
    rows = context.source.read(schema.HBM)
    if not len(rows):
        return
    pid = processes.pid(words.HBM)
    ways = context.strings.column(rows.ints("way"))
    for bank in _banks(rows):
        for way, (title, key) in words.HBM_KEYS.items():
            chosen = (rows.ints("bank") == bank) & ways.equals(way)
            name = words.HBM_COUNTER.format(bank, title)
            sink.counters(pid, name, key, rows.ints("time_ns")[chosen], _mb(rows.floats("bandwidth")[chosen]))
    processes.name(sink, words.HBM, pid)


def _cache(context: Context, sink: Sink, processes: Processes) -> None:
    rows = context.source.read(schema.LLC)
    if not len(rows):
        return
    pid = processes.pid(words.LLC)
    ways = context.strings.column(rows.ints("way"))
    for bank in _banks(rows):
        for way in ways.values:
            chosen = (rows.ints("bank") == bank) & ways.equals(way)
            at, title = rows.ints("time_ns")[chosen], way.capitalize()
            speed = _mb(rows.floats("throughput")[chosen])
            sink.counters(pid, words.LLC_THROUGHPUT.format(bank, title), words.LLC_THROUGHPUT_KEY, at, speed)
            hits = rows.floats("hit_rate")[chosen]
            sink.counters(pid, words.LLC_HIT_RATE.format(bank, title), words.LLC_HIT_RATE_KEY, at, hits)
    processes.name(sink, words.LLC, pid)


def _accelerators(context: Context, sink: Sink, processes: Processes) -> None:
    """Levels, without a unit."""
    rows = context.source.read(schema.ACC_PMU)
    if not len(rows):
        return
    pid = processes.pid(words.ACC_PMU)
    accelerators = rows.ints("acc")
    for accelerator in np.unique(accelerators).tolist():
        chosen = accelerators == accelerator
        at, more = rows.ints("time_ns")[chosen], words.ACC_ID.format(accelerator)
        for column, name in words.ACC_NAMES.items():
            sink.counters(pid, name, words.VALUE_KEY, at, rows.floats_of(column)[chosen], more)
    processes.name(sink, words.ACC_PMU, pid)


def _soc(context: Context, sink: Sink, processes: Processes) -> None:
    """Levels, without a unit."""
    rows = context.source.read(schema.SOC_BANDWIDTH)
    if not len(rows):
        return
    pid = processes.pid(words.SOC)
    for column, name in words.SOC_NAMES.items():
        sink.counters(pid, name, name, rows.ints("time_ns"), rows.floats_of(column))
    processes.name(sink, words.SOC, pid)


def _quality(context: Context, sink: Sink, processes: Processes) -> None:
    rows = context.source.read(schema.QOS)
    if not len(rows):
        return
    pid = processes.pid(words.QOS)
    events = context.strings.column(rows.ints("event"))
    for event in events.values:
        chosen = events.equals(event)
        name = event if event.startswith(words.QOS) else words.QOS_COUNTER.format(event)
        sink.counters(pid, name, words.VALUE_KEY, rows.ints("time_ns")[chosen], _mb(rows.floats("bandwidth")[chosen]))
    processes.name(sink, words.QOS, pid)


def _network(context: Context, sink: Sink, processes: Processes, select: schema.Select, process: str) -> None:
    """Of a port, in percent and packets a second."""
    rows = context.source.read(select)
    if not len(rows):
        return
    pid, speed = processes.pid(process), rows.floats("bandwidth")
    speed = np.where(speed > 0, speed, np.nan)
    ports = np.where(rows.ints("port") == NULL_INT, 0, rows.ints("port"))
    for port in np.unique(ports).tolist():
        chosen = ports == port
        for title, keys in words.PORT_COUNTERS.items():
            way = title.lower()
            packets = rows.floats_of(f"{way}_packets")
            packets = np.where(packets > 0, packets, np.nan)
            curves = (
                _share(rows.floats_of(f"{way}_dropped"), packets), _share(rows.floats_of(f"{way}_errors"), packets),
                rows.floats(f"{way}_packet_rate"), np.round(rows.floats(f"{way}_rate") * 100 / speed, 3),
            )  # fmt: skip
            name = words.PORT_COUNTER.format(port, title)
            for key, values in zip(keys, curves):
                sink.counters(pid, name, key, rows.ints("time_ns")[chosen], values[chosen])
    processes.name(sink, process, pid)


def _share(values: FloatArray, packets: FloatArray) -> FloatArray:
    """Percent of the packets; 0 where there were none yet, as text exports say."""
    return np.where(np.isnan(packets) & ~np.isnan(values), 0.0, np.round(values * 100 / packets, 3))


def _pcie(context: Context, sink: Sink, processes: Processes) -> None:
    rows = context.source.read(schema.PCIE)
    if not len(rows):
        return
    pid, at = processes.pid(words.PCIE), rows.ints("time_ns")
    for name, kinds in words.PCIE_COUNTERS.items():
        for title, kind in zip((words.PCIE_SENT, words.PCIE_RECEIVED), kinds):
            if kind:
                values = rows.floats(f"{kind}_avg")
                sink.counters(pid, name, title, at, values / 1000 if kind == LATENCY else np.round(values / LINK_MB, 3))
    processes.name(sink, words.PCIE, pid)


def _hccs(context: Context, sink: Sink, processes: Processes) -> None:
    rows = context.source.read(schema.HCCS)
    if not len(rows):
        return
    pid = processes.pid(words.HCCS)
    for name, (key, way) in words.HCCS_COUNTERS.items():
        sink.counters(pid, name, key, rows.ints("time_ns"), np.round(rows.floats(way) / LINK_MB, 3))
    processes.name(sink, words.HCCS, pid)


def _banks(rows: Rows) -> list[int]:
    banks = np.unique(rows.ints("bank"))
    return [bank for bank in banks.tolist() if bank != NULL_INT]


def _mb(values: NDArray[np.float64]) -> NDArray[Any]:
    """Bytes per second to what text exports show; these were cut off to whole bytes."""
    return np.round(values / words.COUNTER_MB, 5)
