"""Log files of dynamic_profile: <path>/log/[monitor_]dp_<host>_<pid>_rank_<rank>.log; without a path, stdout."""

from __future__ import annotations

import logging
import os
import socket
from contextlib import suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path

from tb_npu_plugin.capture.api import messages

LOG_FOLDER = "log"
_LARGEST_FILE = 200 * 1024
_FORMAT = "[%(asctime)s] [%(levelname)s] [%(process)d] %(filename)s: %(message)s"


class _QuietHandler(RotatingFileHandler):
    """A full disk costs lines of the log, nothing else."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Nothing."""

    def close(self) -> None:
        """What is left of the last lines may not fit."""
        with suppress(OSError):
            super().close()


def open_log(folder: Path, prefix: str, rank: int) -> logging.Logger:
    """A logger of its own into a file of 200 KB, with one older file kept. OSError where it cannot be made."""
    (folder / LOG_FOLDER).mkdir(parents=True, exist_ok=True)
    name = f"{prefix}_{socket.gethostname()}_{os.getpid()}_rank_{rank}"
    path = folder / LOG_FOLDER / f"{name}.log"
    handler = _QuietHandler(path, maxBytes=_LARGEST_FILE, backupCount=1, encoding="utf-8")
    handler.setFormatter(logging.Formatter(_FORMAT))
    logger = logging.Logger(name, logging.INFO)  # not in logging's tree: the training's settings are its own
    logger.addHandler(handler)
    return logger


class _Messages(logging.Handler):
    """Lines as the profiler prints them."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print."""
        (messages.info if record.levelno < logging.WARNING else messages.warn)(record.getMessage())


def print_log() -> logging.Logger:
    """A logger that prints."""
    logger = logging.Logger("dynamic_profile", logging.INFO)
    logger.addHandler(_Messages())
    return logger
