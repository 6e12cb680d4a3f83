"""Looks at files and folders for a limited time: a disk or a mount that does not answer must not stop a scan."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO, Optional, TypeVar

T = TypeVar("T")

#: A file, or a folder with all that is looked at in it, may take this long, in seconds.
FILE_LIMIT = 5.0
FOLDER_LIMIT = 30.0


class Stalled(TimeoutError):
    """The file system does not answer. An OSError, as the other things that may be wrong with a file."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the file system does not answer within {seconds:g} s")


class _Task:
    """What a helper does, and what came of it."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.done = threading.Event()
        self.value: Any = None
        self.error: Optional[BaseException] = None


_lock = threading.Lock()
#: Helpers without work, by the queue that they wait at.
_idle: list[SimpleQueue[_Task]] = []
#: What helpers still wait for, though nobody waits for them: it is not tried once more before they come back.
_stuck: dict[str, _Task] = {}


def within(seconds: float, path: str, work: Callable[[], T]) -> T:
    """What `work` gives or raises, done in a thread of its own; Stalled when that takes longer, or when an earlier look
    at the same path has not come back. path: what it looks at."""
    with _lock:
        if path in _stuck:
            raise Stalled(seconds)
        queue = _idle.pop() if _idle else None
    if queue is None:
        queue = SimpleQueue()
        threading.Thread(target=_help, args=(queue,), name="npu-scan-file", daemon=True).start()
    task = _Task(work)
    queue.put(task)
    if not task.done.wait(seconds):
        with _lock:
            if not task.done.is_set():
                _stuck[path] = task
                raise Stalled(seconds)
    if task.error is not None:
        raise task.error
    return task.value  # type: ignore[no-any-return]


def _help(queue: SimpleQueue[_Task]) -> None:
    while True:
        task = queue.get()
        try:
            task.value = task.work()
        except BaseException as error:  # it is raised where somebody waits for it
            task.error = error
        with _lock:
            task.done.set()
            for path in [path for path, stuck in _stuck.items() if stuck is task]:
                del _stuck[path]
            _idle.append(queue)
        del task


def read_file(path: str, limit: int) -> bytes:
    """At most `limit` bytes from the beginning of a regular file. Raises OSError, also for a pipe or a device."""

    def read() -> bytes:
        with open_regular(path) as file:
            return file.read(limit)

    return within(FILE_LIMIT, path, read)


def open_regular(path: str) -> BinaryIO:
    """A regular file, opened. Raises OSError, also for a pipe or a device."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe does not wait for its writer
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(f"{Path(path).name} is no regular file")
    return os.fdopen(file, "rb")
