"""Opens files that may be anything."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO


def open_regular(path: str) -> BinaryIO:
    """Open a regular file. Raises OSError, also for a pipe or a device."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # opening a pipe does not block
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "no regular file")
    return os.fdopen(file, "rb")


def read_start(path: str, limit: int) -> bytes:
    """At most `limit` bytes from the start of a regular file. Raises OSError, also for a pipe or a device."""
    with open_regular(path) as file:
        return file.read(limit)
