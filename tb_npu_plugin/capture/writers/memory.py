"""Memory: operator_memory.csv, memory_record.csv, npu_module_mem.csv, and the same in the profiler's database.
Source: docs/facts/ascend_pt.md, Memory files; docs/facts/databases.md, ascend_pytorch_profiler.db."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Optional

from tb_npu_plugin.capture.simulation.records import WORKSPACE, Allocation, Segment, Totals
from tb_npu_plugin.capture.writers import files
from tb_npu_plugin.capture.writers.files import END, NULL, ByTime, Output, Row, Writer, mb_text, time_text
from tb_npu_plugin.schema import torch_npu_db as tables
from tb_npu_plugin.schema import torch_npu_memory_csv as schema

#: Address of the stream, as old releases write it.
_STREAM = 897357296
#: Component of the rows of the whole process, and of CANN's graph engine.
APP, _ENGINE = "APP", "GE"
#: Component, time, bytes: allocated, reserved, active.
TotalsRow = tuple[str, int, Optional[int], int, Optional[int]]
Cells = tuple[str, ...]
_TOTALS, _at = attrgetter("component", "at", "allocated", "reserved", "active"), attrgetter("at")
_SIZES, _NONE = attrgetter("allocated", "reserved", "active"), (None,) * 3


def values_of(block: Allocation) -> tuple[int | None, ...]:
    """Size, allocation, release, active release, both durations; allocated, reserved and active bytes at both ends."""
    at, release, active, after = block.at, block.release, block.active_release, block.after
    durs = None if release is None else release - at, None if active is None else active - at
    return block.size, at, release, active, *durs, *_SIZES(block.before), *(_NONE if after is None else _SIZES(after))


class Blocks(Writer):
    """Blocks of a segment wait for the next one, which may release them; those that are held longer come last."""

    def __init__(self) -> None:
        self._last: list[Allocation] = []
        self._held: list[Allocation] = []

    def add(self, segment: Segment) -> None:
        """Write the segment before this one."""
        self._write([block for block in self._last if block.release is not None])
        self._held += [block for block in self._last if block.release is None]
        self._last = list(segment.memory)

    def _write(self, blocks: Sequence[Allocation]) -> None:
        raise NotImplementedError


class Allocations(Blocks):
    """operator_memory.csv: in the order of allocation; blocks held over a whole step and blocks of CANN at the end."""

    def __init__(self, output: Output) -> None:
        super().__init__()
        self._output, self._file, self._device = output, output.csv(schema.OP_MEMORY), output.device
        self._engine: list[Allocation] = []

    def _write(self, blocks: Sequence[Allocation]) -> None:
        self._engine += [block for block in blocks if block.graph_engine]
        self._add([block for block in blocks if not block.graph_engine])

    def close(self) -> None:
        """Write the rest. Blocks of the last segment keep their order."""
        self._write(self._last)
        self._add([*self._held, *self._engine])

    def _add(self, blocks: list[Allocation]) -> None:
        self._file.add(self._output.lines(schema.OP_MEMORY, map(self._cells, blocks)))

    def _cells(self, block: Allocation) -> Cells:
        values = values_of(block)
        times, stream = list(map(time_text, values[1:6])), str(_STREAM)
        if block.graph_engine:  # msprof's own way of writing the duration
            times[3], stream = files.us_text(values[4] or 0), ""
        front = files.cell(block.name), str(block.size / 1024)
        return (*front, *times, *map(mb_text, values[6:]), stream, self._device)


class TotalsByTime:
    """The totals of the components by time, each followed by the sum of all components but workspaces."""

    def __init__(self, sum_name: str) -> None:
        self._sum_name = sum_name
        self._totals = ByTime[Totals](_at)
        self._known: dict[str, Totals] = {}

    def add(self, segment: Segment) -> list[TotalsRow]:
        """What no later segment can come before."""
        rows: list[TotalsRow] = []
        for now in self._totals.take(segment.totals, segment.until):
            rows.append(_TOTALS(now))
            if now.component != WORKSPACE:
                self._known[now.component] = now
                known = self._known.values()
                allocated, reserved = sum(one.allocated for one in known), sum(one.reserved for one in known)
                rows.append((self._sum_name, now.at, allocated, reserved, sum(one.active or 0 for one in known)))
        return rows


class MemoryRecord(Writer):
    """memory_record.csv: the process first, then PTA and GE each with their sum, then the workspace."""

    SUM = "PTA+GE"
    #: Parts in file order: components; "" for those of the allocator.
    PARTS: tuple[str, ...] = (APP, "", WORKSPACE)

    def __init__(self, output: Output) -> None:
        self._output, self._file, self._device = output, output.csv(schema.MEMORY_RECORD), output.device
        for name in self.PARTS:
            self._file.add((), name)
        self._totals = TotalsByTime(self.SUM)

    def add(self, segment: Segment) -> None:
        if self._output.options.npu:
            self._write(APP, [(APP, sample.at, None, sample.sizes["PROCESS"], None) for sample in segment.samples])
        rows = self._totals.add(segment)
        self._write("", [row for row in rows if row[0] != WORKSPACE])
        self._write(WORKSPACE, [row for row in rows if row[0] == WORKSPACE])

    def _write(self, part: str, rows: list[TotalsRow]) -> None:
        self._file.add(self._output.lines(schema.MEMORY_RECORD, [self._cells(*row) for row in rows]), part)

    def _cells(self, component: str, at: int, allocated: int | None, reserved: int, active: int | None) -> Cells:
        stream = "" if component in (APP, _ENGINE) else str(_STREAM)
        return component, time_text(at), mb_text(allocated), mb_text(reserved), mb_text(active), stream, self._device


class Modules(Writer):
    """npu_module_mem.csv."""

    def __init__(self, output: Output) -> None:
        self._output, self._file = output, output.csv(schema.MODULE_MEMORY)

    def add(self, segment: Segment) -> None:
        for at, component, size in [(one.at, *each) for one in segment.samples for each in one.sizes.items()]:
            if component != "PROCESS":
                row = str(self._output.process.device), component, time_text(at), mb_text(size), self._output.device
                self._file.add(self._output.lines(schema.MODULE_MEMORY, [row]), component)


class MemoryTables(Blocks):
    """Tables of the profiler's database: blocks, and the state of each component at each event."""

    def __init__(self, output: Output, database: files.Database) -> None:
        super().__init__()
        self._database, self._device = database, output.process.device
        self._thread = output.process.pid << 32 | output.process.pid
        self._engine = files.Strings(database, tables.ENGINE_STRINGS)
        self._memory = files.Strings(database, tables.MEMORY_STRINGS)
        self._totals = TotalsByTime(MemoryRecord.SUM)

    def add(self, segment: Segment) -> None:
        rows = [
            (self._memory[name], at, *map(_value, sizes), NULL if name == _ENGINE else _STREAM, self._device)
            for name, at, *sizes in self._totals.add(segment)
        ]
        self._database.add("MEMORY_RECORD", rows)
        super().add(segment)

    def close(self) -> None:
        self.add(Segment(until=END))
        self._write(self._held)

    def _write(self, blocks: Sequence[Allocation]) -> None:
        rows, events, text = list[Row](), list[Row](), self._engine
        for block in blocks:
            name, values, stream = block.name, tuple(map(_value, values_of(block))), float(_STREAM)
            if block.graph_engine:
                name, stream = name.removeprefix("cann::"), NULL
            rows.append(((text if block.graph_engine else self._memory)[name], *values, stream, self._device))
        self._database.add("OP_MEMORY", rows)
        for block in blocks:
            if block.graph_engine:  # of CANN: two rows of NPU_OP_MEM
                ends = ("allocate", block.at, block.before), ("release", block.release, block.after)
                for event, at, totals in ends:
                    names = (text[block.name.removeprefix("cann::")], 1 << 44, text[event])
                    sizes = (totals.allocated, totals.reserved) if totals else (NULL, NULL)
                    events.append((*names, block.size, at, self._thread, *sizes, text[_ENGINE], self._device))
        self._database.add("NPU_OP_MEM", events)


def _value(value: int | None) -> float:
    return NULL if value is None else value
