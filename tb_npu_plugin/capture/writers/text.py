"""Cells and numbers as the vendor's files hold them. Source: docs/facts/ascend_pt.md, CSV dialect."""

from __future__ import annotations

import csv
import io
import shutil
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple


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


def unnamed_file(folder: Path) -> IO[bytes]:
    """A file without a name, so that an interrupted run leaves none."""
    return tempfile.TemporaryFile(dir=folder)


def append_file(part: IO[bytes], out: IO[bytes]) -> None:
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
        self._parts: dict[str, CsvPart] = {}

    def _open(self) -> BinaryIO:
        if self._file is None:
            self._file = self._path.open("wb")
            self._file.write(self._header.encode())
        return self._file

    def add(self, lines: Sequence[str]) -> None:
        """Append rows, if there are any: cells joined by commas, quoted where needed, without line end."""
        if lines:
            self._open().write(self.encode(lines))

    def encode(self, lines: Sequence[str]) -> bytes:
        """Bytes of at least one row. Raises ValueError if the first one does not fit the header, for example after a
        new column in schema/."""
        width = 1 + sum(part.count(",") for part in lines[0].split('"')[::2])  # csv.reader limits cells to 128 KiB
        if width != self._width:
            raise ValueError(f"{self._path.name}: {width} cells under {self._width} headers; see its writer")
        return (self._newline.join(lines) + self._newline).encode()

    def part(self, name: str = "") -> CsvPart:
        """The part of this name. Parts come last, in the order in which they were first asked for."""
        if name not in self._parts:
            self._parts[name] = CsvPart(self, unnamed_file(self._path.parent))
        return self._parts[name]

    def close(self) -> None:
        """Append the parts and finish the file."""
        for part in self._parts.values():
            if part.file.tell():
                append_file(part.file, self._open())
            part.file.close()
        if self._file is not None:
            self._file.close()


class CsvPart(NamedTuple):
    """Rows of a part."""

    owner: CsvFile
    file: IO[bytes]

    def add(self, lines: Sequence[str]) -> None:
        """Append rows, if there are any."""
        if lines:
            self.file.write(self.owner.encode(lines))


class Parts:
    """A JSON list, or the members of an object, written in parts that grow side by side and are put together in order at
    the end."""

    def __init__(self, path: Path, count: int, brackets: bytes = b"[]") -> None:
        self._path, self._begin, self._end = path, brackets[:1], brackets[1:]
        self._parts = [unnamed_file(path.parent) for _ in range(count)]

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
                    append_file(part, out)
                out.write(self._end)
        for part in self._parts:
            part.close()
