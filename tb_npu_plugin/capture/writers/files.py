"""What the writers of result files share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import mul
from pathlib import Path
from typing import Callable, Generic, TypeVar

from tb_npu_plugin.capture.simulation.records import Process, Segment
from tb_npu_plugin.capture.writers.database import Database
from tb_npu_plugin.capture.writers.dialect import Dialect, Options
from tb_npu_plugin.capture.writers.overlap import Overlap, Windows
from tb_npu_plugin.capture.writers.text import CsvFile
from tb_npu_plugin.schema.core import ResultFile

T = TypeVar("T")
#: Later than any record.
END = 1 << 63


class Writer:
    """Writes one file while segments come."""

    def add(self, segment: Segment) -> None:
        """Take the next segment."""
        raise NotImplementedError

    def close(self) -> None:
        """The last segment has been added: write the rest."""


@dataclass(frozen=True)
class Output:
    """Where and how the files of one capture are written. `process` is complete when the writers are closed; has_rank: its
    rank is known; windows: its steps on the device so far; overlap: of the last segment and those before; opened:
    the files that are closed after their writers."""

    folder: Path
    process: Process
    options: Options
    dialect: Dialect
    has_rank: bool = True
    windows: Windows = field(default_factory=Windows)
    overlap: Overlap = field(default_factory=Overlap)
    opened: list[CsvFile | Database] = field(default_factory=list)

    @property
    def device(self) -> str:
        """Device as the memory files name it."""
        return f"NPU:{self.process.device}" if self.options.npu else "CPU"

    def lead(self, file: ResultFile, device: str = "") -> str:
        """Start of a row: the cell of Device_id and its comma, where the file has that column."""
        return f"{device or self.process.device}," if self.dialect.writes(file, "device_id") else ""

    def columns(self, file: ResultFile) -> list[str]:
        """Keys of the columns that this release writes."""
        return [column.key for column in file.columns if self.dialect.writes(file, column.key)]

    def csv(self, file: ResultFile, keys: Sequence[str] = (), extra: Sequence[str] = ()) -> CsvFile:
        """A CSV file with these columns of its declaration, by default all of this release, then `extra` headers."""
        header = [*(self._header(file, key) for key in keys or self.columns(file)), *extra]
        newline = "\n" if file.id in self.dialect.line_feed else "\r\n"
        self.opened.append(out := CsvFile(self.folder / file.name, header, newline))
        return out

    def database(self, name: str, tables: Mapping[str, str]) -> Database:
        """A database with these tables."""
        self.opened.append(out := Database(self.folder / name, tables))
        return out

    def _header(self, file: ResultFile, key: str) -> str:
        spelling = self.dialect.spelling
        number = spelling.get(f"{file.id}.{key}", spelling.get(key, 0))
        headers = file.column(key).headers
        return headers[min(number, len(headers) - 1)]

    def dur(self, ns: int) -> str:
        """A duration of a kernel."""
        return f"{ns / 1000:.3f}" if self.dialect.fixed_decimals else str(ns / 1000) if ns else "0"


class ByTime(Generic[T]):
    """Records that wait until no later segment can bring an earlier one."""

    def __init__(self, time: Callable[[T], int]) -> None:
        self._time = time
        self._waiting: list[T] = []

    def take(self, new: Iterable[T], before: int) -> list[T]:
        """Add records; give those before a time, in order."""
        waiting, time = self._waiting, self._time
        waiting += new
        waiting.sort(key=time)
        count = len(waiting)
        while count and time(waiting[count - 1]) >= before:
            count -= 1
        self._waiting = waiting[count:]
        return waiting[:count]


@dataclass
class Durations:
    """Sums of durations in ns."""

    count: int = 0
    total: int = 0
    least: int = END
    most: int = 0
    squares: int = 0

    def add(self, durs: Sequence[int]) -> None:
        """Count at least one more."""
        self.count += len(durs)
        self.total += sum(durs)
        self.least, self.most = min(self.least, *durs), max(self.most, *durs)
        self.squares += sum(map(mul, durs, durs))

    @property
    def mean_us(self) -> float:
        """Mean in us with three decimals."""
        return round(self.total / self.count / 1000, 3)
