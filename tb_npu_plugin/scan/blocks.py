"""Blocks of a plain file, read and scanned ahead by threads.

A block begins at a place that looks like the beginning of an event, and ends where the next one begins. Whether that
place is one is not known before the block in front of it was scanned from a right place up to exactly there.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from tb_npu_plugin.scan import source
from tb_npu_plugin.scan._native import Walker

#: So many bytes behind the even places are searched for a beginning.
SEARCHED = 64 << 10


@dataclass
class Block:
    """Part [begin, end) of a file, in a walker's memory from `first` on. final: nothing follows it. got: bytes that
    it stands for in the progress."""

    file: int
    walker: Walker
    first: int
    begin: int
    end: int
    got: int
    final: bool
    stopped: tuple[int, int] | None = None

    def walk(self) -> tuple[int, int]:
        """Scan it, unless that was done ahead: why that stopped (native_scanner), and where in the file."""
        if self.stopped is None:
            stop, position, _, _ = self.walker.walk_block(self.begin - self.first, self.end - self.first, self.first)
            self.stopped = stop, self.first + position
        return self.stopped

    def read(self, start: int) -> bytes:
        """The file from `start` to the end of the block, read once more."""
        return os.pread(self.file, max(0, self.end - start), start)


class Blocks:
    """The blocks of a file of `size` bytes. new_walker: for one more thread."""

    def __init__(self, file: int, size: int, new_walker: Callable[[], Walker]) -> None:
        self._file, self._size, self._new_walker = file, size, new_walker

    def one_by_one(self, walker: Walker) -> Generator[Block, None, None]:
        """Blocks in file order, not scanned yet. Each is valid until the next is asked for. Raises OSError."""
        for first in range(0, self._size, source.CHUNK):
            yield self._load(walker, first)

    def ahead(self, threads: int) -> Generator[Block, None, None]:
        """As one_by_one; all but the first, which has no known beginning, are scanned, each by a walker for itself."""
        free = [self._new_walker() for _ in range(threads + 1)]
        places = iter(range(0, self._size, source.CHUNK))
        waiting: deque[Future[Block]] = deque()
        with ThreadPoolExecutor(threads, thread_name_prefix="npu-scan") as pool:
            try:
                while True:
                    while free and (first := next(places, None)) is not None:
                        waiting.append(pool.submit(self._scan, free.pop(), first))
                    if not waiting:
                        return
                    block = waiting.popleft().result()
                    yield block
                    free.append(block.walker)
            finally:
                for future in waiting:
                    future.cancel()

    def _scan(self, walker: Walker, first: int) -> Block:
        walker.clear()
        block = self._load(walker, first)
        if first:
            block.walk()
        return block

    def _load(self, walker: Walker, first: int) -> Block:
        """Read the block that begins at `first` or soon behind."""
        last = min(first + source.CHUNK, self._size)
        stop = min(last + SEARCHED, self._size)
        read = walker.read(self._file, first, stop - first)
        begin = self._cut(walker, 0, read) if first else 0
        end = self._cut(walker, min(last - first, read), read)
        final = last == self._size or first + read < stop  # the file may have become shorter
        if final:
            end = read
        return Block(self._file, walker, first, first + min(begin, end), first + end, min(last - first, read), final)

    @staticmethod
    def _cut(walker: Walker, start: int, read: int) -> int:
        """Where a block from `start` on begins; `start` itself where no beginning is found."""
        cut = walker.cut(start, min(start + SEARCHED, read))
        return start if cut < 0 else cut
