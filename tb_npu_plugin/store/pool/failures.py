"""Why a stage could not be read, in words for the user. Nothing of this is kept: it is no property of the data."""

from __future__ import annotations

import errno
import logging
import shutil
from pathlib import Path

from tb_npu_plugin.problems import Problem
from tb_npu_plugin.store.pool.budget import unpacked_bytes
from tb_npu_plugin.store.pool.job import Job
from tb_npu_plugin.store.pool.process import Failed, Killed, Stopped

logger = logging.getLogger(__name__)

#: The system's errors where a disk, a quota or a limit of file sizes is reached.
DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_DISK_FULL_TEXT = "No space left on device"  # as DuckDB passes it on


def is_disk_full(error: Exception) -> bool:
    """What was built did not fit on the disk."""
    number = error.errno if isinstance(error, (OSError, Failed)) else None
    return number in DISK_FULL or _DISK_FULL_TEXT in str(error)


def failure(error: Exception, job: Job, cache: Path) -> Problem:
    """The problem of a job that failed. cache: folder of the cache."""
    if isinstance(error, Stopped):
        return error.verdict.problem(job.file, job.lost)
    if isinstance(error, Killed):
        return job.problem_of("worker_killed", str(error), "Free memory, or set TB_NPU_WORKERS=1; then reload.")
    if is_disk_full(error):
        return _disk_full(job, cache)
    if isinstance(error, Failed) and str(error).startswith("MemoryError"):
        return job.problem_of(
            "worker_killed", "not enough memory", "Free memory, or set TB_NPU_WORKERS=1; then reload."
        )
    if isinstance(error, Failed) and error.errno is None:
        return job.problem_of("reading_failed", str(error), "Report it, with the server's log.")
    found = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
    return job.problem_of("reading_failed", found, "See the server's log.")


def note(error: Exception, job: Job) -> None:
    """Write a failure to the log: with its traceback where that may help."""
    if is_disk_full(error) or isinstance(error, Killed):
        logger.error("reading %s failed: %s", job.folder, error)
    elif isinstance(error, Failed):
        logger.error("reading %s failed: %s\n%s", job.folder, error, error.trace)
    else:
        logger.error("reading %s failed", job.folder, exc_info=error)


def _disk_full(job: Job, cache: Path) -> Problem:
    needs = max(1, unpacked_bytes(job.files_to_read) >> 20)
    try:
        free = f"{shutil.disk_usage(cache).free >> 20} MB are free"
    except OSError:
        free = "the disk is full"
    return Problem(
        "disk_full", "", "", f"room for about {needs} MB in the cache {cache}", free, job.lost,
        "Free some space there, or set TB_NPU_CACHE_DIR to a folder on another disk; then read it again.",
    )  # fmt: skip
