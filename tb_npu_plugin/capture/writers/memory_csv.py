"""operator_memory.csv, memory_record.csv, npu_module_mem.csv. Source: docs/facts/ascend_pt.md, Memory files."""

from __future__ import annotations

from operator import attrgetter
from typing import Optional

from tb_npu_plugin.capture.simulation.records import WORKSPACE, Allocation, Segment, Totals
from tb_npu_plugin.capture.writers.files import END, ByTime, Output, Writer
from tb_npu_plugin.capture.writers.text import cell, mb_text, time_text, us_text
from tb_npu_plugin.schema import torch_npu_memory_csv as schema

#: Address of the stream, as old releases write it.
STREAM = 897357296
#: Component of the rows of the whole process.
APP = "APP"
#: Component, time, bytes: allocated, reserved, active.
TotalsRow = tuple[str, int, int, int, Optional[int]]
_TOTALS, _at = attrgetter("component", "at", "allocated", "reserved", "active"), attrgetter("at")


class Allocations(Writer):
    """operator_memory.csv: in the order of allocation; blocks held over a whole step and blocks of CANN at the end."""

    def __init__(self, output: Output) -> None:
        self._device, self._active = output.device, output.dialect.writes(schema.OP_MEMORY, "active_release_ns")
        self._file = output.csv(schema.OP_MEMORY)
        self._last: list[Allocation] = []
        self._held: list[Allocation] = []
        self._engine: list[str] = []

    def add(self, segment: Segment) -> None:
        """Write the segment before this one."""
        lines = []
        for block in self._last:
            if block.graph_engine:
                self._engine.append(self._line(block))
            elif block.release is None:
                self._held.append(block)
            else:
                lines.append(self._line(block))
        self._file.add(lines)
        self._last = list(segment.memory)

    def close(self) -> None:
        """Write the rest. Blocks of the last segment keep their order."""
        engine = [self._line(block) for block in self._last if block.graph_engine]
        self._file.add([self._line(block) for block in self._last if not block.graph_engine])
        self._file.add([*map(self._line, self._held), *self._engine, *engine])

    def _line(self, block: Allocation) -> str:
        at, release, active = block.at, block.release, block.active_release
        dur = time_text(None if release is None else release - at)
        if block.graph_engine and release is not None:  # msprof's own way of writing
            dur = us_text(release - at)
        front = f"{cell(block.name)},{block.size / 1024},{time_text(at)},{time_text(release)}"
        before, after = self._totals(block.before), self._totals(block.after)
        if not self._active:
            return f"{front},{dur},{before},{after},{self._device}"
        active_dur = time_text(None if active is None else active - at)
        stream = "" if block.graph_engine else str(STREAM)
        return f"{front},{time_text(active)},{dur},{active_dur},{before},{after},{stream},{self._device}"

    def _totals(self, totals: Totals | None) -> str:
        if totals is None:
            return ",," if self._active else ","
        text = f"{mb_text(totals.allocated)},{mb_text(totals.reserved)}"
        return f"{text},{mb_text(totals.active)}" if self._active else text


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

    def close(self) -> list[TotalsRow]:
        return self.add(Segment(until=END))


class MemoryRecord(Writer):
    """memory_record.csv: the process first, then PTA and GE each with their sum, then the workspace."""

    SUM = "PTA+GE"
    #: Parts in file order: components; "" for those of the allocator.
    PARTS: tuple[str, ...] = (APP, "", WORKSPACE)

    def __init__(self, output: Output) -> None:
        self._output, self._device = output, output.device
        self._active = output.dialect.writes(schema.MEMORY_RECORD, "active_bytes")
        self._file = output.csv(schema.MEMORY_RECORD)
        for name in self.PARTS:
            self._file.part(name)
        self._totals = TotalsByTime(self.SUM)

    def add(self, segment: Segment) -> None:
        if self._output.options.npu:
            app = [self._line(APP, s.at, None, s.size, None) for s in segment.modules if s.component == "PROCESS"]
            self._file.part(APP).add(app)
        self._write(self._totals.add(segment))

    def _write(self, rows: list[TotalsRow]) -> None:
        self._file.part().add([self._line(*row) for row in rows if row[0] != WORKSPACE])
        self._file.part(WORKSPACE).add([self._line(*row) for row in rows if row[0] == WORKSPACE])

    def close(self) -> None:
        self._write(self._totals.close())

    def _line(self, component: str, at: int, allocated: int | None, reserved: int, active: int | None) -> str:
        front = f"{component},{time_text(at)},{mb_text(allocated)},{mb_text(reserved)}"
        if not self._active:
            return f"{front},{self._device}"
        stream = "" if component in (APP, "GE") else str(STREAM)
        return f"{front},{mb_text(active)},{stream},{self._device}"


class Modules(Writer):
    """npu_module_mem.csv."""

    def __init__(self, output: Output) -> None:
        self._file, self._lead = output.csv(schema.MODULE_MEMORY), output.lead(schema.MODULE_MEMORY)
        self._device = output.device

    def add(self, segment: Segment) -> None:
        for sample in segment.modules:
            if sample.component != "PROCESS":
                line = f"{self._lead}{sample.component},{time_text(sample.at)},{mb_text(sample.size)},{self._device}"
                self._file.part(sample.component).add([line])
