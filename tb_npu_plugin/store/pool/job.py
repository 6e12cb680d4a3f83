"""A job: reading one stage of one span."""

from __future__ import annotations

import math
import os
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.messages import Message, shorten_data
from tb_npu_plugin.printable import Lines, package_logger
from tb_npu_plugin.problems import Problem, problem_of
from tb_npu_plugin.refusal import DISK_FULL
from tb_npu_plugin.schema.core import Stage
from tb_npu_plugin.schema.formats import TORCH_NPU
from tb_npu_plugin.store.pool.limits import unpacked_bytes
from tb_npu_plugin.store.pool.process import RequestFailed, WorkerKilled, WorkerStopped
from tb_npu_plugin.store.stages import STAGES, JobState

# Problems of jobs that failed. They are not cached, as they say nothing about the data.

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


#: No rate is reported before this, in seconds: it would be noise.
RATE_AFTER = 0.5
#: Maximum number of files that a job skips.
MAX_SKIPPED = 3


@dataclass(frozen=True)
class Preview:
    """A complete timeline of the first `bytes` of a trace, shown while the rest is read. Its folder has a unique name
    and is removed when a longer preview replaces it; open files stay readable."""

    folder: Path
    bytes: int


@dataclass(eq=False)
class Job:
    """One stage of one span to read. One pool thread writes it, all threads read it."""

    key: str
    span: str
    stage: Stage
    folder: Path
    files: tuple[FoundFile, ...]
    urgent: bool = False
    state: JobState = "waiting"
    file: str = ""
    bytes_done: int = 0
    message: str = ""
    started: float = 0.0
    problems: list[Problem] = field(default_factory=list)
    preview: Preview | None = None
    format: str = TORCH_NPU.id
    part: str = ""
    rebuild: bool = False
    worker: str = ""
    #: Problems of skipped files, by file.
    skipped: dict[str, Problem] = field(default_factory=dict)
    #: Time (time.monotonic) after which a failed job is repeated without a request of the user.
    retry_at: float = math.inf

    @property
    def files_to_read(self) -> tuple[FoundFile, ...]:
        """The files that are not skipped."""
        return tuple(file for file in self.files if file.relative not in self.skipped)

    def can_skip(self, file: str) -> bool:
        """Whether a file may be skipped: the job has others, and fewer than MAX_SKIPPED are skipped."""
        others = [one.relative for one in self.files_to_read if one.relative != file]
        return self.stage == "tables" and 0 < len(others) < len(self.files_to_read) and len(self.skipped) < MAX_SKIPPED

    @property
    def lost(self) -> str:
        """What is lost if the job fails."""
        return Message("lost.trace") if self.stage == "trace" else Message("lost.all_but_trace")

    def problem_of(self, code: str, found: str, action: str) -> Problem:
        """The problem that reports why the job failed."""
        return Problem(code, "", "", Message("expected.complete_reading"), shorten_data(found, 300), self.lost, action)

    @property
    def bytes_total(self) -> int:
        """Bytes of the files to read."""
        return sum(file.size for file in self.files)

    @property
    def rate(self) -> float | None:
        """Mean bytes per second; None until RATE_AFTER."""
        spent = time.monotonic() - self.started
        return self.bytes_done / spent if self.state == "reading" and spent > RATE_AFTER and self.bytes_done else None

    @property
    def eta(self) -> float | None:
        """Seconds left at the mean rate."""
        rate = self.rate
        return None if rate is None else max(0.0, (self.bytes_total - self.bytes_done) / rate)

    def order(self) -> tuple[bool, int, int]:
        """Sort key: urgent jobs first, tables before traces, small before large."""
        return (not self.urgent, STAGES.index(self.stage), self.bytes_total)

    def begin(self) -> None:
        """Mark the job as reading from the start."""
        self.state, self.started = "reading", time.monotonic()
        self.file, self.bytes_done = "", 0
