"""Profiles that a config file starts while the training runs (docs/facts/torch_npu_api.md, Dynamic profiles).

from tb_npu_plugin.capture.pytorch import dynamic_profile as dp
dp.init("folder")       # makes folder/profiler_config.json, watches it
for batch in loader:
    train(batch)
    dp.step()           # begins and ends profiles as the file says

With PROF_CONFIG_PATH=<folder> the script needs no change: the steps of the optimizer count.
Log files: <folder>/log/[monitor_]dp_<host>_<pid>_rank_<rank>.log.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import socket
import weakref
from contextlib import suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from tb_npu_plugin.capture.api import settings
from tb_npu_plugin.capture.api.dynamic_config import CONFIG_FILE, FOLDER_VARIABLE, Config, read, write_template
from tb_npu_plugin.capture.api.messages import error, info, never_raises, warn
from tb_npu_plugin.capture.api.profile import profile, schedule, tensorboard_trace_handler

__all__ = ["init", "set_state", "start", "step"]

#: torch_npu takes requests from the dynolog daemon if one of these is "1".
DAEMON_VARIABLES = ("MSMONITOR_USE_DAEMON", "KINETO_USE_DAEMON")
NEXT_STEP = -1
NO_STEP = 0


def _open_log(folder: Path, prefix: str) -> logging.Logger:
    """A logger into a file of 200 KB, with one older file kept. OSError if it cannot be made."""
    folder = folder / "log"
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{prefix}_{socket.gethostname()}_{os.getpid()}_rank_{settings.rank_or_minus_one()}"
    handler = RotatingFileHandler(folder / f"{name}.log", maxBytes=200 * 1024, backupCount=1, encoding="utf-8")
    handler.handleError = lambda record: None  # type: ignore[method-assign]  # a full disk, say: the line is dropped
    handler.setFormatter(logging.Formatter("[%(asctime)s] [%(levelname)s] [%(process)d] %(filename)s: %(message)s"))
    logger = logging.Logger(name, logging.INFO)  # not in logging's tree: the settings of the training do not apply
    logger.addHandler(handler)
    return logger


class _Control:
    """The step counter, the pending config and the running profile of this process."""

    def __init__(self) -> None:
        self._log = self._file_log = logging.Logger("dynamic_profile")  # without a handler: silent
        self._path: Path | None = None  # of the config file that is watched
        self._seen: tuple[int, int] | None = None
        self._step = 0
        self._pending: Config | None = None
        self._profile: profile | None = None
        self._remaining = 0

    @never_raises()
    def init(self, path: str) -> None:
        """Watch profiler_config.json in a folder; made with its defaults where it is missing."""
        if self._path is not None:
            warn("Init dynamic profiling repeatedly")
            return
        try:
            if not path:
                raise OSError(f"It is the folder of {CONFIG_FILE}.")
            folder = Path(os.fspath(path)).absolute()
            folder.mkdir(parents=True, exist_ok=True)
            write_template(folder / CONFIG_FILE)
            self._log, self._file_log = _open_log(folder, "dp"), _open_log(folder, "monitor_dp")
        except (OSError, TypeError) as problem:
            error(f"The path '{path}' is invalid, and profiler will not be enabled. {problem}")
            return
        self._path = folder / CONFIG_FILE
        atexit.register(self.close, os.getpid())

    @never_raises()
    def step(self) -> None:
        """A step of the training has ended."""
        self._step += 1
        if self._profile is not None:
            self._profile.step()
            self._remaining -= 1
            if self._remaining <= 0:
                self._end()
            return
        self._read_if_changed()
        self._begin_pending()

    @never_raises()
    def start(self, config_path: str | None = None) -> None:
        """Profile from now, as a config file says; None: the one of init."""
        if self._profile is not None:
            error("Profiler already started. Cannot call start interface while the profiler is active.")
            return
        given = Path(os.fspath(config_path)) if config_path else None
        if given is not None and not given.is_file():
            error(f"The provided config_path is invalid: {config_path}.")
            given = None
        path = given or self._path
        if path is None:
            error("There is no config file: call dynamic_profile.init first, or pass a config_path.")
            return
        info(f"The start interface profiler enable config path is set to {path}")
        if (config := read(path, error)) is not None:
            self._begin(config, config.analyse)  # of this process, whichever ranks the file names

    @never_raises()
    def set_state(self, state_step: dict[str, Any]) -> None:
        """Set the step counter: {"cur_step": int}, for a training that resumes."""
        number = state_step.get("cur_step") if isinstance(state_step, dict) else None
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            warn('Invalid parameter state, which must be {"cur_step": int}; it is not set.')
            return
        self._step = number

    def close(self, process: int | None = None) -> None:
        """Stop watching and end a running profile. process: only in this one, since a fork has a copy of the profile."""
        if process not in (None, os.getpid()):
            return
        self._path = None
        if self._profile is not None:
            self._log_and_warn(f"The process ends at step {self._step} during a dynamic profile, which is stopped.")
            self._end()
        for handler in [*self._log.handlers, *self._file_log.handlers]:
            with suppress(OSError):  # buffered lines that cannot be written are dropped
                handler.close()

    def _read_if_changed(self) -> None:
        """Read the file, if there is one, when it has changed."""
        state = self._state(self._path) if self._path is not None else None
        if self._path is None or state is None or state == self._seen:
            return
        warnings: list[str] = []
        config = read(self._path, warnings.append)
        if self._state(self._path) != state:  # written meanwhile: the next step reads it
            return
        self._seen = state
        for text in warnings:
            self._file_log.warning("%s", text)
        if config is None:
            return
        rank = settings.rank_or_minus_one()  # torch.distributed may have been initialized since the last time
        if config.rank_list is not None and rank not in config.rank_list:
            self._file_log.warning("Rank %s is not in rank_list, the config is not for it.", rank)
            return
        numbers = config.start_step, config.warmup, config.active
        self._file_log.info("New config: start_step %s, warmup %s, active %s.", *numbers)
        self._pending = config

    def _state(self, path: Path) -> tuple[int, int] | None:
        try:
            found = path.stat()
        except OSError as problem:
            if self._seen is not None:
                self._file_log.warning("The config file cannot be read: %s", problem)
            self._seen = None
            return None
        return found.st_mtime_ns, found.st_size  # a half written file may have the same time

    def _begin_pending(self) -> None:
        """Begin the profile of the pending config at its step."""
        config = self._pending
        if config is None or config.start_step > self._step:
            return
        self._pending = None
        if config.start_step in (self._step, NEXT_STEP):
            self._begin(config, config.analyses_ranks)
        elif config.start_step != NO_STEP:
            late = f"Start step {config.start_step} is before the current step {self._step}"
            self._log_and_warn(f"{late}, the config is not effective.")

    def _begin(self, config: Config, analyse: bool) -> None:
        handler = tensorboard_trace_handler(config.prof_dir, analyse_flag=analyse, async_mode=config.async_mode)
        plan = schedule(wait=0, warmup=config.warmup, active=config.active, repeat=1, skip_first=0)
        prof = profile(schedule=plan, on_trace_ready=handler, **config.arguments)
        prof._set_step_num_offset_for_dynamic_prof(self._step)
        for key, value in config.metadata.items():
            prof.add_metadata_json(str(key), json.dumps(value))
        prof.start()
        self._profile, self._remaining = prof, config.warmup + config.active
        self._log.info("Start Dynamic Profiler at %s step.", self._step)

    def _end(self) -> None:
        prof, self._profile = self._profile, None
        if prof is not None:
            prof.stop()
        self._log.info("Stop Dynamic Profiler at %s step.", self._step)

    def _log_and_warn(self, text: str) -> None:
        """Write a warning into the log and to stdout."""
        self._log.warning(text)
        warn(text)


CONTROL = _Control()
init, step, start, set_state = CONTROL.init, CONTROL.step, CONTROL.start, CONTROL.set_state


class _NonIntrusiveProfile:
    """Counts the steps of the newest optimizer as steps of dynamic_profile."""

    _last: weakref.ref[Any] | None = None

    @staticmethod
    @never_raises()
    def init() -> None:
        """Watch the folder of PROF_CONFIG_PATH, if it is set."""
        folder = os.environ.get(FOLDER_VARIABLE, "")
        if not folder:
            if name := next((name for name in DAEMON_VARIABLES if os.environ.get(name) == "1"), ""):
                warn(f"{name}=1 has no effect: the dynolog daemon is not supported. Set {FOLDER_VARIABLE}=<folder>.")
            return
        init(folder)
        if CONTROL._path is None:
            return
        from torch.optim import optimizer as module

        optimizers: Any = module.Optimizer
        original = optimizers._patch_step_function

        def patch(self: Any) -> None:
            original(self)
            _NonIntrusiveProfile._last = weakref.ref(self)

        optimizers._patch_step_function = patch
        module.register_optimizer_step_post_hook(_NonIntrusiveProfile._step)

    @staticmethod
    def _step(optimizer: Any, args: Any, kwargs: Any) -> None:
        last = _NonIntrusiveProfile._last
        if last is not None and last() is optimizer:
            step()
