"""Watches what tells to profile. A thread does: it looks every few seconds, at one modification time or at a socket."""

from __future__ import annotations

import logging
import os
import threading
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path

from tb_npu_plugin.capture.api import ranks
from tb_npu_plugin.capture.api.dynamic_profile.config import Config, read
from tb_npu_plugin.capture.api.messages import reason

_FIRST_INTERVAL = 2.0
_SHORTEST, _LONGEST = 1.0, 50.0
#: How long the end of the process waits for a look that is going on.
_PATIENCE = 2.0


class Monitor(ABC):
    """From start() on, take() gives each new config once; of several the last."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._interval = _FIRST_INTERVAL
        self._found: Config | None = None
        self._failure = ""
        self._make_thread()

    def _make_thread(self) -> None:
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tb-npu-dynamic-profile", daemon=True)

    def start(self) -> None:
        """Look once, then watch."""
        self._look_safely()
        self._thread.start()

    def stop(self) -> None:
        """Watch no longer."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_PATIENCE)
        self.close()

    def set_step_time(self, seconds: float) -> None:
        """Look about once a step."""
        self._interval = min(max(seconds, _SHORTEST), _LONGEST)
        self._log.info("A new config is looked for every %s s.", self._interval)

    def take(self) -> Config | None:
        """The newest config that was not taken yet."""
        with self._lock:
            found, self._found = self._found, None
            return found

    @abstractmethod
    def look(self) -> None:
        """_offer what is new."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is watched."""

    def _offer(self, config: Config) -> None:
        rank = ranks.number()  # torch.distributed may have been initialized since the last look
        if not config.is_for(rank):
            self._log.warning("Rank %s is not in rank_list, the config is not for it.", rank)
            return
        self._log.info(
            "New config: start_step %s, warmup %s, active %s.", config.start_step, config.warmup, config.active
        )
        with self._lock:
            self._found = config

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            self._look_safely()

    def _look_safely(self) -> None:
        failure = ""
        try:
            self.look()
        except Exception as problem:  # the thread lives as long as the training
            failure = reason(problem)
        if failure and failure != self._failure:  # said once, not every few seconds
            self._log.warning("A new config cannot be looked for: %s", failure)
        self._failure = failure


class FileMonitor(Monitor):
    """Watches the config file."""

    def __init__(self, path: Path, log: logging.Logger) -> None:
        super().__init__(log)
        self._path = path
        self._seen: tuple[int, int] | None = None
        self._process = os.getpid()

    def take(self) -> Config | None:
        """As the other monitors; a forked process, which has no threads but its own, watches from its first step on."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._make_thread()
            self.start()
        return super().take()

    def look(self) -> None:
        """Read the file if it has changed."""
        try:
            changed = self._state()
        except OSError as problem:
            if self._seen is not None:
                self._log.warning("The config file cannot be read: %s", problem)
            self._seen = None
            return
        if changed == self._seen:
            return
        told: list[str] = []
        config = read(self._path, told.append)
        with suppress(OSError):
            if self._state() != changed:  # written meanwhile: what was read would be offered now and, as new, once more
                return
        self._seen = changed
        for text in told:
            self._log.warning("%s", text)
        if config is not None:
            self._offer(config)

    def _state(self) -> tuple[int, int]:
        found = self._path.stat()
        return found.st_mtime_ns, found.st_size  # half written and written may bear the same time

    def close(self) -> None:
        """Nothing: the file is not kept open."""
