"""Watches the config file of dynamic_profile in a thread: compares its modification time every few seconds."""

from __future__ import annotations

import logging
import os
import threading
from contextlib import suppress
from pathlib import Path

from tb_npu_plugin.capture.api import ranks
from tb_npu_plugin.capture.api.dynamic_profile.config import Config, read
from tb_npu_plugin.capture.api.messages import reason

_FIRST_INTERVAL = 2.0
_SHORTEST, _LONGEST = 1.0, 50.0
#: Seconds that the end of the process waits for a check in progress.
_JOIN_TIMEOUT = 2.0


class FileMonitor:
    """From start() on, take() returns each new config once; if there are several, the last."""

    def __init__(self, path: Path, log: logging.Logger) -> None:
        self._path = path
        self._log = log
        self._interval = _FIRST_INTERVAL
        self._found: Config | None = None
        self._failure = ""
        self._seen: tuple[int, int] | None = None
        self._make_thread()

    def _make_thread(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tb-npu-dynamic-profile", daemon=True)

    def start(self) -> None:
        """Check the file once, then watch it."""
        self._check_safely()
        self._thread.start()

    def stop(self) -> None:
        """Stop watching."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_JOIN_TIMEOUT)

    def set_step_time(self, seconds: float) -> None:
        """Check about once a step."""
        self._interval = min(max(seconds, _SHORTEST), _LONGEST)
        self._log.info("The config file is checked every %s s.", self._interval)

    def take(self) -> Config | None:
        """The newest config that was not taken yet. A forked process, which has no copy of the thread, starts one."""
        if self._process != os.getpid():
            self._make_thread()
            self.start()
        with self._lock:
            found, self._found = self._found, None
            return found

    def check(self) -> None:
        """Read the file if it has changed."""
        try:
            state = self._state()
        except OSError as problem:
            if self._seen is not None:
                self._log.warning("The config file cannot be read: %s", problem)
            self._seen = None
            return
        if state == self._seen:
            return
        warnings: list[str] = []
        config = read(self._path, warnings.append)
        with suppress(OSError):
            if self._state() != state:  # written meanwhile: the next check reads it
                return
        self._seen = state
        for text in warnings:
            self._log.warning("%s", text)
        if config is not None:
            self._apply(config)

    def _state(self) -> tuple[int, int]:
        found = self._path.stat()
        return found.st_mtime_ns, found.st_size  # a half written file may have the same time

    def _apply(self, config: Config) -> None:
        rank = ranks.rank_or_minus_one()  # torch.distributed may have been initialized since the last check
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
            self._check_safely()

    def _check_safely(self) -> None:
        failure = ""
        try:
            self.check()
        except Exception as problem:  # the thread lives as long as the training
            failure = reason(problem)
        if failure and failure != self._failure:  # once, not every few seconds
            self._log.warning("The config file cannot be checked: %s", failure)
        self._failure = failure
