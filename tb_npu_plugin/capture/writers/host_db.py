"""The framework's tables of the profiler's database. Source: specs/ascend_pt.md 6.1."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter

from tb_npu_plugin.capture.simulation.records import (
    WORKSPACE,
    Allocation,
    CommOp,
    HostOp,
    OpInfo,
    Segment,
    Task,
    Totals,
)
from tb_npu_plugin.capture.writers.database import Database, Row, Strings
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.memory_csv import STREAM
from tb_npu_plugin.schema import torch_npu_db as schema

_OP, _QUEUE, _TRACE, _MARK = (schema.API_TYPES[name] for name in ("op", "queue", "trace", "mstx"))


class HostTables:
    """PYTORCH_API and what it refers to, steps, memory: everything that `database` holds."""

    def __init__(self, output: Output, database: Database) -> None:
        self._output, self._database = output, database
        self._cann = Strings(database, schema.ENGINE_STRINGS)
        self._torch = Strings(database, schema.TORCH_STRINGS)
        self._memory = Strings(database, schema.MEMORY_STRINGS)
        self._pid = output.process.pid << 32
        self._device = output.process.device
        self._connections = 0
        self._connected: list[Row] = []  # rows of the segment
        self._chains: dict[tuple[str, ...], int] = {}
        self._infos: dict[OpInfo, tuple[int, int | None, int | None, int | None]] = {}
        self._queued: dict[str, tuple[int, int]] = {}  # names of enqueue and dequeue
        self._last: list[Allocation] = []
        self._held: list[Allocation] = []
        self._known: dict[str, Totals] = {}
        self._pending: list[Totals] = []

    def add(self, segment: Segment) -> None:
        """Write one segment."""
        database = self._database
        if segment.step is not None:
            database.add("STEP_TIME", [(segment.step.id, segment.step.start, segment.step.end)])
        calls = [*self._ops(segment), *self._queue(segment), *self._calls(segment)]
        database.add("CONNECTION_IDS", self._connected)
        self._connected = []
        database.add("PYTORCH_API", calls)
        database.add("GC_RECORD", [(pause.start, pause.end, self._pid | pause.tid) for pause in segment.gc])
        if self._output.options.memory:
            self._totals(segment)
            self._allocations()
            self._last = segment.memory
        for strings in (self._cann, self._torch, self._memory):
            strings.flush()

    def close(self) -> None:
        """Write what was kept."""
        if self._output.options.memory:
            self._allocations()
            self._database.add("OP_MEMORY", [self._allocation(block) for block in self._held])
            self._totals(Segment(until=1 << 63))
        for strings in (self._cann, self._torch, self._memory):
            strings.flush()
        self._database.close()

    def _connect(self, ids: Sequence[int]) -> int:
        """A new id that stands for these connections."""
        number = self._connections
        self._connections += 1
        self._connected += [(number, id_) for id_ in ids]
        return number

    def _links(self, segment: Segment) -> dict[HostOp, list[int]]:
        """Connections of each operator: launches of kernels, and forward with backward."""
        out: dict[HostOp, list[int]] = {}
        launches: chain[Task | CommOp] = chain((task for task in segment.tasks if task.kernel.core), segment.comm)
        for launch in launches:
            if launch.op is not None:
                out.setdefault(launch.op, []).append(launch.connection)
        by_sequence: dict[tuple[int, bool], HostOp] = {
            (op.sequence, bool(op.forward_tid)): op for op in segment.ops if op.sequence >= 0
        }
        for (number, is_backward), op in by_sequence.items():
            other = by_sequence.get((number, not is_backward))
            if other is not None:
                # beside the correlation ids of the task queue, which count by one from 8000 on
                out.setdefault(op, []).append(schema.CONNECTION_OFFSET + (1 << 27) + number)
        return out

    def _ops(self, segment: Segment) -> list[Row]:
        links = self._links(segment)
        out: list[Row] = []
        for op in segment.ops:
            name, types, shapes, chain_ = self._info(op.info)
            found = links.get(op)
            kind = _MARK if op.info.name.startswith(schema.MARK_OPERATOR) else _OP
            out.append((op.start, op.end, self._pid | op.tid, self._connect(found) if found else None, name,
                        op.sequence, op.forward_tid, types, shapes, chain_, kind))  # fmt: skip
        return out

    def _info(self, info: OpInfo) -> tuple[int, int | None, int | None, int | None]:
        found = self._infos.get(info)
        if found is None:
            options = self._output.options
            types = self._torch(info.types) if options.shapes and info.types else None
            shapes = self._torch(info.shapes) if options.shapes and info.shapes else None
            chain_ = self._chain(info.stack) if options.stack and info.stack else None
            found = self._infos[info] = (self._torch(info.name), types, shapes, chain_)
        return found

    def _chain(self, stack: tuple[str, ...]) -> int:
        found = self._chains.get(stack)
        if found is None:
            found = self._chains[stack] = len(self._chains)
            rows = [(found, self._torch(frame), depth) for depth, frame in enumerate(stack)]
            self._database.add("PYTORCH_CALLCHAINS", rows)
        return found

    def _queue(self, segment: Segment) -> list[Row]:
        out: list[Row] = []
        tid, offset, names = self._pid | self._output.process.dequeue_tid, schema.CONNECTION_OFFSET, self._queued
        for item in segment.queue:
            link = self._connect((offset + item.correlation,))
            found = names.get(item.name)
            if found is None:
                found = names[item.name] = (self._torch(f"Enqueue@{item.name}"), self._torch(f"Dequeue@{item.name}"))
            out.append(
                (item.start, item.end, self._pid | item.op.tid, link, found[0], None, None, None, None, None, _QUEUE)
            )
            out.append(
                (item.dequeue_start, item.dequeue_end, tid, link, found[1], None, None, None, None, None, _QUEUE)
            )
        return out

    def _calls(self, segment: Segment) -> list[Row]:
        if not self._output.options.stack:
            return []
        none = (None,) * 5
        return [
            (call.start, call.end, self._pid | call.tid, None, self._torch(call.name), *none, _TRACE)
            for call in segment.python
        ]

    # -- memory -------------------------------------------------------------------------------------
    def _totals(self, segment: Segment) -> None:
        self._pending += segment.totals
        self._pending.sort(key=attrgetter("at"))
        ready = [totals for totals in self._pending if totals.at < segment.until]
        del self._pending[: len(ready)]
        rows: list[Row] = []
        name, device, last = self._memory, self._device, self._known
        for now in ready:
            component = now.component
            stream = None if component == "GE" else STREAM
            rows.append((name(component), now.at, now.allocated, now.reserved, now.active, stream, device))
            if component != WORKSPACE:
                last[component] = now
                allocated = reserved = active = 0
                for known in last.values():
                    allocated += known.allocated
                    reserved += known.reserved
                    active += known.active or 0
                rows.append((name("PTA+GE"), now.at, allocated, reserved, active, STREAM, device))
        self._database.add("MEMORY_RECORD", rows)

    def _allocations(self) -> None:
        """The segment before: blocks that are still held come at the end."""
        ready = [block for block in self._last if block.release is not None]
        self._held += [block for block in self._last if block.release is None]
        self._last = []
        self._database.add("OP_MEMORY", [self._allocation(block) for block in ready])
        self._database.add("NPU_OP_MEM", [row for block in ready if block.graph_engine for row in self._engine(block)])

    def _allocation(self, block: Allocation) -> Row:
        before, after, at = block.before, block.after, block.at
        name = self._cann(block.name.removeprefix("cann::")) if block.graph_engine else self._memory(block.name)
        ends = (block.release, block.active_release)
        durs = [None if end is None else end - at for end in ends]
        sizes = (before.allocated, before.reserved, before.active)
        last = (None, None, None) if after is None else (after.allocated, after.reserved, after.active)
        return name, block.size, at, *ends, *durs, *sizes, *last, None if block.graph_engine else STREAM, self._device

    def _engine(self, block: Allocation) -> list[Row]:
        name, tid = self._cann(block.name.removeprefix("cann::")), self._pid | self._output.process.pid
        assert block.after is not None
        return [
            (name, 1 << 44, self._cann(event), block.size, totals.at, tid, totals.allocated, totals.reserved,
             self._cann("GE"), self._device)
            for event, totals in (("allocate", block.before), ("release", block.after))
        ]  # fmt: skip
