"""The framework's memory in the profiler's database: MEMORY_RECORD, OP_MEMORY, NPU_OP_MEM.
Source: docs/facts/databases.md, ascend_pytorch_profiler.db."""

from __future__ import annotations

from collections.abc import Iterable

from tb_npu_plugin.capture.simulation.records import Segment
from tb_npu_plugin.capture.simulation.samples import Allocation, Totals
from tb_npu_plugin.capture.writers.database import Database, Row, Strings
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.memory_csv import STREAM, MemoryRecord, TotalsByTime
from tb_npu_plugin.schema import torch_npu_db as schema

_ENGINE = "GE"


class MemoryTables:
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
        """Write the totals of a segment, and the blocks of the segment before."""
        self._records(self._totals.add(segment))
        self._allocations()
        self._last = list(segment.memory)

    def close(self) -> None:
        """Write what was kept: blocks that are still held come at the end."""
        self._allocations()
        self._blocks(self._held)
        self._records(self._totals.close())

    def flush(self) -> None:
        """Write the texts that are new."""
        self._engine.flush()
        self._memory.flush()

    def _records(self, events: Iterable[Totals]) -> None:
        rows = []
        for now in events:
            stream = None if now.component == _ENGINE else STREAM
            sizes = (now.allocated, now.reserved, now.active)
            rows.append((self._memory[now.component], now.at, *sizes, stream, self._device))
        self._database.add("MEMORY_RECORD", rows)

    def _allocations(self) -> None:
        ready = [block for block in self._last if block.release is not None]
        self._held += [block for block in self._last if block.release is None]
        self._last = []
        self._blocks(ready)
        self._engine_events([block for block in ready if block.graph_engine])

    def _blocks(self, blocks: list[Allocation]) -> None:
        rows = []
        for block in blocks:
            strings = self._engine if block.graph_engine else self._memory
            times = (block.at, block.release, block.active_release)
            durs = [None if end is None else end - block.at for end in times[1:]]
            sizes = (*_sizes(block.before), *_sizes(block.after))
            stream = None if block.graph_engine else STREAM
            rows.append((strings[_name(block)], block.size, *times, *durs, *sizes, stream, self._device))
        self._database.add("OP_MEMORY", rows)

    def _engine_events(self, blocks: list[Allocation]) -> None:
        """Rows of NPU_OP_MEM: two for each block of CANN."""
        text, rows = self._engine, list[Row]()
        for block in blocks:
            for event, at, totals in (("allocate", block.at, block.before), ("release", block.release, block.after)):
                names = (text[_name(block)], 1 << 44, text[event])
                sizes = _sizes(totals)[:2]
                rows.append((*names, block.size, at, self._thread, *sizes, text[_ENGINE], self._device))
        self._database.add("NPU_OP_MEM", rows)


def _name(block: Allocation) -> str:
    return block.name.removeprefix("cann::") if block.graph_engine else block.name


def _sizes(totals: Totals | None) -> tuple[int | None, int | None, int | None]:
    return (None, None, None) if totals is None else (totals.allocated, totals.reserved, totals.active)
