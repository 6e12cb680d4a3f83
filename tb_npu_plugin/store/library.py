"""What is there, what of it is read, and reading it: the scan, the cache and the pool together.

Used by the server, which never waits, and by the command line, which does.
"""

from __future__ import annotations

import atexit
import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tb_npu_plugin.discovery.model import FoundSpan, Place, Scan
from tb_npu_plugin.discovery.watch import Watcher
from tb_npu_plugin.errors import NotFound
from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import Problem
from tb_npu_plugin.scan import check_settings
from tb_npu_plugin.schema.core import Stage
from tb_npu_plugin.store.cache.disk import Cache, Entry, entry_key, open_cache
from tb_npu_plugin.store.cache.memory import Memory
from tb_npu_plugin.store.first_look import open_first_look
from tb_npu_plugin.store.pool.job import Job, Preview
from tb_npu_plugin.store.pool.pool import Pool
from tb_npu_plugin.store.pool.process import Process, WorkerProcess, worker_count
from tb_npu_plugin.store.span import Span
from tb_npu_plugin.store.stages import STAGES, files_of, is_settled, stages_of

#: Spans that stay open. They are small: their tables are kept apart, by size.
OPEN_SPANS = 4096
#: How often `read` looks, in seconds.
POLL = 0.05
StageState = Literal["new", "waiting", "reading", "ready", "failed", "cancelled"]


@dataclass(frozen=True)
class StageStatus:
    """How far one stage of a span is. `entry`: what can be shown; while a file grows that is the reading before.
    `growing`: it is still being written, and will be read again."""

    stage: Stage
    state: StageState
    key: str
    entry: Entry | None = None
    job: Job | None = None
    growing: bool = False


class Library:
    """The results below the logdirs. Thread-safe. Raises BadSetting where nothing could be read."""

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
        self.pool = Pool(self.cache, worker_count() if workers is None else workers, self._finished, process)
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] = {}
        self._keys: dict[tuple[str, Stage], tuple[str, str]] = {}
        self._shown: dict[tuple[str, Stage], Entry] = {}
        self._growing: set[tuple[str, Stage]] = set()
        #: What a user has cancelled, until it is resumed; whatever becomes of its files.
        self._cancelled: dict[tuple[str, Stage], Job] = {}
        #: The preview of each span whose timeline is open.
        self._previews: dict[str, str] = {}
        self._open: OrderedDict[tuple[str, ...], Span] = OrderedDict()
        self._memory = Memory()
        self._events = 0
        atexit.register(self.close)

    @property
    def generation(self) -> int:
        """Grows when the scan finds a change, a reading ends or a file has settled."""
        for span, stage in list(self._growing):
            place = self.watcher.place(span)
            if place is not None:
                self.status(place, stage)  # notes that it has settled
            else:
                self._note_growth((span, stage), False)
        return self.watcher.generation + self._events

    def close(self) -> None:
        """End the worker processes."""
        atexit.unregister(self.close)
        self.pool.close()
        for job in list(self._cancelled.values()):
            self.pool.drop_preview(job)

    def scan(self) -> Scan:
        """The latest scan, at once."""
        return self.watcher.current()

    def place(self, span: str) -> Place:
        """Where a span stands. Raises NotFound."""
        found = self.watcher.place(span)
        if found is None:
            raise NotFound(Message("error.span"), Message("hint.reload_runs"))
        return found

    def run_places(self, run: str) -> list[Place]:
        """All spans of a run. Raises NotFound."""
        found = [place for place in self.watcher.current().places() if place.run.token == run]
        if not found:
            raise NotFound(Message("error.run"), Message("hint.reload_runs"))
        return found

    def status(self, place: Place, stage: Stage) -> StageStatus:
        """How far a stage is. Starts nothing."""
        span = place.span
        files = files_of(span, stage)
        settled = is_settled(files)
        self._note_growth((span.token, stage), not settled)
        key = self._key(span, stage, settled)
        # The job before the entry: one that is ready has left its entry.
        job = self._cancelled.get((span.token, stage)) or self.pool.job(key)
        state = job.state if job else "new"
        entry = self._entry(key)
        if entry is not None:
            with self._lock:
                self._shown[span.token, stage] = entry
                late = self._cancelled.pop((span.token, stage), None)  # it was done before the cancel reached it
            self.pool.drop_preview(late)
            return StageStatus(stage, "ready", key, entry, growing=not settled)
        before = None if settled else self._shown.get((span.token, stage))
        if before is not None:
            return StageStatus(stage, "ready", key, before, job, growing=True)
        state = "new" if state == "ready" else state  # its entry has gone since
        return StageStatus(stage, state, key, None, job, growing=not settled)

    def request(self, place: Place, stages: Iterable[Stage], urgent: bool = True) -> list[StageStatus]:
        """Have stages read that are not and were not cancelled; `urgent` ones before others. Returns how far they are
        now, at once."""
        statuses = []
        for stage in stages:
            if stage not in stages_of(place.span):
                continue
            status = self.status(place, stage)
            if status.state in ("new", "waiting"):
                status = self._submit(place, status, urgent)
            statuses.append(status)
        return statuses

    def _submit(self, place: Place, status: StageStatus, urgent: bool, preview: Preview | None = None) -> StageStatus:
        """Queue the reading of a stage; how far it is then."""
        span, stage = place.span, status.stage
        files = files_of(span, stage)
        wanted = Job(
            status.key,
            span.token,
            stage,
            span.folder,
            files,
            urgent,
            preview=preview,
            format=span.format,
            part=span.part,
            worker=place.worker.label,
        )
        with self._lock:  # a cancel since the look at it counts
            job = self._cancelled.get((span.token, stage)) or self.pool.submit(wanted)
        if job is not wanted:  # somebody else was first
            self.pool.drop_preview(wanted)
        state = job.state
        if state == "ready":  # it ended between the two looks
            return self.status(place, stage)
        return StageStatus(stage, state, status.key, None, job, status.growing)

    def jobs(self) -> list[Job]:
        """Work that is under way, cancelled or failed."""
        return [*self.pool.jobs(), *list(self._cancelled.values())]

    def cancel(self, places: Sequence[Place], stages: Iterable[Stage]) -> None:
        """End what waits or is read of these stages; it begins again when it is resumed, and not before."""
        for place, stage in itertools.product(places, tuple(stages)):
            key = self.status(place, stage).key
            with self._lock:
                job = self.pool.cancel(key)
                before = self._cancelled.get((place.span.token, stage)) if job is not None else None
                if job is not None:
                    self._cancelled[place.span.token, stage] = job
                    self._events += 1
            self.pool.drop_preview(before)  # of the files as they were

    def resume(self, places: Sequence[Place], stages: Iterable[Stage]) -> None:
        """Have read what was cancelled; and once more what has failed, or met an error of the machine."""
        for place, stage in itertools.product(places, tuple(stages)):
            status = self.status(place, stage)
            if status.entry is not None and "passing" in status.entry.meta:
                self._drop([status.entry])
            elif status.state not in ("cancelled", "failed"):
                continue
            with self._lock:
                job = self._cancelled.pop((place.span.token, stage), None)
                self._events += 1
            self.pool.forget(status.key)
            preview = job.preview if job is not None and job.key == status.key else None
            if job is not None and preview is None:
                self.pool.drop_preview(job)  # of the file as it was
            self._submit(place, status, len(places) == 1, preview)  # it is shown until there is a longer one

    def retry(self) -> None:
        """Let everything be read once more that met an error of the machine, or of ours, when it is asked for."""
        self._drop([entry for entry in list(self._entries.values()) if "passing" in entry.meta])
        for job in self.pool.jobs():
            self.pool.forget(job.key)

    def read(
        self, places: Sequence[Place], stages: Sequence[Stage], tell: Callable[[], None] = lambda: None
    ) -> list[tuple[Place, StageStatus]]:
        """Read stages of spans and wait for it; for programs without requests to answer. `tell` is called often.
        Returns how far they were at the last look where they are still written, for `open`."""
        while places:
            found = [(place, status) for place in places for status in self.request(place, stages)]
            if not any(_is_busy(status) for _, status in found):
                return [(place, status) for place, status in found if status.growing]
            left = found
            while left := [(place, status) for place, status in left if _is_busy(status)]:
                tell()
                time.sleep(POLL)
                left = [(place, self._later(place, status)) for place, status in left]
            # Only what was still written is looked at once more, as it settles while others are read: what was read
            # and has left a small cache since would be read for ever.
            growing = {place.span.token for place, status in found if status.growing}
            places = [place for place in places if place.span.token in growing]
        return []

    def _later(self, place: Place, status: StageStatus) -> StageStatus:
        """How far a stage is that was under way, without a look at the disk while it still is."""
        if status.job is not None and status.job.state in ("waiting", "reading"):
            return status
        return next(iter(self.request(place, [status.stage])), status)

    def open(self, place: Place, seen: Sequence[StageStatus] = ()) -> Span:
        """The span with whatever is read of it. Starts nothing.

        seen: how far stages were when the caller looked, which is what it gets: files that settle in between would
        have to be read once more, and the caller would find nothing of what it was told is there."""
        known = {status.stage: status for status in seen}
        there = [stage for stage in STAGES if stage in stages_of(place.span)]
        statuses = {stage: known.get(stage) or self.status(place, stage) for stage in there}
        entries = {stage: status.entry for stage, status in statuses.items()}
        preview = self._preview(place, statuses.get("trace"))
        problems = [problem for status in statuses.values() for problem in _problems(place.span, status)]
        names = (entry.folder.name for entry in entries.values() if entry)
        key = (place.span.token, place.span.fingerprint, place.span.unread_fingerprint, *names)
        key += (preview.name if preview else "",)
        key += tuple(f"{problem.code} {problem.where}" for problem in problems)
        with self._lock:
            span = self._open.get(key)
            if span is not None and not span.damaged:
                self._open.move_to_end(key)
                return span
            self._open.pop(key, None)
        if span is not None:  # damaged: what it was made of goes, and is not there for the new one either
            self._drop(entries.values())
            return Span(place, None, None, problems)
        span = Span(place, entries.get("tables"), entries.get("trace"), problems, self._memory, preview)
        with self._lock:
            self._open[key] = span
            while len(self._open) > OPEN_SPANS:
                self._open.popitem(last=False)
        return span

    def first_look(self, place: Place, tables: StageStatus) -> Span | None:
        """The span as far as its tables are known while they are read; None where nothing can be told yet."""
        preview = tables.job.preview if tables.entry is None and tables.job is not None else None
        found = open_first_look(preview.folder) if preview is not None else None
        return Span(place, found, None, memory=self._memory) if found is not None else None

    def _preview(self, place: Place, trace: StageStatus | None) -> Path | None:
        """Folder of the preview to show while a trace is read. One that it replaces is closed."""
        preview = trace.job.preview if trace is not None and trace.entry is None and trace.job is not None else None
        name = preview.folder.name if preview else ""
        with self._lock:
            before = self._previews.pop(place.span.token, "")
            if name:
                self._previews[place.span.token] = name
        if before != name:
            self._memory.timelines.drop(before)
        return preview.folder if preview else None

    def _key(self, span: FoundSpan, stage: Stage, settled: bool) -> str:
        """Key of the cache entry. What was read while it was being written has one of its own, so that it is read
        again when it has settled, even if neither size nor time changed since."""
        fingerprint, key = self._keys.get((span.token, stage), ("", ""))
        if fingerprint != span.fingerprint:
            with self._lock:  # what was read of the files as they were is not asked for again
                self._entries.pop(key, None)
                self._entries.pop(f"{key}-growing", None)
            key = entry_key(span.folder, stage, files_of(span, stage), span.part)
            self._keys[span.token, stage] = (span.fingerprint, key)
        return key if settled else f"{key}-growing"

    def _entry(self, key: str) -> Entry | None:
        """A cache entry; what was found once is not looked for again, except that it must still be there."""
        entry = self._entries.get(key)
        if entry is not None and entry.folder.exists():
            return entry
        entry = self.cache.get(key)
        with self._lock:
            if entry is None:
                self._entries.pop(key, None)
            else:
                self._entries[key] = entry
        return entry

    def _drop(self, entries: Iterable[Entry | None]) -> None:
        """Drop damaged entries, so that they are read again."""
        for entry in entries:
            if entry is not None:
                self.cache.drop(entry.folder.name)
                self._memory.forget(entry.folder)
                with self._lock:
                    self._entries.pop(entry.folder.name, None)
                    self._shown = {place: shown for place, shown in self._shown.items() if shown is not entry}

    def _note_growth(self, stage: tuple[str, Stage], growing: bool) -> None:
        """A file that has settled is news, although nothing on the disk changed since the last scan."""
        with self._lock:
            if growing:
                self._growing.add(stage)
            elif stage in self._growing:
                self._growing.discard(stage)
                self._events += 1

    def _finished(self, job: Job) -> None:
        with self._lock:
            self._events += 1
            preview = self._previews.pop(job.span, "") if job.stage == "trace" and job.preview is None else ""
        self._memory.timelines.drop(preview)


def _is_busy(status: StageStatus) -> bool:
    return status.state in ("waiting", "reading")


def _problems(span: FoundSpan, status: StageStatus) -> Sequence[Problem]:
    """What the library has to say about a stage, beside what its reading found."""
    if status.job is not None and status.state == "failed":
        return status.job.problems
    if not status.growing:
        return ()
    names = ", ".join(file.relative for file in files_of(span, status.stage) if not is_settled((file,)))
    return (
        Problem(
            "still_written",
            names,
            "",
            Message("expected.settled_files"),
            Message("found.just_changed"),
            Message("lost.later_writes"),
            Message("action.wait_settled"),
            severity="info",
        ),
    )
