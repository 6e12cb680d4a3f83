"""The framework's tables of the profiler's database.
Source: docs/facts/databases.md, ascend_pytorch_profiler.db."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache

from tb_npu_plugin.capture.simulation.records import Allocation, HostOp, OpInfo, Segment, Totals
from tb_npu_plugin.capture.writers.files import END, NULL, Database, Output, Row, Strings, Writer
from tb_npu_plugin.capture.writers.memory_csv import STREAM, MemoryRecord, TotalsByTime, TotalsRow
from tb_npu_plugin.capture.writers.trace import forward_and_backward
from tb_npu_plugin.schema import torch_npu_db as schema

_OP, _QUEUE, _TRACE, _MARK = (schema.API_TYPES[name] for name in ("op", "queue", "trace", "mstx"))
#: Cells of PYTORCH_API that calls other than operators lack: sequence, thread of the forward, sizes, types, call chain.
_NO_OPERATOR = (NULL,) * 5
#: What an operator shares with all calls from one place: id of its name; ids of its sizes, types (torch_npu writes the sizes
#: of inputs into inputDtypes, and their types into inputShapes) and call chain, and its kind.
_Shared = tuple[int, tuple[float, float, float, int]]


class HostTables(Writer):
    """PYTORCH_API and what it refers to, steps, garbage collections."""

    def __init__(self, output: Output, database: Database) -> None:
        self._output, self._database = output, database
        self._torch = Strings(database, schema.TORCH_STRINGS)
        self._pid = output.process.pid << 32
        self._connections = 0
        self._chains: dict[tuple[str, ...], int] = {}
        self._shared = cache(self._work_out_shared)

    def add(self, segment: Segment) -> None:
        database = self._database
        if segment.step is not None:
            database.add("STEP_TIME", [(segment.step.id, segment.step.start, segment.step.end)])
        self._calls(segment)
        database.add("GC_RECORD", [(pause.start, pause.end, self._pid | pause.tid) for pause in segment.gc])

    # -- calls --------------------------------------------------------------------------------------
    def _calls(self, segment: Segment) -> None:
        """Operators, elements of the task queue, Python functions; and what connects them."""
        connections = _connections(segment)
        linked = [op for op in segment.ops if op in connections]
        links = dict(zip(linked, range(self._connections, self._connections + len(linked))))
        queued = range(self._connections + len(linked), self._connections + len(linked) + len(segment.queue))
        self._connections = queued.stop
        rows = [(id_, connection) for op, id_ in links.items() for connection in connections[op]]
        rows += [(id_, schema.CONNECTION_OFFSET + item.correlation) for id_, item in zip(queued, segment.queue)]
        self._database.add("CONNECTION_IDS", rows)
        self._database.add("PYTORCH_API", [self._op(op, links.get(op, NULL)) for op in segment.ops])
        self._database.add("PYTORCH_API", self._queue(segment, queued))
        if self._output.options.stack:
            self._database.add(
                "PYTORCH_API",
                [
                    (call.start, call.end, self._pid | call.tid, NULL, self._torch[call.name], *_NO_OPERATOR, _TRACE)
                    for call in segment.python
                ],
            )

    def _op(self, op: HostOp, link: float) -> Row:
        name, others = self._shared(op.info)
        return (op.start, op.end, self._pid | op.tid, link, name, op.sequence, op.forward_tid, *others)

    def _queue(self, segment: Segment, links: Sequence[int]) -> list[Row]:
        """Rows of PYTORCH_API: of each element the enqueue, then the dequeue."""
        out: list[Row] = []
        launching, texts = self._pid | self._output.process.dequeue_tid, self._torch
        for item, link in zip(segment.queue, links):
            enqueue, dequeue = texts[f"Enqueue@{item.name}"], texts[f"Dequeue@{item.name}"]
            out.append((item.start, item.end, self._pid | item.op.tid, link, enqueue, *_NO_OPERATOR, _QUEUE))
            out.append((item.dequeue_start, item.dequeue_end, launching, link, dequeue, *_NO_OPERATOR, _QUEUE))
        return out

    def _work_out_shared(self, info: OpInfo) -> _Shared:
        options = self._output.options
        sizes = self._torch[info.shapes] if options.shapes and info.shapes else NULL
        types = self._torch[info.types] if options.shapes and info.types else NULL
        chain_ = self._chain(info.stack) if options.stack and info.stack else NULL
        kind = _MARK if info.name.startswith(schema.MARK_OPERATOR) else _OP
        return self._torch[info.name], (sizes, types, chain_, kind)

    def _chain(self, stack: tuple[str, ...]) -> int:
        found = self._chains.get(stack)
        if found is None:
            found = self._chains[stack] = len(self._chains)
            rows = [(found, self._torch[frame], depth) for depth, frame in enumerate(stack)]
            self._database.add("PYTORCH_CALLCHAINS", rows)
        return found


def _connections(segment: Segment) -> dict[HostOp, list[int]]:
    """Connections of operators: to kernels and communication that they launched, and between forward and backward."""
    out: dict[HostOp, list[int]] = defaultdict(list)
    for task in segment.tasks:
        if task.op is not None and task.kernel.core:
            out[task.op].append(task.connection)
    for launch in segment.comm:
        out[launch.op].append(launch.connection)
    for number, ops in forward_and_backward(segment.ops):
        for op in ops:  # beside the correlation ids of the task queue, which count by one from 8000 on
            out[op].append(schema.CONNECTION_OFFSET + (1 << 27) + number)
    return out


_ENGINE = "GE"


class MemoryTables(Writer):
    """Blocks, and the state of each component at each event."""

    def __init__(self, output: Output, database: Database) -> None:
        self._database, self._device = database, output.process.device
        self._thread = output.process.pid << 32 | output.process.pid
        self._engine = Strings(database, schema.ENGINE_STRINGS)
        self._memory = Strings(database, schema.MEMORY_STRINGS)
        self._last: list[Allocation] = []
        self._held: list[Allocation] = []
        self._totals = TotalsByTime(MemoryRecord.SUM)

    def add(self, segment: Segment) -> None:
        self._records(self._totals.add(segment))
        self._allocations()
        self._last = list(segment.memory)

    def close(self) -> None:
        """Write the rest: blocks that were never released come last."""
        self._allocations()
        self._blocks(self._held)
        self._records(self._totals.add(Segment(until=END)))

    def _records(self, totals: list[TotalsRow]) -> None:
        texts, device = self._memory, self._device
        rows = [
            (texts[name], at, allocated, reserved, _cell(active), NULL if name == _ENGINE else STREAM, device)
            for name, at, allocated, reserved, active in totals
        ]
        self._database.add("MEMORY_RECORD", rows)

    def _allocations(self) -> None:
        ready = [block for block in self._last if block.release is not None]
        self._held += [block for block in self._last if block.release is None]
        self._last = []
        self._blocks(ready)
        text, rows = self._engine, []
        for block in ready:  # of CANN: two rows of NPU_OP_MEM
            for event, at, totals in (("allocate", block.at, block.before), ("release", block.release, block.after)):
                if block.graph_engine:
                    names = (text[_name(block)], 1 << 44, text[event])
                    sizes = _sizes(totals)[:2]
                    rows.append((*names, block.size, at, self._thread, *sizes, text[_ENGINE], self._device))
        self._database.add("NPU_OP_MEM", rows)

    def _blocks(self, blocks: list[Allocation]) -> None:
        rows = []
        for block in blocks:
            at, release, active = block.at, _cell(block.release), _cell(block.active_release)
            durs = release - at, active - at  # NULL where the end is
            if block.graph_engine:
                name, stream = self._engine[_name(block)], NULL
            else:
                name, stream = self._memory[block.name], STREAM
            sizes = (*_sizes(block.before), *_sizes(block.after))
            rows.append((name, block.size, at, release, active, *durs, *sizes, stream, self._device))
        self._database.add("OP_MEMORY", rows)


def _name(block: Allocation) -> str:
    return block.name.removeprefix("cann::") if block.graph_engine else block.name


def _cell(value: int | None) -> float:
    return NULL if value is None else value


def _sizes(totals: Totals | None) -> tuple[float, float, float]:
    return (NULL,) * 3 if totals is None else (totals.allocated, totals.reserved, _cell(totals.active))
