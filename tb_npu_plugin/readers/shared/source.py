"""Opens plain and gzip result files, counts the bytes read, and reports every failure as a problem."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import stat
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from tb_npu_plugin.messages import Message
from tb_npu_plugin.readers.shared.damage import is_damaged, repair
from tb_npu_plugin.readers.shared.reading import Progress, Reading
from tb_npu_plugin.readers.shared.report import MAX_FOUND, FileReport
from tb_npu_plugin.scan.source import BOMB, unpacked_limit

#: Errors of reading an open file: the disk fails, or a gzip file is truncated or damaged.
READ_ERRORS = (OSError, EOFError, zlib.error)
#: Replaces a NUL byte in decoded text: a lone surrogate, like those of invalid bytes.
NUL = "\udc00"
_BLOCK = 1 << 20
#: Longest line of a CSV file, in characters: a longer one is not CSV (zeros after a crash, for instance) and must not
#: fill the memory.
MAX_LINE = 1 << 25
#: Largest JSON file, in bytes, unpacked.
MAX_JSON = 1 << 30
#: Memory limit for decoding JSON: a base of _JSON_MEMORY bytes, or a number of bytes per plain or packed byte if that is
#: more. Profiler output takes at most 15 bytes per byte (estimate of `_decoded_bytes`) and packs to at least a fortieth.
_JSON_MEMORY = 160 << 20
_JSON_PER_BYTE = 24
_JSON_PER_PACKED_BYTE = 40 * _JSON_PER_BYTE
#: Any JSON file may hold this many objects and lists. In a file with more, each must take _BYTES_PER_OBJECT bytes of text
#: on average, since each costs Python time; in profiler output, each takes at least 58 bytes.
_JSON_OBJECTS = 400_000
_BYTES_PER_OBJECT = 45


class _Counting(io.FileIO):
    """A file that reports how many bytes were read from it."""

    def __init__(self, path: Path, progress: Progress) -> None:
        super().__init__(path, "r")
        self._progress = progress

    def readinto(self, buffer: bytearray | memoryview) -> int | None:  # type: ignore[override]
        """Fill the buffer and report the count."""
        count = super().readinto(buffer)
        if count:
            self._progress(count)
        return count


class _Gunzip(gzip.GzipFile):
    """Unpacks a gzip file of `size` bytes. Raises OSError if the content exceeds `unpacked_limit`."""

    def __init__(self, packed: IO[bytes], size: int) -> None:
        super().__init__(fileobj=packed, mode="rb")
        self._left = unpacked_limit(size)

    def read(self, size: int | None = -1) -> bytes:
        """As that of GzipFile."""
        return self._check_limit(super().read(size))

    def read1(self, size: int = -1) -> bytes:
        """As that of GzipFile."""
        return self._check_limit(super().read1(size))

    def _check_limit(self, data: bytes) -> bytes:
        self._left -= len(data)
        if self._left < 0:
            raise OSError(BOMB)
        return data


@contextmanager
def open_file(reading: Reading) -> Iterator[IO[bytes] | None]:
    """Open the file, unpacked if its name ends in .gz; None after a problem. Never waits on a pipe."""
    path, report = reading.path, reading.report
    try:
        mode = path.stat().st_mode
        raw = _Counting(path, reading.progress) if stat.S_ISREG(mode) else None
    except OSError as error:
        report.os_error(error)
        yield None
        return
    if raw is None:
        report.add("not_a_file")
        yield None
        return
    with io.BufferedReader(raw, _BLOCK) as buffered:
        if path.name.endswith(".gz"):
            with _Gunzip(buffered, os.fstat(raw.fileno()).st_size) as unpacked:
                yield cast("IO[bytes]", unpacked)
        else:
            yield buffered


#: Bytes of the beginning of a CSV file in which the first text that is no ASCII tells its encoding.
_ENCODING_HEAD = 64 << 20
_GBK = "gb18030"
#: Characters that both halves of a GBK character of common text are.
_COMMON = re.compile(rb"[\xa1-\xfe]{2}")


@contextmanager
def open_csv(reading: Reading) -> Iterator[IO[bytes] | None]:
    """As open_file, with GBK text as UTF-8."""
    with open_file(reading) as stream:
        if stream is None or reading.path.name.endswith(".gz") or not _is_gbk(reading.path):
            yield stream
            return
        reading.report.add("other_encoding", found=Message("found.gbk"))
        yield cast("IO[bytes]", _FromGbk(stream))


def _is_gbk(path: Path) -> bool:
    """Whether the first lines that are no ASCII are GBK, none of them is UTF-8, and most of their characters are common ones:
    single damaged bytes look like rare characters."""
    try:
        with path.open("rb") as file:
            while file.tell() < _ENCODING_HEAD and (block := file.read(_BLOCK)):
                block += file.readline(_BLOCK)
                if block.isascii():
                    continue
                return _are_gbk([line for line in block.splitlines() if not line.isascii()])
    except OSError:
        return False  # whoever reads the file reports it
    return False


def _are_gbk(lines: Sequence[bytes]) -> bool:
    if any(_decoded(line, "utf-8-sig") is not None for line in lines):
        return False
    texts = [_decoded(line, _GBK) for line in lines]
    rare = sum(not char.isascii() for text in texts if text is not None for char in text)
    return None not in texts and 2 * sum(len(_COMMON.findall(line)) for line in lines) >= rare


def _decoded(line: bytes, encoding: str) -> str | None:
    try:
        return line.decode(encoding)
    except UnicodeDecodeError:
        return None


class _FromGbk(io.BufferedIOBase):
    """A stream of GBK text as UTF-8; what is no GBK stays as it is."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(_GBK)("surrogateescape")

    def readable(self) -> bool:
        """See io.IOBase."""
        return True

    def read1(self, size: int = -1) -> bytes:
        """See io.BufferedIOBase."""
        while True:
            data = self._stream.read1(size)  # type: ignore[attr-defined]
            text = self._decoder.decode(data, not data)
            if text or not data:
                return text.encode("utf-8", "surrogateescape")

    read = read1  # type: ignore[assignment]  # a wrapper takes any number of bytes


def read_lines(stream: IO[bytes], report: FileReport) -> Iterator[str]:
    """Yield lines with their original line breaks. A read error ends the lines with a problem. Invalid UTF-8 and NUL
    become lone surrogates, which `is_damaged` finds."""
    wrapper = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
    try:
        while line := wrapper.readline(MAX_LINE):
            if len(line) == MAX_LINE:
                report.add("long_line", found=line[:MAX_FOUND])
                return
            yield line.replace("\0", NUL) if "\0" in line else line
    except READ_ERRORS as error:
        report.cut(error)
    finally:
        if not stream.closed:  # whoever opened it closes it
            wrapper.detach()


def read_bytes(reading: Reading) -> bytes | None:
    """Return the JSON file's bytes, of a damaged .gz those before the damage. None after a problem, and for a file that
    would take far more memory or time than others of its size."""
    report, blocks, size, memory, objects = reading.report, [], 0, 0, 0
    with open_file(reading) as stream:
        if stream is None:
            return None
        allowed = _json_memory(reading.path)
        try:
            for block in iter(lambda: stream.read(_BLOCK), b""):
                blocks.append(block)
                size += len(block)
                memory += _decoded_bytes(block)
                objects += _objects(block)
                if size > MAX_JSON:
                    report.add("too_large", expected=Message("expected.max_bytes", bytes=MAX_JSON))
                    return None
                if memory > allowed:
                    report.add(
                        "too_expensive",
                        expected=Message("expected.json_memory", mb=allowed >> 20),
                        found=Message("found.more_in_first_bytes", bytes=size),
                    )
                    return None
                if objects > max(_JSON_OBJECTS, size // _BYTES_PER_OBJECT):
                    report.add(
                        "too_expensive",
                        expected=Message("expected.json_objects", count=_JSON_OBJECTS),
                        found=Message("found.more_in_first_bytes", bytes=size),
                    )
                    return None
        except READ_ERRORS as error:
            report.cut(error)
    return b"".join(blocks)


def _json_memory(path: Path) -> int:
    """Return the memory limit for decoding a file, in bytes."""
    per_byte = _JSON_PER_PACKED_BYTE if path.name.endswith(".gz") else _JSON_PER_BYTE
    return max(_JSON_MEMORY, per_byte * path.stat().st_size)


def _decoded_bytes(block: bytes) -> int:
    """Return an upper bound of the memory of JSON as text and decoded, in bytes, from CPython's object sizes."""
    values = block.count(b",") + block.count(b":")
    return 5 * len(block) + 60 * values + 64 * _objects(block) + 170 * block.count(b'{"')


def _objects(block: bytes) -> int:
    """Return an upper bound of the number of objects and lists."""
    return block.count(b"{") + block.count(b"[")


def decode_text(data: bytes, report: FileReport) -> str:
    """Return the bytes as text. Invalid UTF-8 and NUL become U+FFFD and a problem."""
    text = data.decode("utf-8-sig", "surrogateescape").replace("\0", NUL)
    if not is_damaged(text):
        return text
    report.add("bad_bytes", f"byte {_first_damage(text)}")
    return repair(text)


def _first_damage(text: str) -> int:
    """Return the offset of the first damaged byte."""
    sound = next(index for index, char in enumerate(text) if is_damaged(char))
    return len(text[:sound].encode("utf-8"))
