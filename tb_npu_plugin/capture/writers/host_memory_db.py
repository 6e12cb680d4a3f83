"""The framework's memory in the profiler's database: MEMORY_RECORD, OP_MEMORY, NPU_OP_MEM. Source: specs/ascend_pt.md 6.1."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.capture.simulation.columns import columns
from tb_npu_plugin.capture.simulation.records import Segment
from tb_npu_plugin.capture.simulation.samples import WORKSPACE, Allocation
from tb_npu_plugin.capture.writers.database import Database, Row, Strings
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.memory_csv import STREAM
from tb_npu_plugin.schema import torch_npu_db as schema

_ENGINE, _SUM = "GE", "PTA+GE"
#: Of a block: what happens, when, and the state of its component then.
_EVENTS, _ENDS = ("allocate", "release"), (("at", "before"), ("release", "after"))
#: (at, component, allocated, reserved, active)
_Total = tuple[int, str, int, int, Optional[int]]
_Ints = NDArray[np.int64]


class MemoryTables:
    """Blocks, and the state of each component at each event."""

    def __init__(self, output: Output, database: Database) -> None:
        self._database, self._device = database, output.process.device
        self._thread = output.process.pid << 32 | output.process.pid
        self._engine = Strings(database, schema.ENGINE_STRINGS)
        self._memory = Strings(database, schema.MEMORY_STRINGS)
        self._last: Sequence[Allocation] = []
        self._held: list[Allocation] = []
        self._known: dict[str, tuple[int, int, int]] = {}  # sizes of each component
        self._pending: list[_Total] = []

    def add(self, segment: Segment) -> None:
        """Write one segment."""
        self._totals(segment)
        self._allocations()
        self._last = segment.memory

    def close(self) -> None:
        """Write what was kept."""
        self._allocations()
        self._blocks(self._held)
        self._totals(Segment(until=1 << 63))

    def flush(self) -> None:
        """Write the texts that are new."""
        self._engine.flush()
        self._memory.flush()

    # -- components ---------------------------------------------------------------------------------
    def _totals(self, segment: Segment) -> None:
        self._pending += zip(*columns(segment.totals, "at", "component", "allocated", "reserved", "active"))
        self._pending.sort(key=itemgetter(0))
        count = sum(1 for total in self._pending if total[0] < segment.until)
        ready = self._pending[:count]
        del self._pending[:count]
        if ready:
            self._records(ready)

    def _records(self, ready: list[_Total]) -> None:
        """A row for each event, and one for the sum of all components but workspaces behind it."""
        at, components, allocated, reserved, active = map(list, zip(*ready))
        for component in dict.fromkeys(components):  # ids are given in the order of rows
            self._memory.learn(component)
            if component != WORKSPACE:
                self._memory.learn(_SUM)
        summed = np.array([component != WORKSPACE for component in components])
        own = np.arange(len(ready)) + np.cumsum(summed) - summed
        size = len(ready) + int(summed.sum())

        def both(values: Any, sums: Any) -> list[Any]:
            out = np.empty(size, dtype=np.int64)
            out[own], out[own[summed] + 1] = values, sums
            return out.tolist()

        numbers = [[value or 0 for value in values] for values in (allocated, reserved, active)]
        sums = self._sums([component for component in components if component != WORKSPACE],
                          [np.array(values)[summed] for values in numbers])  # fmt: skip
        sizes: list[list[Optional[int]]] = [both(values, total) for values, total in zip(numbers, sums)]
        streams: list[Optional[int]] = [STREAM] * size
        for place, component, value in zip(own.tolist(), components, active):
            if component == _ENGINE:
                streams[place] = None
            if value is None:
                sizes[2][place] = None
        names = both([self._memory[component] for component in components], self._memory.get(_SUM, 0))
        times = both(at, np.array(at)[summed])
        self._database.add_columns("MEMORY_RECORD", names, times, *sizes, streams, self._device)

    def _sums(self, components: list[str], sizes: list[_Ints]) -> list[_Ints]:
        """Sums over all components after each event, of each size."""
        changes = [values.copy() for values in sizes]
        before = [sum(known[kind] for known in self._known.values()) for kind in range(len(sizes))]
        for component in dict.fromkeys(components):
            mine = np.flatnonzero(np.array([other == component for other in components]))
            known = self._known.get(component, (0, 0, 0))
            for change, values, last in zip(changes, sizes, known):
                change[mine] = np.diff(values[mine], prepend=last)
            allocated, reserved, active = (int(values[mine[-1]]) for values in sizes)
            self._known[component] = allocated, reserved, active
        return [start + np.cumsum(change) for start, change in zip(before, changes)]

    # -- blocks -------------------------------------------------------------------------------------
    def _allocations(self) -> None:
        """The segment before: blocks that are still held come at the end."""
        ready, self._last = self._last, []
        if None in columns(ready, "release")[0]:
            self._held += [block for block in ready if block.release is None]
            ready = [block for block in ready if block.release is not None]
        self._blocks(ready)
        if any(columns(ready, "graph_engine")[0]):
            self._engine_events(ready)

    def _blocks(self, blocks: Sequence[Allocation]) -> None:
        name, size, at, release, active_release, engine = columns(
            blocks, "name", "size", "at", "release", "active_release", "graph_engine"
        )
        names = [
            self._engine[_engine_name(text)] if held else self._memory[text] for text, held in zip(name, engine)
        ]  # fmt: skip
        ends = (release, active_release)
        durs = [[None if end is None else end - start for start, end in zip(at, times)] for times in ends]
        before = columns(blocks, "before.allocated", "before.reserved", "before.active")
        streams = [None if held else STREAM for held in engine]
        self._database.add_columns(
            "OP_MEMORY", names, size, at, *ends, *durs, *before, *_after(blocks), streams, self._device
        )

    def _engine_events(self, blocks: Sequence[Allocation]) -> None:
        """Rows of NPU_OP_MEM: two for each block of CANN."""
        text, rows, shared = self._engine, list[Row](), columns(blocks, "name", "size", "graph_engine")
        ends = [columns(blocks, time, f"{way}.allocated", f"{way}.reserved") for time, way in _ENDS]
        for name, size, engine, *states in zip(*shared, *(zip(*end) for end in ends)):
            if engine:
                rows += [
                    (text[_engine_name(name)], 1 << 44, text[event], size, at, self._thread, allocated, reserved,
                     text[_ENGINE], self._device)
                    for event, (at, allocated, reserved) in zip(_EVENTS, states)
                ]  # fmt: skip
        self._database.add("NPU_OP_MEM", rows)


def _engine_name(name: str) -> str:
    return name.removeprefix("cann::")


def _after(blocks: Sequence[Allocation]) -> Sequence[Sequence[Any]]:
    """Sizes after the release; None for blocks that are held."""
    if None in columns(blocks, "release")[0]:
        none = (None, None, None)
        sizes = [
            none if totals is None else (totals.allocated, totals.reserved, totals.active)
            for totals in columns(blocks, "after")[0]
        ]
        return list(zip(*sizes))
    return columns(blocks, "after.allocated", "after.reserved", "after.active")
