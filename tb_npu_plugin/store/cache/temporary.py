"""Temporary caches. One is removed when its process ends, or by a later process if that one was killed."""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_PREFIX = "tb-npu-plugin-"
#: A file in each temporary cache. Its process keeps it locked; the system unlocks it when the process ends.
_LOCK = "process.lock"


def temporary_root() -> Path:
    """A new cache folder, removed when this process ends. Raises OSError."""
    root = Path(tempfile.mkdtemp(prefix=_PREFIX))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    file = os.open(root / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)  # open until the process ends
    _lock(file)
    return root


def remove_abandoned(least_age: float) -> None:
    """Remove the temporary caches of this user whose process was killed. least_age: seconds since their creation."""
    with suppress(OSError):  # there may be no temporary folder
        for root in list(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*")):
            _remove_if_abandoned(root, least_age)


def _remove_if_abandoned(root: Path, least_age: float) -> None:
    with suppress(OSError):
        found = root.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or time.time() - found.st_mtime < least_age:
            return
        file = os.open(root / _LOCK, os.O_RDWR)  # FileNotFoundError: not a temporary cache
        try:
            if _lock(file):
                shutil.rmtree(root, ignore_errors=True)
        finally:
            os.close(file)


def _lock(file: int) -> bool:
    """Lock an open file. False if another process has locked it, or if the system cannot lock files."""
    try:
        import fcntl  # does not exist on every system

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True
