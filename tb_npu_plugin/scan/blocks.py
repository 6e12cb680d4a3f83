"""Blocks of a plain file, read and scanned ahead by threads.

A block starts at an offset that looks like the start of an event and ends where the next block starts. The start is
proved when the scan of the previous block, itself from a proved start, ends exactly there.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Lock

from tb_npu_plugin.scan import source
from tb_npu_plugin.scan._native import Walker

#: Bytes after a multiple of CHUNK that are searched for the start of an event.
SEARCHED = 64 << 10


@dataclass
class Block:
    """Bytes [begin, end) of a file.

    Attributes:
        first: File offset of the walker's memory.
        got: Bytes to report as progress.
        final: Whether it is the last block.
        stopped: Result of `walk`, if it was scanned ahead.
    """

    file: int
    walker: Walker
    first: int
    begin: int
    end: int
    got: int
    final: bool
    stopped: tuple[int, int, int, int] | None = None

    def walk(self) -> tuple[int, int, int, int]:
        """Scan the block, unless it was scanned ahead. Returns (stop reason, offset in the file, numbers of events and commas)."""
        if self.stopped is None:
            begin, end = self.begin - self.first, self.end - self.first
            stop, position, _, _, seen, commas = self.walker.walk_block(begin, end, self.first)
            self.stopped = stop, self.first + position, seen, commas
        return self.stopped

    def read(self, start: int) -> bytes:
        """The bytes of the file from `start` to the end of the block, read again."""
        return os.pread(self.file, max(0, self.end - start), start)


class _Task:
    """The scan of one block, by the first thread that runs it."""

    def __init__(self, scan: Callable[[], Block]) -> None:
        self._scan = scan
        self._started = Lock()
        self._scanned: Future[Block] = Future()
        self.done = self._scanned.done
        self.result = self._scanned.result  #: waits for the block; raises what the scan raised

    def run(self) -> bool:
        """Scan the block, unless a thread has started to. Returns whether it did."""
        if not self._started.acquire(blocking=False):
            return False
        try:
            self._scanned.set_result(self._scan())
        except Exception as error:
            self._scanned.set_exception(error)
        return True


class Blocks:
    """The blocks of a file of `size` bytes. new_walker: creates the walker of a thread."""

    def __init__(self, file: int, size: int, new_walker: Callable[[], Walker]) -> None:
        self._file, self._size, self._new_walker = file, size, new_walker

    def one_by_one(self, walker: Walker) -> Generator[Block, None, None]:
        """Unscanned blocks in file order. Each is valid until the next one is requested. Raises OSError."""
        for first in range(0, self._size, source.CHUNK):
            yield self._load(walker, first)

    def ahead(self, threads: int) -> Generator[Block, None, None]:
        """As one_by_one, but scanned ahead by one walker each, except for the first, as its start is unknown.

        The caller is one of the threads: it scans blocks itself until the next one is ready. With a thread more than
        cores, the system would suspend one in the middle of a block for which the others then wait.
        """
        free = [self._new_walker() for _ in range(threads + 2)]
        places = iter(range(0, self._size, source.CHUNK))
        waiting: deque[_Task] = deque()
        pool = ThreadPoolExecutor(threads - 1, thread_name_prefix="npu-scan")
        try:
            while True:
                while free and (first := next(places, None)) is not None:
                    waiting.append(_Task(partial(self._scan, free.pop(), first)))
                    pool.submit(waiting[-1].run)
                if not waiting:
                    return
                following = waiting.popleft()
                while not following.done() and any(task.run() for task in (following, *waiting)):
                    pass
                block = following.result()
                yield block
                free.append(block.walker)
        finally:
            pool.shutdown(cancel_futures=True)

    def _scan(self, walker: Walker, first: int) -> Block:
        walker.clear()
        block = self._load(walker, first)
        if first:
            block.walk()
        return block

    def _load(self, walker: Walker, first: int) -> Block:
        """Read the block that starts at `first` or up to SEARCHED bytes later."""
        last = min(first + source.CHUNK, self._size)
        stop = min(last + SEARCHED, self._size)
        read = walker.read(self._file, first, stop - first)
        begin = self._block_start(walker, 0, read) if first else 0
        end = self._block_start(walker, min(last - first, read), read)
        final = last == self._size or first + read < stop  # the file may have been truncated
        if final:
            end = read
        return Block(self._file, walker, first, first + min(begin, end), first + end, min(last - first, read), final)

    @staticmethod
    def _block_start(walker: Walker, start: int, read: int) -> int:
        """Start of the block at or after `start`; `start` if none is found."""
        cut = walker.cut(start, min(start + SEARCHED, read))
        return start if cut < 0 else cut
