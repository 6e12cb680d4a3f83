"""Which processes still run, seen by the files that they keep locked: the system unlocks them however a process ends."""

from __future__ import annotations

import os
import platform
import time
import weakref
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

#: What a process left that may still run, or not, is removed after this, in seconds.
ABANDONED_AFTER = 24 * 3600.0


def hold(path: Path, owner: object) -> None:
    """Create a file that this process keeps locked until `owner` is collected or the process ends. Raises OSError."""
    new = path.with_name(f".{path.name}")  # others must not see it before it is locked
    file = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(file, _machine())
    with suppress(ImportError, OSError):  # not every system and file system can lock files
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    new.rename(path)
    weakref.finalize(owner, _release, path, file, os.getpid())


def is_abandoned(path: Path) -> bool:
    """Whether the process that held a file has ended. Where that cannot be known, since the process runs on another machine or
    the file system does not lock files: whether the file is older than ABANDONED_AFTER. False without a file."""
    try:
        file = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        import fcntl

        if os.pread(file, 1 << 10, 0) == _machine():
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        pass
    finally:
        os.close(file)
    return is_old(path)


def is_old(path: Path) -> bool:
    """Whether a file or folder has not changed for ABANDONED_AFTER."""
    with suppress(OSError):
        return time.time() - path.lstat().st_mtime > ABANDONED_AFTER
    return False


def _release(path: Path, file: int, process: int) -> None:
    if os.getpid() == process:  # not in a fork
        with suppress(OSError):
            path.unlink()
    os.close(file)


@lru_cache(maxsize=1)
def _machine() -> bytes:
    """What tells this machine from others that share the file system, whose locks it may not see."""
    for path in ("/etc/machine-id", "/proc/sys/kernel/random/boot_id"):
        with suppress(OSError):
            found = Path(path).read_bytes().strip()
            if found:
                return found + b" " + os.fsencode(platform.node())
    return os.fsencode(platform.node())
