"""The user's cache directory, and a check of who can write to it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

#: User ids: root, and the overflow id that a container shows for unmapped owners, root among them.
_ROOT, _UNKNOWN = 0, 65534


def cache_root() -> Path:
    """Absolute path of TB_NPU_CACHE_DIR, else of tb-npu-plugin in the user's cache directory (workers run in another
    folder). Raises RuntimeError for a user without a home."""
    own = os.environ.get("TB_NPU_CACHE_DIR")
    root = Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "tb-npu-plugin"
    return root.expanduser().absolute()


def open_to_others(path: Path) -> Path | None:
    """The path itself or a folder above it, if another user could modify the file or folder through it; else None. The
    path must not contain symbolic links. Root is trusted, and so is a folder with the sticky bit (/tmp). Raises
    OSError."""
    for part in (path, *path.parents):
        found = part.lstat()
        mode = 0 if stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX else found.st_mode
        shared = mode & stat.S_IWOTH or (mode & stat.S_IWGRP and not _is_private(found.st_gid))
        owners = (_ROOT, os.geteuid()) if part in (path, path.parent) else (_ROOT, os.geteuid(), _UNKNOWN)
        if shared or found.st_uid not in owners:
            return part
    return None


def _is_private(group: int) -> bool:
    """Whether this is the user's private group, which Linux creates with each user; files are group-writable by default
    there."""
    import grp  # does not exist on every system
    import pwd

    try:
        user, found = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == user and set(found.gr_mem) <= {user}
