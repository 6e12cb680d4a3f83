"""The user's cache directory, and who can write there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

#: Root, and what stands for it (and for others) where a container does not know the owner.
_ROOT, _UNKNOWN = 0, 65534


def cache_root() -> Path:
    """TB_NPU_CACHE_DIR, else tb-npu-plugin in the user's cache directory; absolute, as workers run in a folder of
    their own. Raises RuntimeError for a user without a home."""
    own = os.environ.get("TB_NPU_CACHE_DIR")
    root = Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "tb-npu-plugin"
    return root.expanduser().absolute()


def open_to_others(path: Path) -> Path | None:
    """What lets another user change the file or folder at a path without symbolic links: itself, or a folder above it.
    None: nothing; root may, and where the sticky bit is set (/tmp) others can touch nothing of ours. Raises OSError.
    """
    for part in (path, *path.parents):
        found = part.lstat()
        mode = 0 if stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX else found.st_mode
        shared = mode & stat.S_IWOTH or (mode & stat.S_IWGRP and not _is_private(found.st_gid))
        owners = (_ROOT, os.geteuid()) if part in (path, path.parent) else (_ROOT, os.geteuid(), _UNKNOWN)
        if shared or found.st_uid not in owners:
            return part
    return None


def _is_private(group: int) -> bool:
    """The group of this user alone that Linux makes with each user: what they make can be written by it, as a rule."""
    import grp  # not on every system
    import pwd

    try:
        user, found = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == user and set(found.gr_mem) <= {user}
