"""Why a stage could not be read, in words for the user. Nothing of this is kept: it is no property of the data."""

from __future__ import annotations

import errno
import logging
import shutil
from pathlib import Path

from tb_npu_plugin.messages import Message
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
        return job.problem_of("worker_killed", error.args[0], Message("action.free_memory"))
    if is_disk_full(error):
        return _disk_full(job, cache)
    if isinstance(error, Failed) and str(error).startswith("MemoryError"):
        return job.problem_of("worker_killed", Message("found.no_memory"), Message("action.free_memory"))
    if isinstance(error, Failed) and error.errno is None:
        return job.problem_of("reading_failed", str(error), Message("action.report_log"))
    found = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
    return job.problem_of("reading_failed", found, Message("action.see_log"))


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
        free = Message("found.free_space", mb=shutil.disk_usage(cache).free >> 20)
    except OSError:
        free = Message("found.disk_full")
    return Problem(
        "disk_full",
        "",
        "",
        Message("expected.cache_space", mb=needs, cache=str(cache)),
        free,
        job.lost,
        Message("action.free_space"),
    )
