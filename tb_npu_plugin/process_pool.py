"""A pool of processes that end with the first one, which made it, however that ends."""

from __future__ import annotations

import _thread
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from types import FrameType
from typing import Any

#: Signals that a terminal sends to all processes: the first one of them sees to the others.
_FROM_TERMINAL = tuple(getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name))
#: s that a process has to remove what it has not finished when the first one is gone.
_LAST = 60


@contextmanager
def process_pool(count: int, begin: Callable[..., None], *arguments: Any) -> Iterator[Callable[..., Future[Any]]]:
    """So many processes, each of which begins with begin(*arguments). Yields what lets one of them call a function.

    They do not see what a terminal sends. Where the block fails, all are ended in the middle of what they do; where the first
    process is killed, what they do is interrupted by SystemExit, and they end.
    """
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(count, initializer=_begin, initargs=(begin, *arguments)) as pool:
        try:
            yield lambda work, *arguments: pool.submit(_call, work, *arguments)
        except BaseException:
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            pool.shutdown(cancel_futures=True)
            raise


def _begin(begin: Callable[..., None], *arguments: Any) -> None:
    for number in _FROM_TERMINAL:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a forked process has inherited the handler of the first one
    signal.signal(signal.SIGINT, _interrupt)
    threading.Thread(target=_watch, daemon=True).start()
    begin(*arguments)


def _call(work: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return work(*arguments)
    finally:
        if _is_orphan():  # the pool would wait for more work for ever
            os._exit(1)


def _is_orphan() -> bool:
    first = multiprocessing.parent_process()
    return first is not None and not first.is_alive()


def _interrupt(number: int, frame: FrameType | None) -> None:
    """SIGINT of a terminal, which is not for this process, or of _watch."""
    if _is_orphan():
        raise SystemExit(1)


def _watch() -> None:
    """Wait until the first process is gone, killed so that it could not end this one."""
    first = multiprocessing.parent_process()
    assert first is not None
    first.join()
    main = threading.main_thread()
    if hasattr(signal, "pthread_kill") and main.ident is not None:
        signal.pthread_kill(main.ident, signal.SIGINT)  # also where it waits for something to do
    else:
        _thread.interrupt_main()
    main.join(_LAST)
    os._exit(1)
