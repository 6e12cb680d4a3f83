"""Lines of a file, as source.read_lines returns them, with access to the unread bytes for the C row parser."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Sequence
from typing import IO

from tb_npu_plugin.readers.shared import source
from tb_npu_plugin.readers.shared.report import MAX_FOUND, FileReport

#: Least number of bytes that one read-ahead adds, unless the file ends.
AHEAD = 4 << 20
#: Bytes per read of a .gz: the same as io.TextIOWrapper, so that both lose the same lines of a damaged file.
_PACKED_PART = 8192
_PART = 1 << 20
_MAX_CHAR_BYTES = 4
#: Bytes that are searched for a line break at first: all bytes ahead would be too many where lines end in "\\r" alone.
_USUAL_LINE = 1 << 16


class ByteLines:
    """Iterates over lines. The unread bytes are `data[at:]`; a caller that consumes some must advance `at`."""

    def __init__(self, stream: IO[bytes], report: FileReport) -> None:
        self._stream, self._report = stream, report
        self._part = _PACKED_PART if isinstance(stream, gzip.GzipFile) else _PART
        self._error: Exception | None = None
        self._ended = False
        self.data, self.at = b"", 0
        while len(self.data) < len(codecs.BOM_UTF8) and self.read_more():
            pass
        if len(self.data) < len(codecs.BOM_UTF8):
            self.data = b"" if codecs.BOM_UTF8.startswith(self.data) else self.data
        elif self.data.startswith(codecs.BOM_UTF8):
            self.at = len(codecs.BOM_UTF8)

    def read_more(self) -> bool:
        """Read more bytes into `data`; False at the end of the file."""
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
        """Put lines back: they are read again next."""
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
        # A final "\r" may be half of a line break that could not be read.
        if not line or (self._error is not None and end == len(self.data) and not line.endswith("\n")):
            error, self._error = self._error, None
            self._stop()
            if error is not None:
                self._report.cut(error)
            raise StopIteration
        self.at = end
        return line.replace("\0", source.NUL) if "\0" in line else line

    def _stop(self) -> None:
        self.data, self.at, self._ended = b"", 0, True

    def _line_end(self) -> int:
        """Return the end of the next line in `data`, or the end of `data` if the line is unterminated or too long."""
        longest = source.MAX_LINE * _MAX_CHAR_BYTES
        most = min(_USUAL_LINE, longest)
        while True:
            limit = self.at + most
            feed = self.data.find(b"\n", self.at, limit)
            back = self.data.find(b"\r", self.at, limit if feed < 0 else feed)
            if back >= 0 and (back + 1 < len(self.data) or self._ended):
                return back + 1 + (self.data[back + 1 : back + 2] == b"\n")
            if feed >= 0 and back < 0:
                return feed + 1
            if most < longest:
                most = longest
            elif len(self.data) >= limit or not self.read_more():
                return len(self.data) if back < 0 else back + 1
