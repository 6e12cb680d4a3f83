"""A bounded pool of worker processes and what waits for them."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tb_npu_plugin.discovery.report import printable
from tb_npu_plugin.messages import Message
from tb_npu_plugin.store.cache.disk import RETRY_AFTER, Cache
from tb_npu_plugin.store.pool.budget import memory_budget, needed, unpacked_bytes
from tb_npu_plugin.store.pool.failures import failure, is_disk_full, note
from tb_npu_plugin.store.pool.job import Job, Preview
from tb_npu_plugin.store.pool.process import Failed, Killed, Process, Stopped, WorkerProcess
from tb_npu_plugin.store.pool.watchdog import Verdict
from tb_npu_plugin.store.stages import Request, is_settled

logger = logging.getLogger(__name__)

#: A worker process without work is ended after this, in seconds.
IDLE = 20.0
#: How often a stage is tried when its worker is killed.
TRIES = 2
#: How long the end of the pool waits for its threads to clear up, in seconds.
CLEARING = 5.0


class Pool:
    """Runs jobs in at most `size` worker processes, as many at a time as fit into the memory. Thread-safe.

    done      called after each job, in its thread
    process   makes a worker process
    budget    bytes of memory for all of them; asked when the first of some jobs begins. One job always runs
    """

    def __init__(
        self,
        cache: Cache,
        size: int,
        done: Callable[[Job], None] = lambda job: None,
        process: Callable[[], Process] = WorkerProcess,
        budget: Callable[[], int] = memory_budget,
    ) -> None:
        self._cache = cache
        self._size = max(1, size)
        self._done = done
        self._new_process = process
        self._ask_budget = budget
        self._budget = 0
        self._changed = threading.Condition()
        self._queue: list[tuple[tuple[bool, int, int], int, Job]] = []
        self._jobs: dict[str, Job] = {}
        #: What is read now, with the process that reads it once there is one.
        self._running: dict[Job, Process | None] = {}
        self._sequence = itertools.count()
        self._threads: set[threading.Thread] = set()
        self._idle = 0
        self._processes: set[Process] = set()
        self._closed = False

    def job(self, key: str) -> Job | None:
        """The job of this cache key that waits, runs or failed; one that failed goes when it may be tried again."""
        job = self._jobs.get(key)
        if job is not None and job.state == "failed" and job.retry_at <= time.monotonic():
            self.forget(key)
            return None
        return job

    def jobs(self) -> list[Job]:
        """All of them, in the order of submission."""
        with self._changed:
            return list(self._jobs.values())

    def submit(self, job: Job) -> Job:
        """Queue a job; one with the same key that is there already is returned instead, made urgent if this one is.
        A failed one is not tried again, unless it was forgotten: its key changes with its files."""
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
            self._hire()
            return job

    def cancel(self, key: str) -> Job | None:
        """Take back a job that waits or runs, and return it: it is "cancelled", and nothing stays of what it built but
        its preview. None when there is no such job. Submitted again, it begins anew."""
        with self._changed:
            job = self._jobs.get(key)
            if job is None or job.state not in ("waiting", "reading"):
                return None
            job.state = "cancelled"
            del self._jobs[key]
            process = self._running.get(job)
            self._changed.notify_all()  # what waited behind it may fit now
            self._hire()  # and the threads that waited with it may have ended meanwhile
            if process is not None:
                process.kill()  # within the lock: it must not have got another job meanwhile
        return job

    def forget(self, key: str) -> None:
        """Let a failed job be tried again when it is submitted again."""
        with self._changed:
            job = self._jobs.get(key)
            if job is not None and job.state == "failed":
                del self._jobs[key]

    def close(self) -> None:
        """Drop what waits, end all worker processes now, and remove what they had begun."""
        with self._changed:
            self._closed = True
            self._queue.clear()
            processes, threads = list(self._processes), list(self._threads)
            self._changed.notify_all()
        for process in processes:
            process.kill()
        limit = time.monotonic() + CLEARING
        for thread in threads:
            thread.join(max(0.0, limit - time.monotonic()))
        for job in self.jobs():
            self.drop_preview(job)

    def drop_preview(self, job: Job | None) -> None:
        """Remove a job's preview, if it has one; who has its files open keeps them."""
        if job is None:
            return
        preview, job.preview = job.preview, None
        if preview is not None:
            self._cache.discard(preview.folder)

    def _push(self, job: Job) -> None:
        heapq.heappush(self._queue, (job.order(), next(self._sequence), job))
        self._changed.notify()

    def _hire(self) -> None:
        """Start a thread where there is work for one more."""
        # An idle thread counts as such until it wakes, so one of them may be called for several jobs. A thread of the
        # pool that calls this takes the next job itself.
        free = self._idle + (threading.current_thread() in self._threads)
        if len(self._queue) > free and len(self._threads) < self._size and not self._closed:
            thread = threading.Thread(target=self._serve, name="npu-pool", daemon=True)
            self._threads.add(thread)
            thread.start()

    def _next(self) -> Job | None:
        """The next job, waiting for one a while; None when the thread may end."""
        with self._changed:
            limit = time.monotonic() + IDLE
            while not self._closed:
                job = self._take()
                if job is not None:
                    return job
                left = limit - time.monotonic()
                if left <= 0:
                    break
                self._idle += 1
                self._changed.wait(left)
                self._idle -= 1
            self._threads.discard(threading.current_thread())
            return None

    def _take(self) -> Job | None:
        """The first job of the queue, if it fits beside those that run. Smaller ones do not overtake it: it would
        wait for ever while there are such."""
        while self._queue:
            job = self._queue[0][2]
            if job.state == "waiting":
                if not self._running:
                    self._budget = self._ask_budget()
                elif sum(needed(running.files) for running in self._running) + needed(job.files) > self._budget:
                    return None
                self._running[job] = None
                job.begin()
                heapq.heappop(self._queue)
                return job
            heapq.heappop(self._queue)
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
                    process = self._read_without_skipped(process, job)
                except Exception as error:  # the thread must go on with the next job
                    if not isinstance(error, Failed):
                        self._forget(process)
                        process = None
                    if self._try_again(job, error, attempt):
                        logger.warning("%s: %s; trying once more", job.folder, error)
                        continue
                    self._fail(job, error)
                break
            self._finish(job)
        self._forget(process)

    def _read_without_skipped(self, process: Process, job: Job) -> Process:
        """Read a job; where a file takes too much, the others without it. Returns the process that did, or raises."""
        while True:
            try:
                self._read(process, job)
                return process
            except Stopped as error:
                self._forget(process)
                if not self._skip(job, error.verdict):
                    raise
                process = self._start()

    def _skip(self, job: Job, verdict: Verdict) -> bool:
        """Leave out the file at which a worker had to be ended, if there are others."""
        with self._changed:
            file = job.file
            if not job.can_skip(file) or job.state == "cancelled" or self._closed:
                return False
            logger.warning("%s: %s: %s; reading the others", job.folder, file, verdict.found)
            job.skipped[file] = verdict.problem(file, Message("lost.file_all"))
            self._running[job] = None
            job.begin()
            return True

    def _try_again(self, job: Job, error: Exception, attempt: int) -> bool:
        """Begin a job anew whose worker was killed, or for which there is a disk with more room; unless that was meant
        or has happened before."""
        if isinstance(error, Stopped) or not (isinstance(error, Killed) or is_disk_full(error)):
            return False
        with self._changed:
            if attempt == TRIES or self._closed or job.state == "cancelled":
                return False
            if is_disk_full(error) and not self._cache.fall_back(unpacked_bytes(job.files_to_read)):
                return False
            self._running[job] = None
            job.begin()
            return True

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
            if "preview" in message:
                self._show(job, Path(message["preview"]))
            else:
                if not job.file:
                    job.started = time.monotonic()  # the process itself took a while to start
                job.file = message["file"]
                job.bytes_done = min(int(message["bytes"]), job.bytes_total)

        with self._changed:
            if job.state == "cancelled" or self._closed:
                return
            self._running[job] = process
        if self._cache.get(job.key) is None:  # another server may have read it while this job waited
            self._build(process, job, say)
        with self._changed:
            self._running[job] = None  # a cancel that comes now does not end the process any more
            if job.state == "reading":
                job.bytes_done = job.bytes_total
                job.state = "ready"

    def _build(self, process: Process, job: Job, say: Callable[[dict[str, Any]], None]) -> None:
        out = self._cache.new_folder()
        settled = is_settled(job.files)
        try:
            meta = process.run(Request(job.stage, job.folder, job.files_to_read, out, job.format, job.part), say)
            problems = [*(problem.as_json() for problem in job.skipped.values()), *meta.get("problems", ())]
            self._cache.commit(job.key, out, {**meta, "problems": problems, "settled": settled})
            rows = sum(count or 0 for count in meta.get("rows", {}).values())
            seconds = time.monotonic() - job.started
            where = printable(f"{job.worker} ({job.folder})")
            logger.info("loaded %s of %s: %d rows, %.1f s", job.stage, where, rows, seconds)
        finally:
            self._cache.discard(out)

    def _show(self, job: Job, built: Path) -> None:
        """Take a preview that the worker has made, unless a longer one is shown since an earlier attempt. One that cannot
        be moved is not shown, and goes with the folder of the job."""
        try:
            found = Preview(self._cache.take(built), job.bytes_done)
        except OSError as error:
            logger.info("a preview is not shown: %s", error)
            return
        with self._changed:
            before = job.preview
            is_better = job.state == "reading" and (before is None or found.bytes > before.bytes)
            if is_better:
                job.preview = found
        doomed = before if is_better else found
        if doomed is not None:
            self._cache.discard(doomed.folder)

    def _fail(self, job: Job, error: Exception) -> None:
        note(error, job)
        problem = failure(error, job, self._cache.root)
        with self._changed:
            if job.state == "cancelled":
                return
            if problem.code == "stalled":
                job.retry_at = time.monotonic() + RETRY_AFTER
            job.message, job.problems = problem.found, [problem]
            job.state = "failed"

    def _finish(self, job: Job) -> None:
        with self._changed:
            del self._running[job]
            if job.state == "ready":
                self._jobs.pop(job.key, None)
            self._hire()
            self._changed.notify_all()
        if job.state != "cancelled":
            self.drop_preview(job)
        self._done(job)
