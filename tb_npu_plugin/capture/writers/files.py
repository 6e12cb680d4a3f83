"""What every writer of one result file is given, and what it offers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tb_npu_plugin.capture.simulation.records import Process, Segment
from tb_npu_plugin.capture.writers.dialect import Dialect, Options
from tb_npu_plugin.capture.writers.text import CsvFile
from tb_npu_plugin.schema.core import ResultFile


class Writer(Protocol):
    """Writes one file while segments come."""

    def add(self, segment: Segment) -> None:
        """Take the next segment."""

    def close(self) -> None:
        """The last segment has been added: finish the file."""


@dataclass(frozen=True)
class Output:
    """Where and how the files of one capture are written. `process` is complete when the writers are closed; has_rank: its
    rank is known."""

    folder: Path
    process: Process
    options: Options
    dialect: Dialect
    has_rank: bool = True

    @property
    def device(self) -> str:
        """Device as the memory files name it."""
        return f"NPU:{self.process.device}" if self.options.npu else "CPU"

    def has_device_id(self, file: ResultFile) -> bool:
        """The file begins with Device_id."""
        return self.dialect.device_id and file.id not in self.dialect.no_device_id

    def header(self, file: ResultFile, key: str) -> str:
        """Header text of a column in this release."""
        spelling = self.dialect.spelling
        number = spelling.get(f"{file.id}.{key}", spelling.get(key, 0))
        headers = file.column(key).headers
        return headers[min(number, len(headers) - 1)]

    def csv(self, file: ResultFile, keys: tuple[str, ...], extra: tuple[str, ...] = ()) -> CsvFile:
        """A CSV file with these columns of its declaration, then `extra` headers."""
        header = [*(self.header(file, key) for key in keys), *extra]
        newline = "\n" if file.id in self.dialect.line_feed else "\r\n"
        return CsvFile(self.folder / file.name, header, newline)

    def dur(self, ns: int) -> str:
        """A duration of a kernel."""
        return f"{ns / 1000:.3f}" if self.dialect.fixed_decimals else str(ns / 1000) if ns else "0"
