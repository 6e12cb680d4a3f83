"""Repeats the scan in the background. Only `wait`, `has_profiles` and `update` block."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

from tb_npu_plugin.discovery.model import OpenArchive, Place, Scan
from tb_npu_plugin.discovery.report import skip
from tb_npu_plugin.discovery.scan import keep_refused, scan
from tb_npu_plugin.discovery.unpack import ARCHIVE
from tb_npu_plugin.messages import Message
from tb_npu_plugin.printable import package_logger, printable

logger = package_logger(__name__)

#: Age in seconds from which a request repeats the scan.
MAX_AGE = 3.0
#: Maximum share of the time that rescans may take.
MAX_SHARE = 0.1


def scan_once(paths: Mapping[str, Path]) -> Watcher:
    """A watcher with one completed scan, for programs that do not rescan. paths: folders by name; a file means the
    result that contains it."""

    def scan_paths(
        folders: Mapping[str, Path], seen: Callable[[], None], open_archive: OpenArchive | None = None
    ) -> Scan:
        scans = [scan({name: folder}, seen, open_archive) for name, folder in folders.items()]
        scans = [
            found if path in folders.values() else found.only(path, _members_of(path, open_archive))
            for found, path in zip(scans, paths.values())
        ]
        return Scan(*(tuple(item for one in scans for item in getattr(one, part.name)) for part in fields(Scan)))

    folders = {name: path.parent if path.is_file() else path for name, path in paths.items()}
    watcher = Watcher(folders, scan_paths, background=False)
    watcher.update()
    return watcher


def _members_of(path: Path, open_archive: OpenArchive | None) -> Path | None:
    """The folder with the members of an archive; None for other files."""
    if open_archive is None or not ARCHIVE.fullmatch(path.name):
        return None
    status = path.stat()
    return open_archive(path, status.st_size, status.st_mtime_ns).folder


class Watcher:
    """The latest scan of the logdirs. Thread-safe; the thread starts with the first request.

    is_background    False: only `update` scans
    shows_summaries  TensorBoard shows the Summary events below the logdirs
    generation       grows when a scan differs from the previous one
    """

    def __init__(
        self,
        logdirs: Mapping[str, Path],
        scanner: Callable[..., Scan] = scan,
        background: bool = True,
        shows_summaries: bool = False,
    ) -> None:
        self.logdirs = dict(logdirs)
        self.shows_summaries = shows_summaries
        self.is_background = background
        self._scanner = scanner
        self._lock = threading.Lock()
        self._wanted = threading.Event()
        self._open_archive: OpenArchive | None = None
        self._first = threading.Event()
        self._known = threading.Event()  # set once _seen is valid
        self._updating = threading.Lock()
        self._thread: threading.Thread | None = None
        self._scan = Scan()
        self._places: dict[str, Place] = {}
        self._finished = 0.0
        self._took = 0.0
        self._seen = False
        self.generation = 0
        self.scanning = False

    def current(self) -> Scan:
        """The latest scan, without waiting; empty before the first has ended. Starts a new scan if it is too old."""
        self.ask()
        return self._scan

    def place(self, span: str) -> Place | None:
        """Place of a span in the latest scan; None if it is gone."""
        return self._places.get(span)

    def ask(self, now: bool = False) -> None:
        """Start a scan in the background: if `now`, or if the last one is too old. Does not block."""
        if not self.is_background:
            return
        if self.scanning and not now:
            return  # the running scan suffices
        age = time.monotonic() - self._finished
        if now or not self._first.is_set() or age > max(MAX_AGE, self._took / MAX_SHARE):
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="npu-scan", daemon=True)
                    self._thread.start()
                self.scanning = True
                self._wanted.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the first scan; False on timeout."""
        self.ask()
        return self._first.wait(timeout)

    def has_profiles(self, timeout: float = 0.0) -> bool | None:
        """Whether anything that looks like a profile was found, parsed or not; None if unknown after `timeout`
        seconds."""
        self.ask()
        self._known.wait(timeout)
        return self._seen if self._known.is_set() else None

    def set_archives(self, open_archive: OpenArchive) -> None:
        """Open archives from the next scan on, which begins now if the last one met some."""
        self._open_archive = open_archive
        if any(item.reason == Message("skipped.packed") for item in self._scan.skipped):
            self.ask(now=True)
            if not self.is_background:
                self.update()

    def update(self) -> Scan:
        """Scan in this thread; waits for a running scan first, which might otherwise overwrite the result with an older
        one."""
        with self._updating:
            return self._update()

    def _update(self) -> Scan:
        started = time.monotonic()
        try:
            scanner = (
                self._scanner if self._open_archive is None else partial(self._scanner, open_archive=self._open_archive)
            )
            found = keep_refused(scanner(self.logdirs, self._wake), self._scan)
        except Exception:  # a defect of this plugin must not hide what was found before
            folders = ", ".join(printable(str(folder)) for folder in self.logdirs.values())
            logger.exception("scanning %s failed", folders)
            found = replace(self._scan, skipped=(skip("internal_error", folders),))
        with self._lock:
            if found != self._scan:
                # Set the places first: readers take no lock and look up spans of the new scan.
                self._places = {place.span.token: place for place in found.places()}
                self._log_news(found)
                self._scan = found
                self.generation += 1
            self._seen = bool(found.runs) or any(item.is_profile for item in found.skipped)
            self._finished = time.monotonic()
            self._took = self._finished - started
        self._first.set()
        self._known.set()
        return found

    def _log_news(self, found: Scan) -> None:
        """Log each run that is new or has other captures."""
        before = {run.token: run for run in self._scan.runs}
        for run in found.runs:
            if run != before.get(run.token):
                spans = [span for worker in run.workers for span in worker.spans]
                logger.info(
                    "found run %s: %d workers, %d captures, %.1f MB",
                    printable(run.label),
                    len(run.workers),
                    len(spans),
                    sum(span.bytes for span in spans) / 1e6,
                )

    def _wake(self) -> None:
        self._seen = True
        self._known.set()

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            self.update()
            with self._lock:  # a request between the two lines must leave `scanning` set
                self.scanning = self._wanted.is_set()
