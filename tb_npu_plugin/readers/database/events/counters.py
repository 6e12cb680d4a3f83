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
from tb_npu_plugin.tables import NULL_INT

_KIB = 1024


def add_counters(context: Context, sink: Sink, processes: Processes) -> None:
    """All curves that are known."""
    _frequency(context, sink, processes)
    _memory(context, sink, processes)
    _bandwidth(context, sink, processes)
    _cache(context, sink, processes)


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


def _banks(rows: Rows) -> list[int]:
    banks = np.unique(rows.ints("bank"))
    return [bank for bank in banks.tolist() if bank != NULL_INT]


def _mb(values: NDArray[np.float64]) -> NDArray[Any]:
    """Bytes per second to what text exports show; these were cut off to whole bytes."""
    return np.round(values / words.COUNTER_MB, 5)
