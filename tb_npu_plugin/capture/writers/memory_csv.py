"""operator_memory.csv, memory_record.csv, npu_module_mem.csv. Source: docs/facts/ascend_pt.md, Memory files."""

from __future__ import annotations

from operator import attrgetter
from typing import Optional

from tb_npu_plugin.capture.simulation.records import WORKSPACE, Allocation, Segment, Totals
from tb_npu_plugin.capture.writers.files import END, ByTime, Output, Writer, cell, mb_text, time_text, us_text
from tb_npu_plugin.schema import torch_npu_memory_csv as schema

#: Address of the stream, as old releases write it.
STREAM = 897357296
_STREAM = str(STREAM)
#: Component of the rows of the whole process.
APP = "APP"
#: Component, time, bytes: allocated, reserved, active.
TotalsRow = tuple[str, int, Optional[int], int, Optional[int]]
Cells = tuple[str, ...]
_TOTALS, _at = attrgetter("component", "at", "allocated", "reserved", "active"), attrgetter("at")


class Allocations(Writer):
    """operator_memory.csv: in the order of allocation; blocks held over a whole step and blocks of CANN at the end."""

    def __init__(self, output: Output) -> None:
        self._output, self._file, self._device = output, output.csv(schema.OP_MEMORY), output.device
        self._last: list[Allocation] = []
        self._held: list[Allocation] = []
        self._engine: list[Allocation] = []

    def add(self, segment: Segment) -> None:
        """Write the segment before this one."""
        self._write([block for block in self._last if not block.graph_engine and block.release is not None])
        self._held += [block for block in self._last if not block.graph_engine and block.release is None]
        self._engine += [block for block in self._last if block.graph_engine]
        self._last = list(segment.memory)

    def close(self) -> None:
        """Write the rest. Blocks of the last segment keep their order."""
        self._write([block for block in self._last if not block.graph_engine])
        self._write([*self._held, *self._engine, *(block for block in self._last if block.graph_engine)])

    def _write(self, blocks: list[Allocation]) -> None:
        self._file.add(self._output.lines(schema.OP_MEMORY, map(self._cells, blocks)))

    def _cells(self, block: Allocation) -> Cells:
        at, release, active = block.at, block.release, block.active_release
        dur, active_dur = (time_text(None if end is None else end - at) for end in (release, active))
        if block.graph_engine and release is not None:  # msprof's own way of writing
            dur = us_text(release - at)
        front = cell(block.name), str(block.size / 1024), time_text(at), time_text(release), time_text(active)
        stream = "" if block.graph_engine else _STREAM
        totals = (*self._totals(block.before), *self._totals(block.after))
        return (*front, dur, active_dur, *totals, stream, self._device)

    @staticmethod
    def _totals(totals: Totals | None) -> Cells:
        if totals is None:
            return ("",) * 3
        return mb_text(totals.allocated), mb_text(totals.reserved), mb_text(totals.active)


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
            self._file.part(name)
        self._totals = TotalsByTime(self.SUM)

    def add(self, segment: Segment) -> None:
        if self._output.options.npu:
            self._write(APP, [(APP, s.at, None, s.size, None) for s in segment.modules if s.component == "PROCESS"])
        rows = self._totals.add(segment)
        self._write("", [row for row in rows if row[0] != WORKSPACE])
        self._write(WORKSPACE, [row for row in rows if row[0] == WORKSPACE])

    def close(self) -> None:
        self.add(Segment(until=END))

    def _write(self, part: str, rows: list[TotalsRow]) -> None:
        lines = self._output.lines(schema.MEMORY_RECORD, [self._cells(*row) for row in rows])
        self._file.part(part).add(lines)

    def _cells(self, component: str, at: int, allocated: int | None, reserved: int, active: int | None) -> Cells:
        stream = "" if component in (APP, "GE") else _STREAM
        return component, time_text(at), mb_text(allocated), mb_text(reserved), mb_text(active), stream, self._device


class Modules(Writer):
    """npu_module_mem.csv."""

    def __init__(self, output: Output) -> None:
        self._output, self._file = output, output.csv(schema.MODULE_MEMORY)

    def add(self, segment: Segment) -> None:
        for sample in segment.modules:
            if sample.component != "PROCESS":
                cells = sample.component, time_text(sample.at), mb_text(sample.size), self._output.device
                row = str(self._output.process.device), *cells
                self._file.part(sample.component).add(self._output.lines(schema.MODULE_MEMORY, [row]))
