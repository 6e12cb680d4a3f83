"""A bounded pool of worker processes and what waits for them."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.problems import Problem
from tb_npu_plugin.store.cache import Cache
from tb_npu_plugin.store.process import Failed, Killed, WorkerProcess
from tb_npu_plugin.store.stages import STAGES, Request, Stage, is_settled

logger = logging.getLogger(__name__)

#: A worker process without work is ended after this, in seconds.
IDLE = 20.0
#: How often a stage is tried when its worker is killed.
TRIES = 2
#: Before this no rate is told: it would be noise. In seconds.
RATE_AFTER = 0.5

JobState = Literal["waiting", "reading", "ready", "failed"]


class Process(Protocol):
    """What the pool needs of a worker process."""

    def run(self, request: Request, say: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Do one request. Raises Failed, Killed."""

    def kill(self) -> None:
        """End it now."""

    def close(self) -> None:
        """End it when it is done."""


@dataclass
class Job:
    """One stage of one span to read. Written by one thread of the pool, read by all."""

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

    @property
    def bytes_total(self) -> int:
        """Bytes of the files to read."""
        return sum(file.size for file in self.files)

    @property
    def rate(self) -> float | None:
        """Bytes per second so far."""
        spent = time.monotonic() - self.started
        return self.bytes_done / spent if self.state == "reading" and spent > RATE_AFTER and self.bytes_done else None

    @property
    def eta(self) -> float | None:
        """Seconds to the end at this rate."""
        rate = self.rate
        return None if rate is None else max(0.0, (self.bytes_total - self.bytes_done) / rate)

    def order(self) -> tuple[bool, int]:
        """What somebody looks at goes first, and tables before traces."""
        return (not self.urgent, STAGES.index(self.stage))


class Pool:
    """Runs jobs in at most `size` worker processes. Thread-safe. `done` is called after each job, in its thread."""

    def __init__(
        self,
        cache: Cache,
        size: int,
        done: Callable[[Job], None] = lambda job: None,
        process: Callable[[], Process] = WorkerProcess,
    ) -> None:
        self._cache = cache
        self._size = max(1, size)
        self._done = done
        self._new_process = process
        self._changed = threading.Condition()
        self._queue: list[tuple[tuple[bool, int], int, Job]] = []
        self._jobs: dict[str, Job] = {}
        self._sequence = itertools.count()
        self._threads = 0
        self._idle = 0
        self._processes: set[Process] = set()
        self._closed = False

    def job(self, key: str) -> Job | None:
        """The job of this cache key that waits, runs or failed."""
        return self._jobs.get(key)

    def jobs(self) -> list[Job]:
        """All of them, in the order of submission."""
        with self._changed:
            return list(self._jobs.values())

    def submit(self, job: Job) -> Job:
        """Queue a job; one with the same key that is there already is returned instead, made urgent if this one is.
        A failed one is not tried again: its key changes with its files."""
        with self._changed:
            present = self._jobs.get(job.key)
            if present is not None:
                if job.urgent and present.state == "waiting" and not present.urgent:
                    present.urgent = True
                    self._push(present)  # its older place in the queue is passed over when it comes up
                return present
            if self._closed:
                return job
            self._jobs[job.key] = job
            self._push(job)
            # An idle thread counts as such until it wakes, so one of them may be called for several jobs.
            if len(self._queue) > self._idle and self._threads < self._size:
                self._threads += 1
                threading.Thread(target=self._serve, name="npu-pool", daemon=True).start()
            return job

    def close(self) -> None:
        """Drop what waits and end all worker processes now."""
        with self._changed:
            self._closed = True
            self._queue.clear()
            processes = list(self._processes)
            self._changed.notify_all()
        for process in processes:
            process.kill()

    def _push(self, job: Job) -> None:
        heapq.heappush(self._queue, (job.order(), next(self._sequence), job))
        self._changed.notify()

    def _next(self) -> Job | None:
        """The next job, waiting for one a while; None when the thread may end."""
        with self._changed:
            limit = time.monotonic() + IDLE
            while not self._closed:
                while self._queue:
                    _, _, job = heapq.heappop(self._queue)
                    if job.state == "waiting":
                        job.state = "reading"
                        job.started = time.monotonic()
                        return job
                left = limit - time.monotonic()
                if left <= 0:
                    break
                self._idle += 1
                self._changed.wait(left)
                self._idle -= 1
            self._threads -= 1
            return None

    def _serve(self) -> None:
        """Body of a thread: one worker process, kept from job to job."""
        process: Process | None = None
        while True:
            job = self._next()
            if job is None:
                break
            for attempt in range(1, TRIES + 1):
                try:
                    process = process or self._start()
                    self._read(process, job)
                except Killed as error:
                    self._forget(process)
                    process = None
                    if attempt < TRIES and not self._closed:
                        logger.warning("%s: %s; trying once more", job.folder, error)
                        job.bytes_done = 0
                        continue
                    self._fail(job, "worker_killed", str(error), "Free memory, or set TB_NPU_WORKERS=1; then reload.")
                except Failed as error:
                    logger.error("reading %s failed: %s\n%s", job.folder, error, error.trace)
                    self._fail(job, "reading_failed", str(error), "Report it, with the server's log.")
                except Exception as error:  # e.g. a full disk; the thread must go on with the next job
                    logger.exception("reading %s failed", job.folder)
                    self._forget(process)
                    process = None
                    self._fail(job, "reading_failed", f"{type(error).__name__}: {error}", "See the server's log.")
                break
            self._finish(job)
        self._forget(process)

    def _start(self) -> Process:
        process = self._new_process()
        with self._changed:
            self._processes.add(process)
        return process

    def _forget(self, process: Process | None) -> None:
        if process is not None:
            with self._changed:
                self._processes.discard(process)
            process.close()

    def _read(self, process: Process, job: Job) -> None:
        def say(message: dict[str, Any]) -> None:
            job.file = message["file"]
            job.bytes_done = min(int(message["bytes"]), job.bytes_total)

        out = self._cache.new_folder()
        settled = is_settled(job.files)
        try:
            meta = process.run(Request(job.stage, job.folder, job.files, out), say)
            self._cache.commit(job.key, out, {**meta, "settled": settled})
        finally:
            self._cache.discard(out)
        job.bytes_done = job.bytes_total
        job.state = "ready"

    def _fail(self, job: Job, code: str, found: str, action: str) -> None:
        job.message = found
        lost = "The trace." if job.stage == "trace" else "Everything but the trace."
        job.problems = [Problem(code, "", "", "a complete reading", found[:300], lost, action)]
        job.state = "failed"

    def _finish(self, job: Job) -> None:
        if job.state == "ready":
            with self._changed:
                self._jobs.pop(job.key, None)
        self._done(job)
