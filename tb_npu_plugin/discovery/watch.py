"""Keeps a scan fresh in the background. Nothing here waits for a scan unless it asks to."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tb_npu_plugin.discovery.model import Place, Scan
from tb_npu_plugin.discovery.report import printable
from tb_npu_plugin.discovery.scan import scan

logger = logging.getLogger(__name__)

#: A scan older than this is repeated when somebody asks, in seconds.
MAX_AGE = 3.0
#: A rescan may take at most this share of the time.
MAX_SHARE = 0.1


def scan_once(paths: Mapping[str, Path]) -> Watcher:
    """A watcher for programs that look once, scanned. paths: by name, each a folder, or a file, which stands for the
    result that it belongs to."""

    def scan_paths(folders: Mapping[str, Path], seen: Callable[[], None]) -> Scan:
        scans = [scan({name: folder}, seen) for name, folder in folders.items()]
        scans = [found if path in folders.values() else found.only(path) for found, path in zip(scans, paths.values())]
        return Scan(
            tuple(run for one in scans for run in one.runs), tuple(item for one in scans for item in one.skipped)
        )

    folders = {name: path.parent if path.is_file() else path for name, path in paths.items()}
    watcher = Watcher(folders, scan_paths, background=False)
    watcher.update()
    return watcher


class Watcher:
    """The latest scan of the logdirs. Thread-safe; the thread starts with the first question.

    background   False: only `update` scans, for programs that look once
    generation   grows when a scan differs from the one before
    """

    def __init__(
        self, logdirs: Mapping[str, Path], scanner: Callable[..., Scan] = scan, background: bool = True
    ) -> None:
        self.logdirs = dict(logdirs)
        self._background = background
        self._scanner = scanner
        self._lock = threading.Lock()
        self._wanted = threading.Event()
        self._first = threading.Event()
        self._known = threading.Event()  # whether there are profiles
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
        """The latest scan, at once; empty before the first has ended. Asks for a new one when it is old."""
        self.ask()
        return self._scan

    def place(self, span: str) -> Place | None:
        """Where a span stands in the latest scan."""
        return self._places.get(span)

    def ask(self, now: bool = False) -> None:
        """Have the logdirs scanned: `now`, or if the last scan is old. Returns at once."""
        if not self._background:
            return
        if self.scanning and not now:
            return  # the scan under way is the answer; another one would follow it at once
        age = time.monotonic() - self._finished
        if now or not self._first.is_set() or age > max(MAX_AGE, self._took / MAX_SHARE):
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="npu-scan", daemon=True)
                    self._thread.start()
                self.scanning = True
                self._wanted.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the first scan; False when it has not ended in time."""
        self.ask()
        return self._first.wait(timeout)

    def has_profiles(self, timeout: float = 0.0) -> bool | None:
        """Anything that looks like a profile was found, parsed or not; None if that is unknown after `timeout` seconds."""
        self.ask()
        self._known.wait(timeout)
        return self._seen if self._known.is_set() else None

    def update(self) -> Scan:
        """Scan in this thread; after a scan that is under way, which would otherwise bring back what it saw before."""
        with self._updating:
            return self._update()

    def _update(self) -> Scan:
        started = time.monotonic()
        found = self._scanner(self.logdirs, self._note)
        with self._lock:
            if found != self._scan:
                # The places first: who has seen the scan asks for what is in it, and takes no lock for that.
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
        """A line for each run that is new or has other captures."""
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

    def _note(self) -> None:
        self._seen = True
        self._known.set()

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            try:
                self.update()
            except Exception:  # the thread must outlive a defect: the next scan may succeed
                logger.exception("scanning %s failed", ", ".join(map(str, self.logdirs.values())))
                self._finished = time.monotonic()
                self._first.set()
                self._known.set()
            with self._lock:  # or a question that comes between the two looks would not be said to be under way
                self.scanning = self._wanted.is_set()
