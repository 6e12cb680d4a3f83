"""operator_memory.csv and memory_record.csv of MindSpore.
Source: docs/facts/ascend_ms.md, Memory files of MindSpore."""

from __future__ import annotations

from tb_npu_plugin.capture.simulation.records import Segment
from tb_npu_plugin.capture.simulation.samples import Allocation, Totals
from tb_npu_plugin.capture.writers import memory_csv
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.memory_csv import APP
from tb_npu_plugin.capture.writers.text import Rows, cell, decimals, mb_text, time_text
from tb_npu_plugin.schema import mindspore as names
from tb_npu_plugin.schema import torch_npu_memory_csv as schema

_STREAM = "281459468288"
_NONE = "N/A"


class Allocations:
    """operator_memory.csv, by allocation; a block that is still held has N/A in every column of its release. Not
    made without the host."""

    def __init__(self, output: Output) -> None:
        self._device, self._host = output.device, output.options.cpu
        self._file = output.csv(schema.OP_MEMORY)

    def add(self, segment: Segment) -> None:
        """Write the allocations of one segment."""
        if self._host:
            self._file.add([self._line(block) for block in segment.memory])

    def _line(self, block: Allocation) -> str:
        at, release = block.at, block.release
        released, lasted = (_NONE, _NONE) if release is None else (decimals(release), decimals(release - at))
        front = f"{cell(block.name)},{block.size / 1024},{decimals(at)},{released},{_NONE},{lasted},{_NONE}"
        return f"{front},{self._totals(block.before)},{self._totals(block.after)},{_STREAM},{self._device}"

    def _totals(self, totals: Totals | None) -> str:
        if totals is None:
            return f"{_NONE},{_NONE},{_NONE}"
        allocated = mb_text(totals.allocated)  # active memory is not recorded separately
        return f"{allocated},{mb_text(totals.reserved)},{allocated}"

    def close(self) -> None:
        """Finish the file."""
        self._file.close()


class MemoryRecord(memory_csv.MemoryRecord):
    """memory_record.csv: MindSpore and GE by time, each followed by their sum; then the process."""

    SUM = names.BOTH

    def _parts(self) -> tuple[Rows, ...]:
        return self._rows, self._app

    def _line(self, component: str, at: int, allocated: int | None, reserved: int, active: int | None) -> str:
        time = time_text(at) if component == APP else decimals(at)
        sizes = [str((size or 0) / 1024 / (names.MEMORY_RECORD_MB // 1024)) for size in (allocated, reserved, active)]
        return ",".join([component, time, *sizes, self._device])
