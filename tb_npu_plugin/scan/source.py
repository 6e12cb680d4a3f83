"""Reads a trace file in pieces, plain or gzip."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TypeVar

from tb_npu_plugin.messages import Message, shorten_data
from tb_npu_plugin.problems import ProblemLog, problem_of
from tb_npu_plugin.refusal import raise_if_of_environment
from tb_npu_plugin.scan.events import TraceEvents

T = TypeVar("T")

#: Bytes of JSON per piece.
CHUNK = 2 << 20

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP = 31  # zlib wbits: expect a gzip header and checksum
_GZIP_READ = 256 << 10
#: A file that unpacks to more is not read further: recorded traces unpack to 13 to 30 times their size.
_MAX_RATIO = 120
_ALWAYS_ALLOWED = 1 << 24
BOMB = Message("found.gzip_bomb", times=_MAX_RATIO)
EXPORT_LATER = Message("action.export_trace_later")


class Source:
    """The decompressed bytes of one trace. Errors of the file are reported as Problems and end the data."""

    def __init__(self, path: Path, log: ProblemLog, progress: Callable[[int], None]) -> None:
        self.path = path
        self.compressed = False
        self.failed = False
        self.done = 0  # bytes read of the file
        self._log = log
        self._progress = progress

    def problem(self, code: str, where: str = "", found: str = "", times: int = 1, **words: str) -> None:
        """Report a defect of this file, or several of a kind with the place of one. words: see problem_of."""
        self._log.add(problem_of(code, self.path.name, where, times=times, found=shorten_data(found, 120), **words))

    def count(self, *, seen: int = 0, told: int = 0) -> None:
        """Count events of this file, see SeenFiles."""
        self._log.seen.add(self.path.name, "events", seen=seen, told=told)

    def progress(self, count: int) -> None:
        """`count` more bytes of the file were read."""
        self.done += count
        self._progress(count)

    def is_gzip(self) -> bool:
        """Whether the file starts like gzip; False if it cannot be read."""
        try:
            with self.path.open("rb") as file:
                return file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
        except OSError as error:
            raise_if_of_environment(error)
            return False

    def chunks(self) -> Iterator[tuple[bytes, bool]]:
        """(piece, whether it is the last); all but the last have at least CHUNK bytes. Reports progress."""
        pieces = self.guarded(self._read_pieces)
        piece = next(pieces, None)
        while piece is not None:
            following = next(pieces, None)
            yield piece, following is None
            piece = following

    def guarded(self, read: Callable[[IO[bytes], int], Iterator[T]]) -> Iterator[T]:
        """Yields from `read(file, size)` up to an error of the file, which is reported."""
        try:
            with self.path.open("rb") as file:
                before = os.fstat(file.fileno())
                self.compressed = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
                file.seek(0)
                yield from read(file, before.st_size)
            after = self.path.stat()
        except BrokenPipeError:  # of `progress`: whoever wants the events is gone
            raise
        except OSError as error:
            raise_if_of_environment(error)
            self.failed = True
            expected, lost = Message("expected.readable_file"), Message("lost.timeline_rest")
            found = error.strerror or str(error)
            self.problem("unreadable_file", found=found, expected=expected, lost=lost, action=EXPORT_LATER)
            return
        if _identity(before) != _identity(after):
            expected = Message("expected.same_size", bytes=before.st_size)
            found, lost = Message("found.bytes_after", bytes=after.st_size), Message("lost.concurrent_events")
            self.problem("file_changed", "", found, expected=expected, lost=lost, action=EXPORT_LATER, severity="error")

    def _read_pieces(self, file: IO[bytes], size: int) -> Iterator[bytes]:
        """Pieces of the first `size` bytes; a file that grows would never end."""
        if self.compressed:
            stream = self._gunzip(file, size)
        else:
            stream = iter(lambda: file.read(max(0, min(CHUNK, size - file.tell()))), b"")
        for piece in stream:
            self.progress(file.tell() - self.done)
            yield piece

    def _gunzip(self, file: IO[bytes], size: int) -> Iterator[bytes]:
        """Decompressed pieces, up to the damage of a damaged file. size: bytes of the file."""
        unpacked = 0
        member = zlib.decompressobj(_GZIP)
        data = b""
        parts: list[bytes] = []
        while True:
            data = data or file.read(_GZIP_READ)
            if not data:
                break
            try:
                parts.append(member.decompress(data, CHUNK))
            except zlib.error as error:
                self._report_damage("broken_gzip", str(error), Message("expected.sound_gzip"))
                break
            unpacked += len(parts[-1])
            if unpacked > unpacked_limit(size):
                self._report_damage("broken_gzip", BOMB, Message("expected.trace_gzip"))
                break
            data = member.unconsumed_tail
            if member.eof:
                data = member.unused_data.lstrip(b"\0")  # padding between members
                member = zlib.decompressobj(_GZIP) if data else member
            if sum(map(len, parts)) >= CHUNK:
                yield b"".join(parts)
                parts = []
        if not self.failed and not member.eof:
            self._report_damage("truncated_gzip")
        if parts:
            yield b"".join(parts)

    def _report_damage(self, code: str, found: str = "", expected: str = "") -> None:
        self.failed = True
        self.problem(code, found=found, expected=expected)


def unpacked_limit(size: int) -> int:
    """Maximum decompressed bytes of a gzip file of `size` bytes."""
    return max(_ALWAYS_ALLOWED, _MAX_RATIO * size)


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class PreviewSchedule:
    """Schedules calls of `peek` at the numbers of read bytes in `at`."""

    def __init__(self, peek: Callable[[TraceEvents], None] | None, at: Sequence[int]) -> None:
        self.peek = peek or (lambda events: None)
        self._left = sorted(at, reverse=True) if peek else []

    def due(self, position: int) -> bool:
        """Whether a call is due at this number of read bytes; one call for several passed ones."""
        before = len(self._left)
        while self._left and self._left[-1] <= position:
            self._left.pop()
        return len(self._left) < before
