"""Processes that write beside this one, and what becomes of them when it is stopped."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

#: Signals that a terminal sends to all processes: the first one of them sees to the others.
_FROM_TERMINAL = tuple(getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name))


@contextmanager
def writing_processes(
    count: int, begin: Callable[..., None] | None = None, arguments: tuple[Any, ...] = ()
) -> Iterator[ProcessPoolExecutor]:
    """A pool whose processes first call begin(*arguments). Where the block raises they are ended in the middle of what
    they do: what they have not finished is for the caller to remove."""
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(count, initializer=_begin, initargs=(begin, arguments)) as pool:
        try:
            yield pool
        except BaseException:
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            pool.shutdown(cancel_futures=True)
            raise


def _begin(begin: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    for number in _FROM_TERMINAL:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a forked process has inherited the handler of the first one
    if begin is not None:
        begin(*arguments)
