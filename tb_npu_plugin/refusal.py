"""What the machine refuses: descriptors, memory, processes, disk space, permissions. It says nothing about the data that was
asked for, so nobody may take it for damage."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from typing import TypeVar

from tb_npu_plugin.errors import Refused
from tb_npu_plugin.messages import Message

#: Seconds that `persist` goes on, and waits between two tries.
PERSISTENCE = 2.0
_PAUSE = 0.05
T = TypeVar("T")
#: errno values for a full disk, an exceeded quota and an exceeded file size limit.
DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})
#: errno values that say nothing about the file of the user that is being read.
OF_ENVIRONMENT = DISK_FULL | _EXHAUSTED
_REFUSED = OF_ENVIRONMENT | {
    *(errno.EROFS, errno.EACCES, errno.EPERM),
    *(errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.EBUSY),
}
#: SQLite's words for what the machine refuses: a file that was open a moment ago cannot be opened.
_OF_SQLITE = {
    "database or disk is full": errno.ENOSPC,
    "out of memory": errno.ENOMEM,
    "unable to open database file": errno.EMFILE,
}
#: DuckDB's errors have a text only.
_TEXTS = (*map(os.strerror, sorted(_REFUSED)), "Out of Memory Error")


def refused(error: BaseException) -> str | None:
    """Why the machine refused something; None if the error has another cause."""
    if isinstance(error, MemoryError):
        return os.strerror(errno.ENOMEM)
    if isinstance(error, OSError):
        return os.strerror(error.errno) if error.errno in _REFUSED else None
    if "duckdb" not in type(error).__module__:
        return None
    return next((text for text in _TEXTS if text in str(error)), None)


def as_refused(error: BaseException) -> Refused | None:
    """The error for the user if the machine refused something; None if the error has another cause."""
    if isinstance(error, Refused):
        return error
    reason = refused(error)
    return None if reason is None else Refused(Message("error.refused", reason=reason), Message("hint.refused"))


def raise_if_refused(error: BaseException) -> None:
    """Raise Refused if the machine refused something; for handlers of errors that would take it for damage."""
    refusal = as_refused(error)
    if refusal is not None:
        raise refusal from error


def persist(action: Callable[[], T]) -> T:
    """Do something, again for PERSISTENCE seconds while the machine refuses it: others may give back what it needs."""
    deadline = time.monotonic() + PERSISTENCE
    while True:
        try:
            return action()
        except Exception as error:
            if as_refused(error) is None or time.monotonic() >= deadline:
                raise
        time.sleep(_PAUSE)


def is_exhausted(error: BaseException) -> bool:
    """Whether descriptors, memory or processes ran out, for this process or a worker that says so."""
    return isinstance(error, MemoryError) or getattr(error, "errno", None) in _EXHAUSTED


def is_of_environment(error: BaseException) -> bool:
    """Whether this process, or a worker that says so, was refused what it may be granted a moment later."""
    return isinstance(error, MemoryError) or getattr(error, "errno", None) in OF_ENVIRONMENT


def raise_if_of_environment(error: BaseException) -> None:
    """Raise an error that is no statement about the file that is being read: another attempt may succeed. For readers and
    the scan."""
    if is_of_environment(error):
        raise error
    if type(error).__module__ == "sqlite3" and str(error) in _OF_SQLITE:
        raise OSError(_OF_SQLITE[str(error)], str(error)) from error


def raise_if_exhausted(error: BaseException) -> None:
    """Raise Refused if descriptors, memory or processes ran out; for handlers that report why a file of the user cannot be read."""
    if is_exhausted(error):
        raise_if_refused(error)
