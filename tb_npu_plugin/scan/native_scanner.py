"""The trace scanner in C: events of the usual form go straight to columns, the rest through the scanner in Python.

C reads only what it fully understands. At anything else it stops before that event, and Python reads this event, or,
where not even the event's end is certain, the rest of the block. So what a defect means stands in one place.
The file is read block by block into memory of C, not mapped: a mapped file that another process shortens would end
this one with SIGBUS, and a block of a few megabytes is still in the processor's cache when it is scanned.
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
from tb_npu_plugin.scan.columns import Columns
from tb_npu_plugin.scan.events import TEXT_COLUMNS, TraceEvents
from tb_npu_plugin.scan.msgspec_events import json_text
from tb_npu_plugin.scan.msgspec_scanner import MAX_EVENT, Scanner
from tb_npu_plugin.scan.source import PreviewSchedule, Source
from tb_npu_plugin.scan.threads import thread_count
from tb_npu_plugin.texts import TextList

# Stop and ArgsMode of native/walker.h.
_WAIT, _ENDED, _ODD, _BROKEN, _FULL = range(5)
_IN_FILE, _GATHERED, _LEFT_OUT = range(3)
#: So many odd events of one block are read one by one; more go through Python together.
_MAX_ODD = 16
_NUMBERS = {column: number for number, column in enumerate(TEXT_COLUMNS)}
#: An event of the usual form is longer; a walker stops when it has kept one for each of so many bytes of a block.
_LEAST_EVENT = 32


class NativeRows:
    """Rows that C reads, and their texts."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._seed = secrets.randbits(64)  # of the tables of texts: no file can be made to collide
        self.walker = self.new_walker()

    def new_walker(self) -> _native.Walker:
        """A walker whose rows `add_walked` takes."""
        return _native.Walker(self._seed, max(64, source.CHUNK // _LEAST_EVENT))

    def codes(self, column: str, values: Iterable[Any]) -> NDArray[np.int32]:
        """See msgspec_events.Rows."""
        number = _NUMBERS[column]
        codes = []
        for value in values:
            text = json_text(value) if isinstance(value, bytes) else value
            codes.append(-1 if text is None else self.walker.index(number, str(text).encode("utf-8", "replace")))
        return np.array(codes, dtype=np.int32)

    def add(self, batch: dict[str, NDArray[Any]]) -> None:
        """See msgspec_events.Rows."""
        self.add_walked(self.walker)
        self._columns.add(batch)

    def add_walked(self, walker: _native.Walker) -> None:
        """Append the rows that a walker holds."""
        if walker is not self.walker:
            self.add_walked(self.walker)
            self.walker.adopt(walker)
        self._columns.add_from(walker)

    def so_far(self) -> dict[str, Any]:
        """See msgspec_events.Rows."""
        self.add_walked(self.walker)
        return {**self._columns.arrays(), **{TEXT_COLUMNS[column]: self._texts(column) for column in _NUMBERS}}

    def take(self) -> dict[str, Any]:
        """See msgspec_events.Rows."""
        self.add_walked(self.walker)
        out: dict[str, Any] = {
            name: self._columns.texts(name, self._texts(column)) for column, name in TEXT_COLUMNS.items()
        }
        del self.walker
        return {**out, **self._columns.arrays()}

    def _texts(self, column: str) -> TextList:
        blob, ends = self.walker.texts(_NUMBERS[column])
        return TextList(blob, np.frombuffer(ends, dtype=np.int64))


class NativeScanner(Scanner):
    """Scanner whose usual way is in C."""

    name = "c"

    def __init__(self, source: Source, blob: IO[bytes] | None, columns: Columns, peeks: PreviewSchedule) -> None:
        self._native = NativeRows(columns)
        super().__init__(source, blob, self._native, peeks)

    def _read_all(self) -> bytes:
        if self._source.is_gzip():
            return super()._read_all()
        buffer = b""
        at = 0  # the buffer's end, in the file
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
                if self._ended:  # what follows the list still counts as read
                    self._source.progress(size - done)
                if self._ended or block.final:
                    return

    def _absorb(self, block: Block) -> int:
        """Add the rows of a block whose beginning was proved; where in the file they end."""
        stop, self._offset = block.walk()
        self._ended = stop == _ENDED
        self._native.add_walked(block.walker)
        return self._offset

    def _take(self, buffer: bytes, final: bool) -> bytes:
        position = 0
        for _ in range(_MAX_ODD):
            stop, position, end = self._walk(buffer, position)
            if stop != _ODD:
                break
            position += self._odd(buffer, position, end)
        buffer = self._drop(buffer, position)
        if stop == _ENDED:
            self._ended = True
        elif stop == _WAIT:
            return self._slow(buffer, final) if len(buffer) > MAX_EVENT else buffer
        else:
            buffer = super()._take(buffer, final)
        return buffer

    def _walk(self, buffer: bytes, position: int) -> tuple[int, int, int]:
        """Let C read from `position` on: why it stopped, where, and the end of the odd event there."""
        stop = _FULL
        while stop == _FULL:
            if not self._source.compressed:
                mode, base = _IN_FILE, self._offset
            else:
                mode, base = (_LEFT_OUT if self._blob is None else _GATHERED), self._blob_size
            stop, position, end, args = self._native.walker.walk(buffer, position, base, mode)
            if args and self._blob is not None:
                self._blob.write(args)
                self._blob_size += len(args)
            self._native.add_walked(self._native.walker)
        return stop, position, end

    def _odd(self, buffer: bytes, start: int, end: int) -> int:
        """Read one event in Python; how many bytes are done with."""
        offset = self._offset
        self._offset += start
        rest = self._slow(buffer[start:end], False)
        self._offset = offset
        return end - start - len(rest)


def scan_native(source: Source, blob: IO[bytes] | None, columns: Columns, peeks: PreviewSchedule) -> TraceEvents:
    """See scan.scan_trace."""
    return NativeScanner(source, blob, columns, peeks).scan()
