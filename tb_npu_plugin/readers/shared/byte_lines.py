"""The lines of a file as source.text_lines has them, and the bytes ahead, for a reader that takes rows as bytes."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Sequence
from typing import IO

from tb_npu_plugin.readers.shared import source
from tb_npu_plugin.readers.shared.report import MAX_FOUND, FileReport

#: Bytes that are read at once; at least so many ahead of what is taken, while there are.
AHEAD = 4 << 20
#: Bytes asked for at once of a .gz: as many as io.TextIOWrapper asks for, so that the same is lost where it is damaged.
_PACKED_PART = 8192
_PART = 1 << 20
_MOST_BYTES = 4  # of a character


class ByteLines:
    """Iterates over lines. What stands ahead is in `data`, from `at` on: who takes bytes from there moves `at`."""

    def __init__(self, stream: IO[bytes], report: FileReport) -> None:
        self._stream, self._report = stream, report
        self._part = _PACKED_PART if isinstance(stream, gzip.GzipFile) else _PART
        self._error: Exception | None = None
        self._ended = False
        self.data, self.at = b"", 0
        while len(self.data) < len(codecs.BOM_UTF8) and self.more():
            pass
        if len(self.data) < len(codecs.BOM_UTF8):
            self.data = b"" if codecs.BOM_UTF8.startswith(self.data) else self.data
        elif self.data.startswith(codecs.BOM_UTF8):
            self.at = len(codecs.BOM_UTF8)

    def more(self) -> bool:
        """Have more bytes ahead; False when there are none."""
        parts, size = [self.data[self.at :]], 0
        while not self._ended and size < AHEAD:
            try:
                part = self._stream.read1(self._part)  # type: ignore[attr-defined]
            except source.READ_ERRORS as error:
                self._error, part = error, b""
            self._ended = not part
            parts.append(part)
            size += len(part)
        if size:
            self.data, self.at = b"".join(parts), 0
        return size > 0

    def give_back(self, lines: Sequence[str]) -> None:
        """These lines come next again."""
        text = "".join(lines).replace(source.NUL, "\0")
        self.data = text.encode("utf-8", "surrogateescape") + self.data[self.at :]
        self.at = 0

    def __iter__(self) -> ByteLines:
        return self

    def __next__(self) -> str:
        end = self._line_end()
        line = self.data[self.at : end].decode("utf-8", "surrogateescape")
        if len(line) >= source.MAX_LINE:
            self._stop()
            self._report.add("long_line", found=line[:MAX_FOUND])
            raise StopIteration
        # A "\r" that is last may be the half of a line break that could not be read.
        if not line or (self._error is not None and end == len(self.data) and not line.endswith("\n")):
            error, self._error = self._error, None
            self._stop()
            if error is not None:
                self._report.cut(error)
            raise StopIteration
        self.at = end
        return line.replace("\0", source.NUL) if "\0" in line else line

    def _stop(self) -> None:
        """Nothing follows."""
        self.data, self.at, self._ended = b"", 0, True

    def _line_end(self) -> int:
        """Where the next line ends; where the data end when it does not, or is longer than any line may be."""
        while True:
            limit = self.at + source.MAX_LINE * _MOST_BYTES
            feed = self.data.find(b"\n", self.at, limit)
            back = self.data.find(b"\r", self.at, limit if feed < 0 else feed)
            if back >= 0 and (back + 1 < len(self.data) or self._ended):
                return back + 1 + (self.data[back + 1 : back + 2] == b"\n")
            if feed >= 0 and back < 0:
                return feed + 1
            if len(self.data) >= limit or not self.more():
                return len(self.data) if back < 0 else back + 1
