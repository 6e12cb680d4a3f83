"""The framework's memory in the profiler's database: MEMORY_RECORD, OP_MEMORY, NPU_OP_MEM.
Source: docs/facts/databases.md, ascend_pytorch_profiler.db."""

from __future__ import annotations

from tb_npu_plugin.capture.simulation.records import Segment
from tb_npu_plugin.capture.simulation.samples import Allocation, Totals
from tb_npu_plugin.capture.writers.database import NULL, Database, Strings
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.memory_csv import STREAM, MemoryRecord, TotalsByTime, TotalsRow
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
        """Write the rest: blocks that were never released come last."""
        self._allocations()
        self._blocks(self._held)
        self._records(self._totals.close())

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
        self._engine_events([block for block in ready if block.graph_engine])

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

    def _engine_events(self, blocks: list[Allocation]) -> None:
        """Rows of NPU_OP_MEM: two for each block of CANN."""
        text, rows = self._engine, []
        for block in blocks:
            for event, at, totals in (("allocate", block.at, block.before), ("release", block.release, block.after)):
                names = (text[_name(block)], 1 << 44, text[event])
                sizes = _sizes(totals)[:2]
                rows.append((*names, block.size, at, self._thread, *sizes, text[_ENGINE], self._device))
        self._database.add("NPU_OP_MEM", rows)


def _name(block: Allocation) -> str:
    return block.name.removeprefix("cann::") if block.graph_engine else block.name


def _cell(value: int | None) -> float:
    return NULL if value is None else value


def _sizes(totals: Totals | None) -> tuple[float, float, float]:
    return (NULL,) * 3 if totals is None else (totals.allocated, totals.reserved, _cell(totals.active))
