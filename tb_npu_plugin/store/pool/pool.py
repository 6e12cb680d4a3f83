"""A bounded pool of worker processes and its job queue."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tb_npu_plugin.messages import Message
from tb_npu_plugin.printable import package_logger, printable
from tb_npu_plugin.refusal import is_exhausted, is_of_environment, persist
from tb_npu_plugin.store.cache.disk import RETRY_AFTER, Cache
from tb_npu_plugin.store.pool.job import Job, Preview, is_disk_full, log_failure, problem_of_failure
from tb_npu_plugin.store.pool.limits import memory_budget, needed_memory, unpacked_bytes
from tb_npu_plugin.store.pool.process import Process, RequestFailed, WorkerKilled, WorkerProcess, WorkerStopped
from tb_npu_plugin.store.pool.watchdog import StopReason
from tb_npu_plugin.store.stages import Request, is_settled

logger = package_logger(__name__)

#: An idle worker process is ended after this, in seconds: one that has read, which holds memory, and one that has not.
IDLE_USED, IDLE_NEW = 20.0, 1800.0
#: A process for a job that no page shows starts this much later, in seconds, while a page waits for another job: loading
#: its modules takes 0.4 s of the CPU that the page needs.
YIELD = 1.0
#: Number of attempts at a job whose worker is killed.
TRIES = 2
#: How long `close` waits for the pool's threads, in seconds.
CLOSE_TIMEOUT = 5.0


class Pool:
    """Runs jobs in at most `size` worker processes, as many in parallel as fit the memory budget. Thread-safe.

    Args:
        done: Called after each job, in its thread.
        process: Starts a worker process.
        budget: Returns bytes of memory for all workers. Called when a job starts while no other runs; a single job
            may exceed it.
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
        self._read_budget = budget
        self._budget = 0
        self._changed = threading.Condition()
        #: Number of jobs that ended and of previews; `wait` waits for more.
        self.changes = 0
        self._told = threading.Condition()
        self._queue: list[tuple[tuple[bool, int, int], int, Job]] = []
        self._jobs: dict[str, Job] = {}
        #: Running jobs, and the process of each once it has started.
        self._running: dict[Job, Process | None] = {}
        self._sequence = itertools.count()
        self._threads: set[threading.Thread] = set()
        self._idle = 0
        self._processes: set[Process] = set()
        #: Starts the processes that make way for a page; None: there are none.
        self._yielding: threading.Timer | None = None
        self._closed = False

    def job(self, key: str) -> Job | None:
        """The waiting, running or failed job of this cache key. Forgets a failed job whose `retry_at` has passed."""
        job = self._jobs.get(key)
        if job is not None and job.state == "failed" and job.retry_at <= time.monotonic():
            self.forget(key)
            return None
        return job

    def jobs(self) -> list[Job]:
        """All jobs in order of submission."""
        with self._changed:
            return list(self._jobs.values())

    def wait(self, seen: int, timeout: float) -> None:
        """Wait until `changes` differs from `seen`, at most `timeout` seconds."""
        with self._told:
            self._told.wait_for(lambda: self.changes != seen, timeout)

    def start_ahead(self) -> None:
        """Start a worker process before there is a job. One: more would take time from a browser that opens now."""
        with self._changed:
            if not self._threads and not self._closed:
                self._add_thread()

    def submit(self, job: Job) -> Job:
        """Queue a job and return it. An existing job with the same key is returned instead, made urgent if this one is.
        A failed job is not repeated unless `forget` was called: its key changes with its files."""
        with self._changed:
            present = self._jobs.get(job.key)
            if present is not None:
                if job.urgent and present.state == "waiting" and not present.urgent:
                    present.urgent = True
                    self._push(present)  # `_take_job` skips its older place in the queue
                    self._start_thread()
                return present
            if self._closed:
                return job
            self._jobs[job.key] = job
            self._push(job)
            if job.urgent or not self._is_watched():
                self._start_thread()
            elif self._yielding is None:
                self._yielding = threading.Timer(YIELD, self._start_threads)
                self._yielding.daemon = True
                self._yielding.start()
        return job

    def cancel(self, key: str) -> Job | None:
        """Cancel a waiting or running job and return it; None without one. Only its preview is kept. A later job of the
        same key starts from the beginning."""
        with self._changed:
            job = self._jobs.get(key)
            if job is None or job.state not in ("waiting", "reading"):
                return None
            job.state = "cancelled"
            del self._jobs[key]
            process = self._running.get(job)
            self._changed.notify_all()  # the next job may fit the budget now
            self._start_thread()  # idle threads may have ended meanwhile
            if process is not None:
                process.kill()  # within the lock, before it can get another job
        self._tell()
        return job

    def forget(self, key: str) -> None:
        """Remove a failed job, so that it can be submitted again."""
        with self._changed:
            job = self._jobs.get(key)
            if job is not None and job.state == "failed":
                del self._jobs[key]

    def close(self) -> None:
        """Clear the queue, kill all worker processes and remove their unfinished output."""
        with self._changed:
            self._closed = True
            if self._yielding is not None:
                self._yielding.cancel()
            self._queue.clear()
            processes, threads = list(self._processes), list(self._threads)
            self._changed.notify_all()
        for process in processes:
            process.kill()
        deadline = time.monotonic() + CLOSE_TIMEOUT
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        for job in self.jobs():
            self.drop_preview(job)

    def drop_preview(self, job: Job | None) -> None:
        """Remove a job's preview, if it has one. Its open files stay readable."""
        if job is None:
            return
        preview, job.preview = job.preview, None
        if preview is not None:
            self._cache.discard(preview.folder)

    def _push(self, job: Job) -> None:
        heapq.heappush(self._queue, (job.order(), next(self._sequence), job))
        self._changed.notify()

    def _is_watched(self) -> bool:
        """Whether a page waits for a job that is running or the next one."""
        return any(job.urgent for job in (self._queue[0][2], *self._running))

    def _start_threads(self) -> None:
        """Start the threads that made way for a page."""
        with self._changed:
            self._yielding = None
            for _ in range(self._size - len(self._threads)):
                self._start_thread()

    def _start_thread(self) -> None:
        """Start a thread if the queue has more jobs than idle threads."""
        # A notified thread counts as idle until it wakes, so it may be counted for several jobs. A pool thread that
        # calls this takes the next job itself.
        free = self._idle + (threading.current_thread() in self._threads)
        if len(self._queue) > free and len(self._threads) < self._size and not self._closed:
            self._add_thread()

    def _add_thread(self) -> None:
        thread = threading.Thread(target=self._serve, name="npu-pool", daemon=True)
        self._threads.add(thread)
        thread.start()

    def _tell(self) -> None:
        """Wake those who `wait`."""
        with self._told:
            self.changes += 1
            self._told.notify_all()

    def _next_job(self, patience: float) -> Job | None:
        """The next job. Waits up to `patience` seconds; None then, and the thread ends."""
        with self._changed:
            limit = time.monotonic() + patience
            while not self._closed:
                job = self._take_job()
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

    def _take_job(self) -> Job | None:
        """The first job of the queue, if it fits the budget beside the running ones. Smaller jobs do not overtake it,
        or it might wait forever."""
        while self._queue:
            job = self._queue[0][2]
            if job.state == "waiting":
                if not self._running:
                    self._budget = self._read_budget()
                elif sum(needed_memory(each.files) for each in (job, *self._running)) > self._budget:
                    return None
                self._running[job] = None
                job.begin()
                heapq.heappop(self._queue)
                return job
            heapq.heappop(self._queue)
        return None

    def _serve(self) -> None:
        """Body of a thread: runs jobs in one worker process."""
        process: Process | None = None
        with suppress(OSError):  # the first job tries again, and reports it
            process = self._start()  # it loads its modules while the thread looks for a job
        patience = IDLE_NEW
        while (job := self._next_job(patience)) is not None:
            patience = IDLE_USED
            for attempt in range(1, TRIES + 1):
                try:
                    process = process or self._start()
                    process = self._read_without_skipped(process, job)
                except Exception as error:  # the thread must go on with the next job
                    if not isinstance(error, RequestFailed):
                        self._close_process(process)
                        process = None
                    if self._try_again(job, error, attempt):
                        logger.warning("%s: %s; trying once more", job.folder, error)
                        continue
                    self._fail(job, error)
                break
            self._finish(job)
        self._close_process(process)
        if patience == IDLE_USED:
            self.start_ahead()

    def _read_without_skipped(self, process: Process, job: Job) -> Process:
        """Run a job; if the watchdog stops it at a file, repeat it without that file. Returns the last process."""
        while True:
            try:
                self._read(process, job)
                return process
            except WorkerStopped as error:
                self._close_process(process)
                if not self._skip(job, error.reason):
                    raise
                process = self._start()

    def _skip(self, job: Job, reason: StopReason) -> bool:
        """Exclude the file at which the watchdog stopped the worker, if the job has others. Returns whether it did."""
        with self._changed:
            file = job.file
            if not job.can_skip(file) or job.state == "cancelled" or self._closed:
                return False
            logger.warning("%s: %s: %s; reading the others", job.folder, file, reason.found)
            job.skipped[file] = reason.problem(file, Message("lost.file_all"))
            self._running[job] = None
            job.begin()
            return True

    def _try_again(self, job: Job, error: Exception, attempt: int) -> bool:
        """Restart a job whose worker was killed, that lacked descriptors, or whose disk was full while another has room.

        Returns False after TRIES attempts, and for a job that was cancelled or that the watchdog stopped.
        """
        is_passing = isinstance(error, WorkerKilled) or is_exhausted(error) or is_disk_full(error)
        if isinstance(error, WorkerStopped) or not is_passing:
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
        process = persist(self._new_process)
        with self._changed:
            self._processes.add(process)
        return process

    def _close_process(self, process: Process | None) -> None:
        if process is not None:
            with self._changed:
                self._processes.discard(process)
            process.close()

    def _read(self, process: Process, job: Job) -> None:
        def on_message(message: dict[str, Any]) -> None:
            if "preview" in message:
                self._show(job, Path(message["preview"]))
            else:
                if not job.file:
                    job.started = time.monotonic()  # exclude the start of the process
                job.file = message["file"]
                job.bytes_done = min(int(message["bytes"]), job.bytes_total)

        with self._changed:
            if job.state == "cancelled" or self._closed:
                return
            self._running[job] = process
        if self._cache.get(job.key) is None:  # another server may have read it meanwhile
            self._build(process, job, on_message)
        with self._changed:
            self._running[job] = None  # from here on, a cancel does not kill the process
            if job.state == "reading":
                job.bytes_done = job.bytes_total
                job.state = "ready"

    def _build(self, process: Process, job: Job, on_message: Callable[[dict[str, Any]], None]) -> None:
        out = self._cache.new_folder()
        settled = is_settled(job.files)
        try:
            request = Request(job.stage, job.folder, job.files_to_read, out, job.format, job.part, job.rebuild)
            meta = process.run(request, on_message)
            problems = [*(problem.as_json() for problem in job.skipped.values()), *meta.get("problems", ())]
            self._cache.commit(job.key, out, {**meta, "problems": problems, "settled": settled})
            rows = sum(table["rows"] for table in meta.get("tables", {}).values())
            seconds = time.monotonic() - job.started
            where = printable(f"{job.worker} ({job.folder})")
            logger.info("loaded %s of %s: %d rows, %.1f s", job.stage, where, rows, seconds)
        finally:
            self._cache.discard(out)

    def _show(self, job: Job, built: Path) -> None:
        """Show a preview that the worker has built, unless an earlier attempt showed a longer one or it cannot be
        moved."""
        try:
            found = Preview(self._cache.take(built), job.bytes_done)
        except OSError as error:
            logger.info("cannot show a preview: %s", error)
            return
        with self._changed:
            before = job.preview
            is_longer = job.state == "reading" and (before is None or found.bytes > before.bytes)
            if is_longer:
                job.preview = found
        doomed = before if is_longer else found
        if doomed is not None:
            self._cache.discard(doomed.folder)
        self._tell()

    def _fail(self, job: Job, error: Exception) -> None:
        log_failure(error, job)
        problem = problem_of_failure(error, job, self._cache.root)
        with self._changed:
            if job.state == "cancelled":
                return
            if problem.code == "stalled" or is_of_environment(error):
                job.retry_at = time.monotonic() + RETRY_AFTER
            job.message, job.problems = problem.found, [problem]
            job.state = "failed"

    def _finish(self, job: Job) -> None:
        with self._changed:
            del self._running[job]
            if job.state == "ready":
                self._jobs.pop(job.key, None)
            self._start_thread()
            self._changed.notify_all()
        if job.state != "cancelled":
            self.drop_preview(job)
        self._done(job)
        self._tell()
