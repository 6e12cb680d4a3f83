"""The state of dynamic_profile in this process: the step counter, the pending config, the running profile, the logs.

Log files: <folder>/log/[monitor_]dp_<host>_<pid>_rank_<rank>.log.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import socket
import time
from contextlib import suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from tb_npu_plugin.capture.api import ranks
from tb_npu_plugin.capture.api.dynamic_profile.config import CONFIG_FILE, Config, read, write_template
from tb_npu_plugin.capture.api.dynamic_profile.monitor import FileMonitor
from tb_npu_plugin.capture.api.handler import tensorboard_trace_handler
from tb_npu_plugin.capture.api.messages import error, info, warn
from tb_npu_plugin.capture.api.profile import profile
from tb_npu_plugin.capture.api.schedule import schedule

#: The file is checked as often as a step ends: the time between the ends of these two.
_TIMED_STEPS = (10, 11)
NEXT_STEP = -1
NO_STEP = 0
LOG_FOLDER = "log"
_LARGEST_LOG = 200 * 1024
_LOG_FORMAT = "[%(asctime)s] [%(levelname)s] [%(process)d] %(filename)s: %(message)s"


class _QuietHandler(RotatingFileHandler):
    """Drops lines that cannot be written, for example on a full disk."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Ignore the error."""

    def close(self) -> None:
        """Close the file; buffered lines that cannot be written are dropped."""
        with suppress(OSError):
            super().close()


def open_log(folder: Path, prefix: str, rank: int) -> logging.Logger:
    """A logger into a file of 200 KB, with one older file kept. OSError if it cannot be made."""
    (folder / LOG_FOLDER).mkdir(parents=True, exist_ok=True)
    name = f"{prefix}_{socket.gethostname()}_{os.getpid()}_rank_{rank}"
    handler = _QuietHandler(folder / LOG_FOLDER / f"{name}.log", maxBytes=_LARGEST_LOG, backupCount=1, encoding="utf-8")
    handler.setFormatter(logging.Formatter(_LOG_FORMAT))
    logger = logging.Logger(name, logging.INFO)  # not in logging's tree: the settings of the training do not apply
    logger.addHandler(handler)
    return logger


class Control:
    """One a process: CONTROL."""

    def __init__(self) -> None:
        self._log = logging.Logger("dynamic_profile")  # without a handler: silent
        self._config_path: Path | None = None
        self._monitor: FileMonitor | None = None
        self._step = 0
        self._timed_from = 0.0
        self._armed: Config | None = None
        self._profile: profile | None = None
        self._remaining = 0

    def init(self, path: str) -> None:
        """See dynamic_profile.init."""
        if self._monitor is not None:
            warn("Init dynamic profiling repeatedly")
            return
        try:
            if not path:
                raise OSError(f"It is the folder of {CONFIG_FILE}.")
            folder = Path(os.fspath(path)).absolute()
            folder.mkdir(parents=True, exist_ok=True)
            write_template(folder / CONFIG_FILE)
            rank = ranks.rank_or_minus_one()
            self._log = open_log(folder, "dp", rank)
            monitor_log = open_log(folder, "monitor_dp", rank)
        except (OSError, TypeError) as problem:
            error(f"The path '{path}' is invalid, and profiler will not be enabled. {problem}")
            return
        self._config_path = folder / CONFIG_FILE
        self._monitor = FileMonitor(self._config_path, monitor_log)
        self._monitor.start()
        atexit.register(self._close_in, os.getpid())

    @property
    def is_ready(self) -> bool:
        """A config file is watched."""
        return self._monitor is not None

    def step(self) -> None:
        """See dynamic_profile.step."""
        self._step += 1
        self._measure()
        if self._profile is not None:
            self._profile.step()
            self._remaining -= 1
            if self._remaining <= 0:
                self._end()
            return
        found = self._monitor.take() if self._monitor is not None else None
        if found is not None:
            self._armed = found
        self._begin_armed()

    def start(self, config_path: str | None) -> None:
        """See dynamic_profile.start."""
        if self._profile is not None:
            error("Profiler already started. Cannot call start interface while the profiler is active.")
            return
        given = Path(os.fspath(config_path)) if config_path else None
        if given is not None and not given.is_file():
            error(f"The provided config_path is invalid: {config_path}.")
            given = None
        path = given or self._config_path
        if path is None:
            error("There is no config file: call dynamic_profile.init first, or pass a config_path.")
            return
        info(f"The start interface profiler enable config path is set to {path}")
        config = read(path, error)
        if config is not None:
            self._begin(config, config.analyse)  # of this process, whichever ranks the file names

    def set_state(self, state: Any) -> None:
        """See dynamic_profile.set_state."""
        number = state.get("cur_step") if isinstance(state, dict) else None
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            warn('Invalid parameter state, which must be {"cur_step": int}; it is not set.')
            return
        self._step = number

    def _close_in(self, process: int) -> None:
        if process == os.getpid():  # a forked process has a copy of the profile
            self.close()

    def close(self) -> None:
        """Stop watching and end a running profile."""
        if self._monitor is not None:
            self._monitor.stop()
            self._monitor = None
        if self._profile is not None:
            self._log_and_warn(f"The process ends at step {self._step} during a dynamic profile, which is stopped.")
            self._end()
        for handler in self._log.handlers:
            handler.close()

    def _measure(self) -> None:
        if self._step == _TIMED_STEPS[0]:
            self._timed_from = time.monotonic()
        elif self._step == _TIMED_STEPS[1] and self._timed_from and self._monitor is not None:
            self._monitor.set_step_time(time.monotonic() - self._timed_from)

    def _begin_armed(self) -> None:
        """Begin the profile of the pending config at its step."""
        config = self._armed
        if config is None or config.start_step > self._step:
            return
        self._armed = None
        if config.start_step in (self._step, NEXT_STEP):
            self._begin(config, config.analyses_ranks)
        elif config.start_step != NO_STEP:
            text = (
                f"Start step {config.start_step} is before the current step {self._step}, the config is not effective."
            )
            self._log_and_warn(text)

    def _begin(self, config: Config, analyse: bool) -> None:
        prof = profile(
            schedule=schedule(wait=0, warmup=config.warmup, active=config.active, repeat=1, skip_first=0),
            on_trace_ready=tensorboard_trace_handler(
                config.prof_dir, analyse_flag=analyse, async_mode=config.async_mode
            ),
            **config.arguments,
        )
        prof._set_step_num_offset_for_dynamic_prof(self._step)
        for key, value in config.metadata.items():
            prof.add_metadata_json(str(key), json.dumps(value))
        prof.start()
        self._profile, self._remaining = prof, config.steps
        self._log.info("Start Dynamic Profiler at %s step.", self._step)

    def _log_and_warn(self, text: str) -> None:
        """Write a warning into the log and to stdout."""
        self._log.warning(text)
        warn(text)

    def _end(self) -> None:
        prof, self._profile = self._profile, None
        if prof is not None:
            prof.stop()
        self._log.info("Stop Dynamic Profiler at %s step.", self._step)


CONTROL = Control()
