"""Temporary folders of this process. They are removed when it ends, or by a later process if it was killed."""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from tb_npu_plugin.store.liveness import hold, is_abandoned

_PREFIX = "tb-npu-plugin-"
#: As those of users' folders begin.
_HIDDEN = ".tb-npu-"
#: A file in each temporary folder, locked by its process.
_LOCK = "process.lock"


def temporary_root() -> Path:
    """A new folder, removed when this process ends. Raises OSError."""
    root = Path(tempfile.mkdtemp(prefix=_PREFIX))
    hold(root / _LOCK, temporary_root)
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    return root


@contextmanager
def temporary_in(parent: Path) -> Iterator[Path]:
    """A hidden folder in a folder of the user, for files that are renamed from there. Removes those of killed processes.
    Raises OSError."""
    remove_abandoned(parent, _HIDDEN)
    with tempfile.TemporaryDirectory(prefix=_HIDDEN, dir=parent) as name:
        lock = _Lock()
        hold(Path(name, _LOCK), lock)
        yield Path(name)


class _Lock:
    """Owns the lock of a folder."""


def scratch() -> Path:
    """The temporary folder for files that are removed at once. Raises OSError."""
    if not _scratch().is_dir():  # a program that tidies up removed it
        _scratch.cache_clear()
    return _scratch()


@lru_cache(maxsize=1)
def _scratch() -> Path:
    return temporary_root()


def remove_abandoned(parent: Path | None = None, prefix: str = _PREFIX) -> None:
    """Remove the temporary folders of this user whose process was killed. parent: by default, the system's folder for them."""
    with suppress(OSError):  # there may be no such folder
        for root in list((parent or Path(tempfile.gettempdir())).glob(f"{prefix}*")):
            with suppress(OSError):
                found = root.lstat()
                if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and is_abandoned(root / _LOCK):
                    shutil.rmtree(root, ignore_errors=True)
