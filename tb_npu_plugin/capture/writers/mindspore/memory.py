"""operator_memory.csv and memory_record.csv of MindSpore.
Source: docs/facts/ascend_ms.md, Memory files of MindSpore."""

from __future__ import annotations

from tb_npu_plugin.capture.simulation.records import Segment
from tb_npu_plugin.capture.simulation.samples import Allocation, Totals
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.text import cell, mb_text
from tb_npu_plugin.schema import mindspore as names
from tb_npu_plugin.schema import torch_npu_memory_csv as schema

_STREAM = "281459468288"
_NONE = "N/A"


def _us_text(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"


class Allocations:
    """operator_memory.csv, by allocation; a block that is still held has N/A in every column of its release."""

    def __init__(self, output: Output) -> None:
        self._device = output.device
        self._file = output.csv(schema.OP_MEMORY, tuple(column.key for column in schema.OP_MEMORY.columns))

    def add(self, segment: Segment) -> None:
        """Write the allocations of one segment."""
        self._file.add([self._line(block) for block in segment.memory])

    def _line(self, block: Allocation) -> str:
        at, release = block.at, block.release
        released, lasted = (_NONE, _NONE) if release is None else (_us_text(release), _us_text(release - at))
        front = f"{cell(block.name)},{block.size / 1024},{_us_text(at)},{released},{_NONE},{lasted},{_NONE}"
        return f"{front},{self._totals(block.before)},{self._totals(block.after)},{_STREAM},{self._device}"

    def _totals(self, totals: Totals | None) -> str:
        if totals is None:
            return f"{_NONE},{_NONE},{_NONE}"
        allocated = mb_text(totals.allocated)  # active memory is not recorded separately
        return f"{allocated},{mb_text(totals.reserved)},{allocated}"

    def close(self) -> None:
        """Finish the file."""
        self._file.close()


class MemoryRecord:
    """memory_record.csv: MindSpore and GE by time, each followed by their sum; then the process."""

    def __init__(self, output: Output) -> None:
        self._device = output.device
        self._file = output.csv(schema.MEMORY_RECORD, names.MEMORY_RECORD_KEYS)
        self._app = self._file.part()
        self._pending: list[Totals] = []
        self._known: dict[str, Totals] = {}

    def add(self, segment: Segment) -> None:
        """Take the totals of one segment."""
        self._app.add(
            [
                self._line(names.APP, f"{_us_text(sample.at)}\t", 0, sample.size, 0)
                for sample in segment.modules
                if sample.component == "PROCESS"
            ]
        )
        self._pending = sorted([*self._pending, *segment.totals], key=lambda totals: totals.at)
        self._write(segment.until)

    def _write(self, before: int) -> None:
        ready = [totals for totals in self._pending if totals.at < before]
        del self._pending[: len(ready)]
        lines = []
        for now in ready:
            self._known[now.component] = now
            known = self._known.values()
            at = _us_text(now.at)
            lines.append(self._line(now.component, at, now.allocated, now.reserved, now.active or 0))
            lines.append(
                self._line(
                    names.BOTH,
                    at,
                    sum(t.allocated for t in known),
                    sum(t.reserved for t in known),
                    sum(t.active or 0 for t in known),
                )
            )
        self._file.add(lines)

    def close(self) -> None:
        """Put the parts together."""
        self._write(1 << 63)
        self._file.append(self._app)
        self._file.close()

    def _line(self, component: str, at: str, *sizes: int) -> str:
        figures = ",".join(str(size / 1024 / (names.MEMORY_RECORD_MB // 1024)) for size in sizes)
        return f"{component},{at},{figures},{self._device}"
