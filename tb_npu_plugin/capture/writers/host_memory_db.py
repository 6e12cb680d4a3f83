"""The framework's memory in the profiler's database: MEMORY_RECORD, OP_MEMORY, NPU_OP_MEM.
Source: docs/facts/databases.md, ascend_pytorch_profiler.db."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tb_npu_plugin.capture.simulation.columns import arrays, columns
from tb_npu_plugin.capture.simulation.records import Segment
from tb_npu_plugin.capture.simulation.samples import WORKSPACE, Allocation
from tb_npu_plugin.capture.writers.database import Database, Ints, Row, Strings
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.memory_csv import STREAM
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.tables import NULL_INT

_ENGINE, _SUM = "GE", "PTA+GE"
#: Of a block: what happens, when, and the state of its component then.
_EVENTS, _ENDS = ("allocate", "release"), (("at", "before"), ("release", "after"))


class MemoryTables:
    """Blocks, and the state of each component at each event."""

    def __init__(self, output: Output, database: Database) -> None:
        self._database, self._device = database, output.process.device
        self._thread = output.process.pid << 32 | output.process.pid
        self._engine = Strings(database, schema.ENGINE_STRINGS)
        self._memory = Strings(database, schema.MEMORY_STRINGS)
        self._last: Sequence[Allocation] = []
        self._held: list[Allocation] = []
        self._places: dict[str, int] = {}  # of components
        self._known: dict[int, tuple[int, int, int]] = {}  # sizes of each component
        #: Columns: at, allocated, reserved, active, whether the component records that, its place.
        self._pending: Ints = np.zeros((6, 0), dtype=np.int64)

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
        components, active = columns(segment.totals, "component", "active")
        for component in dict.fromkeys(components):
            self._places.setdefault(component, len(self._places))
        states = [
            *arrays(segment.totals, "at", "allocated", "reserved", "active"),
            np.array([value is not None for value in active], dtype=np.int64),
            np.array(list(map(self._places.__getitem__, components)), dtype=np.int64),
        ]
        pending = np.concatenate([self._pending, states], axis=1)
        pending = pending[:, np.argsort(pending[0], kind="stable")]
        count = int((pending[0] < segment.until).sum())
        self._pending = pending[:, count:]
        if count:
            self._records(pending[:, :count])

    def _records(self, ready: Ints) -> None:
        """A row for each event, and one for the sum of all components but workspaces behind it."""
        at, *numbers, tells, places = ready
        components = list(self._places)
        for place in dict.fromkeys(places.tolist()):  # ids are given in the order of rows
            self._memory.learn(components[place])
            if components[place] != WORKSPACE:
                self._memory.learn(_SUM)
        summed = places != self._places.get(WORKSPACE, -1)
        own = np.arange(len(at)) + np.cumsum(summed) - summed
        size = len(at) + int(summed.sum())

        def both(values: Any, sums: Any) -> Ints:
            out = np.empty(size, dtype=np.int64)
            out[own], out[own[summed] + 1] = values, sums
            return out

        sums = self._sums(places[summed], [values[summed] for values in numbers])
        sizes = [both(values, total) for values, total in zip(numbers, sums)]
        sizes[2][own[tells == 0]] = NULL_INT
        streams = both(np.where(places == self._places.get(_ENGINE, -1), NULL_INT, STREAM), STREAM)
        ids = np.array([self._memory.get(component, 0) for component in components])
        names = both(ids[places], self._memory.get(_SUM, 0))
        times = both(at, at[summed])
        self._database.add_columns("MEMORY_RECORD", names, times, *sizes, streams, self._device)

    def _sums(self, places: Ints, sizes: list[Ints]) -> list[Ints]:
        """Sums over all components after each event, of each size. places: of the components."""
        changes = [values.copy() for values in sizes]
        before = [sum(known[kind] for known in self._known.values()) for kind in range(len(sizes))]
        for place in np.flatnonzero(np.bincount(places)).tolist():
            mine = np.flatnonzero(places == place)
            known = self._known.get(place, (0, 0, 0))
            for change, values, last in zip(changes, sizes, known):
                change[mine] = np.diff(values[mine], prepend=last)
            allocated, reserved, active = (int(values[mine[-1]]) for values in sizes)
            self._known[place] = allocated, reserved, active
        return [start + np.cumsum(change) for start, change in zip(before, changes)]

    # -- blocks -------------------------------------------------------------------------------------
    def _allocations(self) -> None:
        """The segment before: blocks that are still held come at the end."""
        ready, self._last = self._last, []
        if NULL_INT in arrays(ready, "release", none=NULL_INT)[0]:
            self._held += [block for block in ready if block.release is None]
            ready = [block for block in ready if block.release is not None]
        self._blocks(ready)
        if any(columns(ready, "graph_engine")[0]):
            self._engine_events(ready)

    def _blocks(self, blocks: Sequence[Allocation]) -> None:
        name, size, engine = columns(blocks, "name", "size", "graph_engine")
        at, *ends = arrays(blocks, "at", "release", "active_release", none=NULL_INT)
        sizes = [
            *columns(blocks, "before.allocated", "before.reserved", "before.active"),
            *_sizes_after_release(blocks),
        ]

        def id_of(place: int) -> int:
            return self._engine[_engine_name(name[place])] if engine[place] else self._memory[name[place]]

        durs = [np.where(times == NULL_INT, NULL_INT, times - at) for times in ends]
        streams = [None if held else STREAM for held in engine]
        names = list(map(id_of, range(len(name))))
        self._database.add_columns("OP_MEMORY", names, size, at, *ends, *durs, *sizes, streams, self._device)

    def _engine_events(self, blocks: Sequence[Allocation]) -> None:
        """Rows of NPU_OP_MEM: two for each block of CANN."""
        text, rows, shared = self._engine, list[Row](), columns(blocks, "name", "size", "graph_engine")
        ends = [columns(blocks, time, f"{way}.allocated", f"{way}.reserved") for time, way in _ENDS]
        for name, size, engine, *states in zip(*shared, *(zip(*end) for end in ends)):
            if engine:
                rows += [
                    (
                        text[_engine_name(name)],
                        1 << 44,
                        text[event],
                        size,
                        at,
                        self._thread,
                        allocated,
                        reserved,
                        text[_ENGINE],
                        self._device,
                    )
                    for event, (at, allocated, reserved) in zip(_EVENTS, states)
                ]
        self._database.add("NPU_OP_MEM", rows)


def _engine_name(name: str) -> str:
    return name.removeprefix("cann::")


def _sizes_after_release(blocks: Sequence[Allocation]) -> list[list[Any]]:
    """Sizes after the release; None for blocks that are held."""
    if NULL_INT in arrays(blocks, "release", none=NULL_INT)[0]:
        none = (None, None, None)
        sizes = [
            none if totals is None else (totals.allocated, totals.reserved, totals.active)
            for totals in columns(blocks, "after")[0]
        ]
        return list(map(list, zip(*sizes)))
    return columns(blocks, "after.allocated", "after.reserved", "after.active")
