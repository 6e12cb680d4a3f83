"""Problems of jobs that failed. They are not cached, as they say nothing about the data."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tb_npu_plugin.messages import Message
from tb_npu_plugin.printable import Lines, package_logger
from tb_npu_plugin.problems import Problem, problem_of
from tb_npu_plugin.refusal import DISK_FULL
from tb_npu_plugin.store.pool.budget import unpacked_bytes
from tb_npu_plugin.store.pool.job import Job
from tb_npu_plugin.store.pool.process import RequestFailed, WorkerKilled, WorkerStopped

logger = package_logger(__name__)

#: As DuckDB passes it on.
_DISK_FULL_TEXTS = tuple(map(os.strerror, sorted(DISK_FULL)))


def is_disk_full(error: Exception) -> bool:
    """Whether an error means that the disk is full."""
    number = error.errno if isinstance(error, (OSError, RequestFailed)) else None
    return number in DISK_FULL or any(text in str(error) for text in _DISK_FULL_TEXTS)


def problem_of_failure(error: Exception, job: Job, cache: Path) -> Problem:
    """The problem that reports why a job failed. cache: folder of the cache."""
    if isinstance(error, WorkerStopped):
        return error.reason.problem(job.file, job.lost)
    if isinstance(error, WorkerKilled):
        return job.problem_of("worker_killed", error.args[0], Message("action.free_memory"))
    if is_disk_full(error):
        return _disk_full(job, cache)
    if isinstance(error, RequestFailed) and str(error).startswith("MemoryError"):
        return job.problem_of("worker_killed", Message("found.no_memory"), Message("action.free_memory"))
    if isinstance(error, RequestFailed) and error.errno is None:
        return job.problem_of("reading_failed", str(error), Message("action.report_log"))
    found = str(error) if isinstance(error, RequestFailed) else f"{type(error).__name__}: {error}"
    return job.problem_of("reading_failed", found, Message("action.see_log"))


def log_failure(error: Exception, job: Job) -> None:
    """Log why a job failed, with a traceback unless the machine is the cause."""
    if is_disk_full(error) or isinstance(error, WorkerKilled):
        logger.error("reading %s failed: %s", job.folder, error)
    elif isinstance(error, RequestFailed):
        logger.error("reading %s failed: %s\n%s", job.folder, error, Lines(error.trace))
    else:
        logger.error("reading %s failed", job.folder, exc_info=error)


def _disk_full(job: Job, cache: Path) -> Problem:
    needs = max(1, unpacked_bytes(job.files_to_read) >> 20)
    try:
        free = Message("found.free_space", mb=shutil.disk_usage(cache).free >> 20)
    except OSError:
        free = Message("found.disk_full")
    return problem_of("disk_full", found=free, lost=job.lost, mb=needs, cache=str(cache))
