"""Watches the config file. A thread does: it looks at one modification time every few seconds."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from tb_npu_plugin.capture.api.dynamic_profile.config import Config, read

_FIRST_INTERVAL = 2.0
_SHORTEST, _LONGEST = 1.0, 50.0


class Monitor:
    """From start() on, take() gives each new config of the file once; of several the last."""

    def __init__(self, path: Path, rank: int, log: logging.Logger) -> None:
        self._path = path
        self._rank = rank
        self._log = log
        self._interval = _FIRST_INTERVAL
        self._seen: tuple[int, int] | None = None
        self._lock = threading.Lock()
        self._found: Config | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tb-npu-dynamic-profile", daemon=True)

    def start(self) -> None:
        """Look once, then watch."""
        self.look()
        self._thread.start()

    def stop(self) -> None:
        """Watch no longer."""
        self._stop.set()

    def set_step_time(self, seconds: float) -> None:
        """Look about once a step."""
        self._interval = min(max(seconds, _SHORTEST), _LONGEST)
        self._log.info("The config file is looked at every %s s.", self._interval)

    def take(self) -> Config | None:
        """The newest config that was not taken yet."""
        with self._lock:
            found, self._found = self._found, None
            return found

    def look(self) -> None:
        """Read the file if it has changed."""
        try:
            found = self._path.stat()
            changed = (found.st_mtime_ns, found.st_size)  # half written and written may bear the same time
        except OSError as problem:
            if self._seen is not None:
                self._log.warning("The config file cannot be read: %s", problem)
            self._seen = None
            return
        if changed == self._seen:
            return
        self._seen = changed
        config = read(self._path, self._log.warning)
        if config is None:
            return
        if not config.is_for(self._rank):
            self._log.warning("Rank %s is not in rank_list, the config is not for it.", self._rank)
            return
        self._log.info(
            "New config: start_step %s, warmup %s, active %s.", config.start_step, config.warmup, config.active
        )
        with self._lock:
            self._found = config

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            try:
                self.look()
            except Exception:  # the thread lives as long as the training
                self._log.exception("The config file could not be looked at.")
