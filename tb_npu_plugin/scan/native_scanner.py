"""The trace scanner in C, with the scanner in Python as fallback.

C reads only events of the usual form. It stops before any other event, and Python reads that event or, if its end is
uncertain, the rest of the block. Thus only the Python code handles defects.
The file is read in blocks, not mapped: truncating a mapped file would end this process with SIGBUS, and a block of a
few MB is still in the CPU cache when it is scanned.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.scan import _native, source
from tb_npu_plugin.scan.blocks import Block, Blocks
from tb_npu_plugin.scan.columns import Columns, texts_of
from tb_npu_plugin.scan.events import TEXT_COLUMNS, TraceEvents
from tb_npu_plugin.scan.msgspec_events import Rows, json_text
from tb_npu_plugin.scan.msgspec_scanner import MAX_EVENT, Scanner
from tb_npu_plugin.scan.source import PreviewSchedule, Source
from tb_npu_plugin.scan.threads import thread_count

# Stop and ArgsMode of native/walker.h.
_WAIT, _ENDED, _ODD, _BROKEN, _FULL = range(5)
_IN_FILE, _GATHERED, _LEFT_OUT = range(3)
#: Maximum number of odd events per block that are read one by one; beyond, Python reads the rest of the block.
_MAX_ODD = 16
_NUMBERS = {column: number for number, column in enumerate(TEXT_COLUMNS)}
#: Lower bound for the bytes of an event of the usual form; it sets the row capacity of a walker.
_MIN_EVENT = 32


class NativeEvents(Rows):
    """Rows and texts of the scanner in C."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._seed = secrets.randbits(64)  # random, so that no file can force hash collisions
        self.walker = self.new_walker()

    def new_walker(self) -> _native.Walker:
        """A walker whose rows `add_walked` takes."""
        return _native.Walker(self._seed, max(64, source.CHUNK // _MIN_EVENT))

    def codes(self, column: str, values: Iterable[Any]) -> NDArray[np.int32]:
        number = _NUMBERS[column]
        codes = []
        for value in values:
            text = json_text(value) if isinstance(value, bytes) else value
            codes.append(-1 if text is None else self.walker.index(number, str(text).encode("utf-8", "replace")))
        return np.array(codes, dtype=np.int32)

    def add(self, batch: dict[str, NDArray[Any]]) -> None:
        self.add_walked(self.walker)
        self._columns.add(batch)

    def add_walked(self, walker: _native.Walker) -> None:
        """Append the rows that a walker holds."""
        if walker is not self.walker:
            self.add_walked(self.walker)
            self.walker.adopt(walker)
        self._columns.add_from(walker)

    def so_far(self) -> dict[str, Any]:
        self.add_walked(self.walker)
        texts = {name: texts_of(self.walker, column) for column, name in TEXT_COLUMNS.items()}
        return {**self._columns.arrays(), **texts}

    def take(self) -> dict[str, Any]:
        self.add_walked(self.walker)
        texts = {name: self._columns.texts_from(column, self.walker) for column, name in TEXT_COLUMNS.items()}
        del self.walker
        return {**self._columns.arrays(), **texts}


class NativeScanner(Scanner):
    """Scanner with the fast path in C."""

    name = "c"

    def __init__(self, source: Source, blob: IO[bytes] | None, columns: Columns, peeks: PreviewSchedule) -> None:
        self._native = NativeEvents(columns)
        super().__init__(source, blob, self._native, peeks)

    def _read_all(self) -> bytes:
        if self._source.is_gzip():
            return super()._read_all()
        buffer = b""
        at = 0  # file offset of the end of the buffer
        for block in self._source.guarded(self._blocks):
            if self._started and not buffer and block.begin == at:
                at = self._absorb(block)
            if not self._ended and (at < block.end or block.final):
                data = block.read(at)
                at += len(data)
                buffer = self._feed(buffer + data, block.final)
            self._peek_if_due()
        return buffer

    def _blocks(self, file: IO[bytes], size: int) -> Iterator[Block]:
        threads = thread_count(size)
        blocks = Blocks(file.fileno(), size, self._native.new_walker)
        done = 0
        found = blocks.ahead(threads) if threads > 1 else blocks.one_by_one(self._native.walker)
        with closing(found) as all_blocks:
            for block in all_blocks:
                self._source.progress(block.got)
                done += block.got
                yield block
                if self._ended:  # report progress for the bytes after the list
                    self._source.progress(size - done)
                if self._ended or block.final:
                    return

    def _absorb(self, block: Block) -> int:
        """Add the rows of a block whose start is proved. Returns the file offset of their end, which `_feed` examines."""
        _, self._offset, seen, commas = block.walk()
        self._seen += seen
        self._commas += commas
        self._native.add_walked(block.walker)
        return self._offset

    def _add_events(self, buffer: bytes, final: bool) -> bytes:
        position = 0
        for _ in range(_MAX_ODD):
            stop, position, end = self._scan_native(buffer, position)
            if stop != _ODD:
                break
            position += self._scan_odd_event(buffer, position, end)
        buffer = self._drop(buffer, position)
        if stop == _ENDED:
            self._ended = True
        elif stop == _WAIT:
            return self._add_damaged(buffer, final) if len(buffer) > MAX_EVENT else buffer
        else:
            buffer = super()._add_events(buffer, final)
        return buffer

    def _scan_native(self, buffer: bytes, position: int) -> tuple[int, int, int]:
        """Read in C from `position` on. Returns (stop reason, position, end of the odd event there)."""
        stop = _FULL
        while stop == _FULL:
            if not self._source.compressed:
                mode, base = _IN_FILE, self._offset
            else:
                mode, base = (_LEFT_OUT if self._blob is None else _GATHERED), self._blob_size
            stop, position, end, args, seen, commas = self._native.walker.walk(buffer, position, base, mode)
            self._seen += seen
            self._commas += commas
            if args and self._blob is not None:
                self._blob.write(args)
                self._blob_size += len(args)
            self._native.add_walked(self._native.walker)
        return stop, position, end

    def _scan_odd_event(self, buffer: bytes, start: int, end: int) -> int:
        """Read one event in Python. Returns the number of bytes read."""
        offset = self._offset
        self._offset += start
        rest = self._add_damaged(buffer[start:end], False)
        self._offset = offset
        return end - start - len(rest)


def scan_native(source: Source, blob: IO[bytes] | None, columns: Columns, peeks: PreviewSchedule) -> TraceEvents:
    """See scan.scan_trace."""
    return NativeScanner(source, blob, columns, peeks).scan()
