"""operator_memory.csv, memory_record.csv, npu_module_mem.csv. Source: specs/ascend_pt.md 4.3 to 4.5."""

from __future__ import annotations

from tb_npu_plugin.capture.simulation.records import Allocation, Segment, Totals
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.text import cell, mb, stamp
from tb_npu_plugin.schema import torch_npu_memory_csv as schema

_STREAM = "897357296"  # address of the stream, as old releases write it
_OLD_HAS_NOT = (
    "active_release_ns", "active_dur_ns", "alloc_active_bytes", "release_active_bytes", "active_bytes", "stream"
)  # fmt: skip


class Allocations:
    """operator_memory.csv: in the order of allocation; blocks held over a whole step and blocks of CANN at the end."""

    def __init__(self, output: Output) -> None:
        self._output, self._active = output, output.dialect.active
        keys = [c.key for c in schema.OP_MEMORY.columns if self._active or c.key not in _OLD_HAS_NOT]
        self._file = output.csv(schema.OP_MEMORY, tuple(keys))
        self._last: list[Allocation] = []
        self._held: list[Allocation] = []
        self._engine: list[str] = []

    def add(self, segment: Segment) -> None:
        """Write the segment before this one."""
        self._write()
        self._last = segment.memory

    def _write(self) -> None:
        lines = []
        for block in self._last:
            if block.graph_engine:
                self._engine.append(self._line(block))
            elif block.release is None:
                self._held.append(block)
            else:
                lines.append(self._line(block))
        self._file.add(lines)

    def close(self) -> None:
        """Write the rest. Blocks of the last segment keep their order."""
        held, self._held = self._held, []
        engine = [self._line(block) for block in self._last if block.graph_engine]
        self._file.add([self._line(block) for block in self._last if not block.graph_engine])
        self._file.add([self._line(block) for block in held])
        self._file.add(self._engine + engine)
        self._file.close()

    def _line(self, block: Allocation) -> str:
        at, release, active = block.at, block.release, block.active_release
        dur = stamp(None if release is None else release - at)
        active_dur = stamp(None if active is None else active - at)
        before, after, engine = block.before, block.after, block.graph_engine
        ends = (stamp(release), stamp(active), dur, active_dur) if self._active else (stamp(release), dur)
        sizes = [*self._totals(before), *self._totals(after)]
        stream = ("" if engine else _STREAM,) if self._active else ()
        cells = (cell(block.name), str(block.size / 1024), stamp(at), *ends, *sizes, *stream, self._output.device)
        return ",".join(cells)

    def _totals(self, totals: Totals | None) -> list[str]:
        if totals is None:
            return ["", "", ""][: 3 if self._active else 2]
        cells = [mb(totals.allocated), mb(totals.reserved)]
        return [*cells, mb(totals.active)] if self._active else cells


class MemoryRecord:
    """memory_record.csv: the process first, then PTA and GE each with their sum, then the workspace."""

    def __init__(self, output: Output) -> None:
        self._output, self._active = output, output.dialect.active
        keys = [c.key for c in schema.MEMORY_RECORD.columns if self._active or c.key not in _OLD_HAS_NOT]
        self._file = output.csv(schema.MEMORY_RECORD, tuple(keys))
        self._rows = self._file.part()
        self._workspace: list[str] = []
        self._pending: list[Totals] = []
        self._known: dict[str, Totals] = {}
        self._device = output.device

    def add(self, segment: Segment) -> None:
        """Take the totals of one segment."""
        if self._output.options.npu:
            app = [self._line("APP", s.at, None, s.size, None) for s in segment.modules if s.component == "PROCESS"]
            self._file.add(app)
        self._pending += segment.totals
        self._pending.sort(key=lambda totals: totals.at)
        self._write(segment.until)

    def _write(self, before: int) -> None:
        ready = [totals for totals in self._pending if totals.at < before]
        del self._pending[: len(ready)]
        lines = []
        for now in ready:
            line = self._line(now.component, now.at, now.allocated, now.reserved, now.active)
            if now.component == "WORKSPACE":
                self._workspace.append(line)
                continue
            self._known[now.component] = now
            known = list(self._known.values())
            allocated, reserved = sum(t.allocated for t in known), sum(t.reserved for t in known)
            active = sum(t.active or 0 for t in known)
            lines += [line, self._line("PTA+GE", now.at, allocated, reserved, active)]
        self._rows.add(lines)

    def close(self) -> None:
        """Put the parts together."""
        self._write(1 << 63)
        self._file.append(self._rows)
        self._file.add(self._workspace)
        self._file.close()

    def _line(self, component: str, at: int, allocated: int | None, reserved: int, active: int | None) -> str:
        cells = [component, stamp(at), mb(allocated), mb(reserved)]
        if self._active:
            cells += [mb(active), "" if component in ("APP", "GE") else _STREAM]
        return ",".join([*cells, self._device])


class Modules:
    """npu_module_mem.csv."""

    def __init__(self, output: Output) -> None:
        self._lead = f"{output.process.device}," if output.dialect.device_id else ""
        keys = ("component", "time_ns", "reserved_bytes", "device")
        self._file = output.csv(schema.MODULE_MEMORY, ("device_id", *keys) if self._lead else keys)
        self._device = output.device
        self._lines: dict[str, list[str]] = {}

    def add(self, segment: Segment) -> None:
        """Keep the samples: the file goes component by component."""
        for sample in segment.modules:
            if sample.component != "PROCESS":
                line = f"{self._lead}{sample.component},{stamp(sample.at)},{mb(sample.size)},{self._device}"
                self._lines.setdefault(sample.component, []).append(line)

    def close(self) -> None:
        """Write the file."""
        for lines in self._lines.values():
            self._file.add(lines)
        self._file.close()
