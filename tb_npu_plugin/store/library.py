"""Found spans, their stages and the reading of them: scan, cache and worker pool combined.

The server uses it without waiting; the command line waits.
"""

from __future__ import annotations

import atexit
import copy
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tb_npu_plugin.discovery.model import FoundFile, FoundSpan, Place, Scan
from tb_npu_plugin.discovery.runs import Choice, regroup
from tb_npu_plugin.discovery.watch import Watcher
from tb_npu_plugin.errors import NotFound
from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import Problem, problem_of
from tb_npu_plugin.scan import check_settings
from tb_npu_plugin.schema.core import Stage
from tb_npu_plugin.store.archives import Archives
from tb_npu_plugin.store.cache.disk import Cache, Entry, entry_key, open_cache
from tb_npu_plugin.store.cache.memory import LruCache, MemoryCache
from tb_npu_plugin.store.first_look import open_first_look
from tb_npu_plugin.store.pool.job import Job, Preview
from tb_npu_plugin.store.pool.pool import Pool
from tb_npu_plugin.store.pool.process import Process, WorkerProcess, worker_count
from tb_npu_plugin.store.span import Span
from tb_npu_plugin.store.stages import STAGES, StageState, files_of, is_settled, stages_of

#: Number of spans that stay open. They are small: MemoryCache holds their tables and limits these by size.
MAX_OPEN_SPANS = 4096
#: How often `read` checks the jobs, in seconds.
POLL = 0.05


@dataclass(frozen=True)
class StageStatus:
    """Reading status of one stage of a span.

    Attributes:
        entry: The cache entry to show; while a file grows, that of the previous reading.
        growing: A file of the stage is still being written; the stage will be read again.
    """

    stage: Stage
    state: StageState
    key: str
    entry: Entry | None = None
    job: Job | None = None
    growing: bool = False


@dataclass
class _Events:
    """Number of changes beside those of the scan."""

    count: int = 0


@dataclass
class _Record:
    """What the library knows about one stage of a span.

    Attributes:
        fingerprint: That of the span for which `key` was computed.
        key: Key of the cache entry of settled files.
        entry: The entry that was shown last.
        written: The files, while one of them is still being written; else ().
        cancelled: A job that the user cancelled, until it is resumed; changes of its files do not matter.
        preview: Name of the preview folder whose timeline is open; else "".
    """

    fingerprint: str = ""
    key: str = ""
    entry: Entry | None = None
    written: tuple[FoundFile, ...] = ()
    cancelled: Job | None = None
    preview: str = ""


class Library:
    """The results below the logdirs. Thread-safe. Raises BadSetting where no scanner can be used."""

    def __init__(
        self,
        watcher: Watcher,
        cache: Cache | None = None,
        workers: int | None = None,
        process: Callable[[], Process] = WorkerProcess,
    ) -> None:
        check_settings()
        self.watcher = watcher
        self.cache = cache or open_cache()
        archives = Archives(self.cache, not watcher.is_background, lambda: watcher.ask(now=True))
        watcher.set_archives(archives.open)
        self.pool = Pool(self.cache, worker_count() if workers is None else workers, self._drop_preview, process)
        self._lock = threading.Lock()
        self._records: dict[tuple[str, Stage], _Record] = {}
        self._open: LruCache[tuple[str, ...], Span] = LruCache(MAX_OPEN_SPANS, lambda span: 1)
        self._memory = MemoryCache()
        self._events = _Events()
        self._choice = Choice()
        #: The latest scan, what the choice makes of it, and its places.
        self._regrouped: tuple[Scan, Scan, dict[str, Place]] = (Scan(), Scan(), {})
        atexit.register(self.close)

    @property
    def generation(self) -> int:
        """Counter that grows when the scan finds a change, a job ends or a file is no longer written."""
        with self._lock:
            settled = sum(bool(one.written) and is_settled(one.written) for one in list(self._records.values()))
            return self.watcher.generation + self._events.count + settled

    def close(self) -> None:
        """End the worker processes."""
        atexit.unregister(self.close)
        self.pool.close()
        for job in self._cancelled_jobs():
            self.pool.drop_preview(job)

    def chosen(self, choice: Choice) -> Library:
        """This library with the runs that a user has chosen. It shares all else: attributes are changed, never replaced."""
        other = copy.copy(self)
        other._choice = choice
        other._regrouped = (Scan(), Scan(), {})
        return other

    def scan(self) -> Scan:
        """The latest scan. Does not wait."""
        return self._scanned()[0]

    def _scanned(self) -> tuple[Scan, Callable[[str], Place | None]]:
        """The latest scan, and its places by the token of the span."""
        found = self.watcher.current()
        if self._choice == Choice():
            return found, self.watcher.place
        scan, runs, places = self._regrouped
        if scan is not found:
            runs = regroup(found, self._choice)
            places = {place.span.token: place for place in runs.places()}
            self._regrouped = (found, runs, places)
        return runs, places.get

    def place(self, span: str) -> Place:
        """The run, worker and span of a token. Raises NotFound."""
        found = self._scanned()[1](span)
        if found is None:
            raise NotFound(Message("error.span"), Message("hint.reload_runs"))
        return found

    def run_places(self, run: str) -> list[Place]:
        """All spans of a run, by its id or that of one of its folders. Raises NotFound."""
        found = next((one for one in self.scan().runs if run in one.tokens), None)
        if found is None:
            raise NotFound(Message("error.run"), Message("hint.reload_runs"))
        return found.places()

    def status(self, place: Place, stage: Stage) -> StageStatus:
        """Status of a stage. Starts no job."""
        span = place.span
        files = files_of(span, stage)
        settled = is_settled(files)
        record = self._record(span.token, stage)
        self._note_growth(record, () if settled else files)
        key = _key(record, span, stage, settled)
        # Look up the job before the entry: a job that is ready has written its entry.
        job = record.cancelled or self.pool.job(key)
        state = job.state if job else "new"
        entry = self._entry(record, key)
        if entry is not None:
            with self._lock:
                late, record.cancelled = record.cancelled, None  # it ended before the cancel
            self.pool.drop_preview(late)
            return StageStatus(stage, "ready", key, entry, growing=not settled)
        before = None if settled else record.entry
        if before is not None:
            return StageStatus(stage, "ready", key, before, job, growing=True)
        state = "new" if state == "ready" else state  # its entry was removed since
        return StageStatus(stage, state, key, None, job, growing=not settled)

    def request(self, place: Place, stages: Iterable[Stage], urgent: bool = True) -> list[StageStatus]:
        """Queue the stages that are neither read nor cancelled, `urgent` ones first. Returns their statuses without
        waiting."""
        statuses = []
        for stage in stages:
            if stage not in stages_of(place.span):
                continue
            status = self.status(place, stage)
            if status.state in ("new", "waiting"):
                status = self._submit(place, status, urgent)
            statuses.append(status)
        return statuses

    def prepare(self) -> None:
        """Start a worker process if a stage is not read yet: the next request may ask for it."""
        places = self.scan().places()
        if any(self.status(place, stage).state == "new" for place in places for stage in stages_of(place.span)):
            self.pool.start_ahead()

    def _submit(self, place: Place, status: StageStatus, urgent: bool, preview: Preview | None = None) -> StageStatus:
        """Queue the job of a stage and return the new status."""
        span, stage = place.span, status.stage
        files = files_of(span, stage)
        new = Job(
            status.key,
            span.token,
            stage,
            span.folder,
            files,
            urgent,
            preview=preview,
            format=span.format,
            part=span.part,
            rebuild=span.lacks_kernels,
            worker=place.worker.label,
        )
        with self._lock:  # the stage may have been cancelled since `status`
            job = self._record(span.token, stage).cancelled or self.pool.submit(new)
        if job is not new:  # another thread submitted it first
            self.pool.drop_preview(new)
        state = job.state
        if state == "ready":  # it ended since `status`
            return self.status(place, stage)
        return StageStatus(stage, state, status.key, None, job, status.growing)

    def jobs(self) -> list[Job]:
        """Jobs that are running, waiting, cancelled or failed."""
        return [*self.pool.jobs(), *self._cancelled_jobs()]

    def _cancelled_jobs(self) -> list[Job]:
        return [one.cancelled for one in list(self._records.values()) if one.cancelled is not None]

    def _record(self, span: str, stage: Stage) -> _Record:
        """The record of a stage of a span (its token)."""
        return self._records.setdefault((span, stage), _Record())

    def cancel(self, places: Sequence[Place], stages: Iterable[Stage]) -> None:
        """Cancel the waiting and running jobs of these stages. They start again only when they are resumed."""
        for place, stage in itertools.product(places, tuple(stages)):
            key = self.status(place, stage).key
            with self._lock:
                job, before = self.pool.cancel(key), None
                if job is not None:
                    record = self._record(place.span.token, stage)
                    before, record.cancelled = record.cancelled, job
                    self._events.count += 1
            self.pool.drop_preview(before)  # it shows the old files

    def resume(self, places: Sequence[Place], stages: Iterable[Stage]) -> None:
        """Queue cancelled stages again, and stages that failed or met an error of the machine."""
        for place, stage in itertools.product(places, tuple(stages)):
            status = self.status(place, stage)
            if status.entry is not None and "passing" in status.entry.meta:
                self._drop([status.entry])
            elif status.state not in ("cancelled", "failed"):
                continue
            with self._lock:
                record = self._record(place.span.token, stage)
                job, record.cancelled = record.cancelled, None
                self._events.count += 1
            self.pool.forget(status.key)
            preview = job.preview if job is not None and job.key == status.key else None
            if job is not None and preview is None:
                self.pool.drop_preview(job)  # it shows the old file
            self._submit(place, status, len(places) == 1, preview)  # shown until a longer preview exists

    def retry(self) -> None:
        """Read stages again at the next request if they failed, or met an error of the machine or of this plugin."""
        entries = [one.entry for one in list(self._records.values())]
        self._drop([entry for entry in entries if entry is not None and "passing" in entry.meta])
        for job in self.pool.jobs():
            self.pool.forget(job.key)

    def read(
        self, places: Sequence[Place], stages: Sequence[Stage], on_wait: Callable[[], None] = lambda: None
    ) -> list[tuple[Place, StageStatus]]:
        """Read stages of spans and wait until they are read; for the command line.

        Args:
            on_wait: Called every POLL seconds.

        Returns:
            Last statuses of the stages whose files are still being written, for `open`.
        """
        while places:
            found = [(place, status) for place in places for status in self.request(place, stages)]
            if not any(_is_busy(status) for _, status in found):
                return [(place, status) for place, status in found if status.growing]
            left = found
            while left := [(place, status) for place, status in left if _is_busy(status)]:
                on_wait()
                time.sleep(POLL)
                left = [(place, self._refresh(place, status)) for place, status in left]
            # Only growing stages are requested again. A settled one may have been evicted from a small cache already
            # and would be read in an endless loop.
            growing = {place.span.token for place, status in found if status.growing}
            places = [place for place in places if place.span.token in growing]
        return []

    def _refresh(self, place: Place, status: StageStatus) -> StageStatus:
        """The new status of a busy stage. Does not access the disk while its job runs or waits."""
        if status.job is not None and status.job.state in ("waiting", "reading"):
            return status
        return next(iter(self.request(place, [status.stage])), status)

    def open(self, place: Place, seen: Sequence[StageStatus] = (), with_preview: bool = True) -> Span:
        """The span with the stages that are read. Starts no job.

        Args:
            with_preview: With the timeline of the trace's beginning while the trace is read.
            seen: Statuses that the caller already has; they are used as they are. A new status might differ: a file
                that settles meanwhile must be read again, so its stage would no longer be ready.
        """
        known = {status.stage: status for status in seen}
        present = [stage for stage in STAGES if stage in stages_of(place.span)]
        statuses = {stage: known.get(stage) or self.status(place, stage) for stage in present}
        entries = {stage: status.entry for stage, status in statuses.items()}
        preview = self._preview(place, statuses.get("trace")) if with_preview else None
        problems = [problem for status in statuses.values() for problem in _problems(place.span, status)]
        names = (entry.folder.name for entry in entries.values() if entry)
        key = (place.span.token, place.span.fingerprint, place.span.unread_fingerprint, *names)
        key += (preview.name if preview else "", place.run.token, place.run.label, place.worker.label)
        key += tuple(f"{problem.code} {problem.where}" for problem in problems)
        opened = self._open.get(
            key, lambda: Span(place, entries.get("tables"), entries.get("trace"), problems, self._memory, preview)
        )
        if not opened.damaged:
            return opened
        self._open.drop(key)
        self._drop(entries.values())
        return Span(place, None, None, problems)

    def first_look(self, place: Place, tables: StageStatus) -> Span | None:
        """The span with the first look at its tables, while they are read; None where there is none yet."""
        preview = tables.job.preview if tables.entry is None and tables.job is not None else None
        found = open_first_look(preview.folder) if preview is not None else None
        return Span(place, found, None, memory=self._memory) if found is not None else None

    def _preview(self, place: Place, trace: StageStatus | None) -> Path | None:
        """Folder of the preview to show while a trace is read. Closes the preview that it replaces."""
        preview = trace.job.preview if trace is not None and trace.entry is None and trace.job is not None else None
        name = preview.folder.name if preview else ""
        with self._lock:
            record = self._record(place.span.token, "trace")
            before, record.preview = record.preview, name
        if before != name:
            self._memory.timelines.drop(before)
        return preview.folder if preview else None

    def _entry(self, record: _Record, key: str) -> Entry | None:
        """A cache entry. The one that was shown last is only checked for existence."""
        last = record.entry
        if last is not None and last.folder.name == key and last.folder.exists():
            return last
        found = self.cache.get(key)
        if found is not None:
            record.entry = found
        return found

    def _drop(self, entries: Iterable[Entry | None]) -> None:
        """Drop damaged entries, so that they are read again."""
        for entry in entries:
            if entry is not None:
                self.cache.drop(entry.folder.name)
                self._memory.forget(entry.folder)
                for record in list(self._records.values()):
                    if record.entry is entry:
                        record.entry = None

    def _note_growth(self, record: _Record, written: tuple[FoundFile, ...]) -> None:
        """Record the files of a stage while one is being written. The end of that raises `generation`, although no file
        changed on disk."""
        with self._lock:
            self._events.count += bool(record.written) and is_settled(record.written)
            record.written = written

    def _drop_preview(self, job: Job) -> None:
        preview = ""
        with self._lock:
            self._events.count += 1
            if job.stage == "trace" and job.preview is None:
                record = self._record(job.span, "trace")
                preview, record.preview = record.preview, ""
        self._memory.timelines.drop(preview)


def _key(record: _Record, span: FoundSpan, stage: Stage, settled: bool) -> str:
    """Key of the cache entry. Growing files have a separate key, so that they are read again when they have settled, even
    if neither size nor time changed."""
    if record.fingerprint != span.fingerprint:
        rebuilds = stage == "trace" and span.lacks_kernels
        record.key = entry_key(span.folder, stage, files_of(span, stage), span.part, rebuilds)
        record.fingerprint = span.fingerprint
    return record.key if settled else f"{record.key}-growing"


def _is_busy(status: StageStatus) -> bool:
    return status.state in ("waiting", "reading")


def _problems(span: FoundSpan, status: StageStatus) -> Sequence[Problem]:
    """Problems that the library adds to those that the reader reported."""
    if status.job is not None and status.state == "failed":
        return status.job.problems
    if not status.growing:
        return ()
    names = ", ".join(file.relative for file in files_of(span, status.stage) if not is_settled((file,)))
    return (problem_of("still_written", names),)
