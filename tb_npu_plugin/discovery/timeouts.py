"""Lists folders and asks for sizes with a timeout, so that a stalled disk or mount does not stop a scan. Contents are read
by another process: see looks.py."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Optional, TypeVar

T = TypeVar("T")

#: Timeout of one file, or of one folder with its entries, in seconds.
FILE_LIMIT = 5.0
FOLDER_LIMIT = 30.0


class Stalled(TimeoutError):
    """The file system did not respond in time. An OSError, like other file errors."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the file system does not answer within {seconds:g} s")


class _Task:
    """A call run by a helper thread, and its result."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.done = threading.Event()
        self.value: Any = None
        self.error: Optional[BaseException] = None


_lock = threading.Lock()
#: Queues of idle helper threads.
_idle: list[SimpleQueue[_Task]] = []
#: Timed-out calls by path; a path is not tried again before its call has returned.
_stuck: dict[str, _Task] = {}


def run_with_timeout(seconds: float, path: str, work: Callable[[], T]) -> T:
    """Run `work` in a helper thread and return its result or raise its exception. path: the path that it accesses.

    Raises Stalled on timeout, or if an earlier call for the same path has not returned; OSError if no thread can be started.
    """
    with _lock:
        if path in _stuck:
            raise Stalled(seconds)
        queue = _idle.pop() if _idle else None
    if queue is None:
        queue = SimpleQueue()
        try:
            threading.Thread(target=_help, args=(queue,), name="npu-scan-file", daemon=True).start()
        except RuntimeError as error:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error
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
        except BaseException as error:  # re-raised in the waiting thread
            task.error = error
        with _lock:
            task.done.set()
            for path in [path for path, stuck in _stuck.items() if stuck is task]:
                del _stuck[path]
            _idle.append(queue)
        del task
