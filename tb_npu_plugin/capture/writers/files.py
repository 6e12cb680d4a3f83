"""What the writers of result files share: the files themselves, where they go and how they are written.
Source of the CSV dialect, cells and numbers: docs/facts/ascend_pt.md, CSV dialect."""

from __future__ import annotations

import csv
import io
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import compress
from pathlib import Path
from typing import IO, Any, BinaryIO, Callable, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.capture.simulation.records import Process, Segment
from tb_npu_plugin.capture.writers.options import Options
from tb_npu_plugin.capture.writers.overlap import Overlap, Windows
from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.schema.dialects import Dialect
from tb_npu_plugin.schema.torch_npu_json import ENVIRONMENT_VARIABLES


def decimals(ns: int) -> str:
    """us with three decimals."""
    return f"{ns // 1000}.{ns % 1000:03d}" if ns >= 0 else f"-{decimals(-ns)}"


def time_text(ns: int | None) -> str:
    """An absolute time or a long duration: us with three decimals and the TAB that guards it; empty for None."""
    return "" if ns is None else f"{ns // 1000}.{ns % 1000:03d}\t"


def us_text(ns: float) -> str:
    """A duration as Python writes a float of us."""
    return str(ns / 1000) if ns else "0"


@lru_cache(1 << 16)  # the same totals come back in every step
def mb_text(size: int | None) -> str:
    """MB, exact in binary; empty for None."""
    return "" if size is None else str(size / 1048576)


def cell(text: str) -> str:
    """A cell with quotes where they are needed."""
    if '"' in text or "," in text or "\n" in text or "\r" in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def shapes_cell(shapes: str) -> str:
    """Shapes carry their own pair of quotes inside the cell; N/A without shapes."""
    return cell(f'"{shapes}"') if shapes else "N/A"


def _unnamed_file(folder: Path) -> IO[bytes]:
    """A file without a name, so that an interrupted run leaves none."""
    return tempfile.TemporaryFile(dir=folder)


def _append_file(part: IO[bytes], out: IO[bytes]) -> None:
    """Append the whole content of a file."""
    part.seek(0)
    shutil.copyfileobj(part, out, 1 << 20)


class CsvFile:
    """A CSV file that grows; it is created with its first row."""

    def __init__(self, path: Path, header: Sequence[str], newline: str) -> None:
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator=newline).writerow(header)
        self._path, self._header, self._newline, self._width = path, buffer.getvalue(), newline, len(header)
        self._file: BinaryIO | None = None
        self._parts: dict[str, IO[bytes]] = {}

    def _open(self) -> BinaryIO:
        if self._file is None:
            self._file = self._path.open("wb")
            self._file.write(self._header.encode())
        return self._file

    def add(self, lines: Sequence[str], part: str | None = None) -> None:
        """Append rows, if there are any: cells joined by commas, quoted where needed, without line end. Those of a part
        come last, parts in the order in which they were first named. Raises ValueError if the first row does not fit
        the header, for example after a new column in schema/."""
        if part is not None and part not in self._parts:
            self._parts[part] = _unnamed_file(self._path.parent)
        if lines:
            # csv.reader limits cells to 128 KiB
            width = 1 + sum(cells.count(",") for cells in lines[0].split('"')[::2])
            if width != self._width:
                raise ValueError(f"{self._path.name}: {width} cells under {self._width} headers; see its writer")
            file = self._open() if part is None else self._parts[part]
            file.write((self._newline.join(lines) + self._newline).encode())

    def close(self) -> None:
        """Append the parts and finish the file."""
        for part in self._parts.values():
            if part.tell():
                _append_file(part, self._open())
            part.close()
        if self._file is not None:
            self._file.close()


class Parts:
    """A JSON list, or the members of an object, written in parts that grow side by side and are put together in order at
    the end."""

    def __init__(self, path: Path, count: int, brackets: bytes = b"[]") -> None:
        self._path, self._begin, self._end = path, brackets[:1], brackets[1:]
        self._parts = [_unnamed_file(path.parent) for _ in range(count)]

    def add(self, part: int, items: Sequence[str]) -> None:
        """Append items to one part, if there are any."""
        if items:
            file = self._parts[part]
            file.write((", " if file.tell() else "").encode() + ", ".join(items).encode())

    def close(self, is_kept: bool = True) -> None:
        """Write the file, if it `is_kept`, and remove the parts."""
        if is_kept:
            with self._path.open("wb") as out:
                out.write(self._begin)
                for part in (part for part in self._parts if part.tell()):
                    out.write(b", " if out.tell() > 1 else b"")
                    _append_file(part, out)
                out.write(self._end)
        for part in self._parts:
            part.close()


Floats = NDArray[np.float64]
Row = Sequence[Any]
#: An empty cell: SQLite stores NaN as NULL, and Python's sqlite3 binds it several times faster than None.
NULL = float("nan")
sqlite3.register_adapter(np.int64, int)  # it would be stored as a blob
#: KiB of pages in memory: for appending rows, the last pages of each table; for an index, SQLite's default.
_CACHE, _INDEX_CACHE = 512, 2000


class Database:
    """Rows by table. The file is made with the first table, a table with its first row. The file is complete when it is
    closed: what an interrupted run leaves is called `*.part`."""

    def __init__(self, path: Path, tables: Mapping[str, str]) -> None:
        self._path, self._part, self._tables = path, path.with_name(path.name + ".part"), tables
        self.strings: list[Strings] = []
        self._made: set[str] = set()

    @cached_property
    def _connection(self) -> sqlite3.Connection:
        self._part.unlink(missing_ok=True)
        connection = sqlite3.connect(self._part)
        # nothing reads the file before it is renamed, so it needs no journal
        for setting in ("journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE", f"cache_size=-{_CACHE}"):
            connection.execute(f"PRAGMA {setting}")
        return connection

    def make(self, table: str) -> None:
        """Make a table, if it does not exist."""
        if table not in self._made:
            self._connection.execute(f"CREATE TABLE {table} ({self._tables[table]})")
            self._made.add(table)

    def add(self, table: str, rows: Sequence[Row]) -> None:
        """Append rows, if there are any."""
        if rows:
            self.make(table)
            self._connection.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})", rows)

    def index(self, table: str, definition: str) -> None:
        if table in self._made:
            self._connection.execute(f"PRAGMA cache_size=-{_INDEX_CACHE}")
            self._connection.execute(f"CREATE INDEX {definition}")

    def close(self) -> None:
        if not self._made:
            return
        for strings in self.strings:
            self.add("STRING_IDS", [(id_, text) for text, id_ in strings.items()])
        self._connection.commit()
        self._connection.close()
        self._part.replace(self._path)


class Strings(dict[str, int]):
    """Ids of texts, from `first` on; a new text gets one at its first use. The database writes them when it is closed."""

    def __init__(self, database: Database, first: int) -> None:
        super().__init__()
        self._first = first
        database.strings.append(self)

    def __missing__(self, text: str) -> int:
        found = self[text] = self._first + len(self)
        return found


T = TypeVar("T")
#: ENV_VARIABLES of releases that lack the last one: none is set.
NO_ENVIRONMENT = dict.fromkeys(ENVIRONMENT_VARIABLES[:-1], "")
#: Later than any record.
END = 1 << 63


class Writer:
    """Writes one file while segments come."""

    def add(self, segment: Segment) -> None:
        """Take the next segment."""
        raise NotImplementedError

    def close(self) -> None:
        """The last segment has been added: write the rest, that which waits for later ones."""
        self.add(Segment(until=END))


@dataclass(frozen=True)
class Output:
    """Where and how the files of one capture are written."""

    folder: Path
    process: Process  # complete when the writers are closed
    options: Options
    dialect: Dialect
    has_rank: bool = True  # its rank is known
    windows: Windows = field(default_factory=Windows)  # its steps on the device so far
    overlap: Overlap = field(default_factory=Overlap)  # of the last segment and those before
    opened: list[CsvFile | Database] = field(default_factory=list)  # files that are closed after their writers

    @property
    def device(self) -> str:
        """Device as the memory files name it."""
        return f"NPU:{self.process.device}" if self.options.npu else "CPU"

    def lead(self, file: ResultFile) -> str:
        """Start of a row: the cell of Device_id and its comma, where the file has that column."""
        return f"{self.process.device}," if self.dialect.writes(file, "device_id") else ""

    def columns(self, file: ResultFile) -> list[str]:
        """Keys of the columns that this release writes."""
        return [column.key for column in file.columns if self.dialect.writes(file, column.key)]

    def csv(self, file: ResultFile, keys: Sequence[str] = (), extra: Sequence[str] = ()) -> CsvFile:
        """A CSV file with these columns of its declaration, by default all of this release, then `extra` headers."""
        header = [*(self._header(file, key) for key in keys or self.columns(file)), *extra]
        self.opened.append(out := CsvFile(self.folder / file.name, header, "\n" if file.line_feed else "\r\n"))
        return out

    def lines(self, file: ResultFile, rows: Iterable[Sequence[str]]) -> list[str]:
        """Rows with a cell for each column of the declaration, without those that this release lacks."""
        written = [self.dialect.writes(file, column.key) for column in file.columns]
        return list(map(",".join, rows if all(written) else (compress(row, written) for row in rows)))

    def database(self, name: str, tables: Mapping[str, str]) -> Database:
        self.opened.append(out := Database(self.folder / name, tables))
        return out

    def _header(self, file: ResultFile, key: str) -> str:
        spelling = self.dialect.spelling
        number = spelling.get(f"{file.id}.{key}", spelling.get(key, 0))
        headers = file.column(key).headers
        return headers[min(number, len(headers) - 1)]

    def dur(self, ns: int) -> str:
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
