"""MindSpore's runtime profiler, which writes what the framework did on which thread. It is private: where a name of it is missing, a
capture has executions alone."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from mindspore import _c_expression as native
from mindspore import log

#: What it reads when a step begins: whether it records, and the folder in which it writes.
_VARIABLES = ("MS_ENABLE_RUNTIME_PROFILER", "MS_DEV_SAVE_GRAPHS_PATH")
_NAMES = ("_framework_profiler_step_start", "_framework_profiler_step_end", "_framework_profiler_clear")


class RuntimeProfiler:
    """Records one capture as a single step."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._is_there = folder, all(hasattr(native, name) for name in _NAMES)
        self._environment: dict[str, str | None] = {}

    def start(self) -> None:
        """Record from now."""
        if not self._is_there:
            log.warning(
                "This MindSpore has no runtime profiler: the result has no threads, steps and framework events."
            )
            return
        self._environment = {name: os.environ.get(name) for name in _VARIABLES}
        os.environ.update(zip(_VARIABLES, ("1", str(self._folder))))
        native._framework_profiler_step_start()

    def stop(self) -> None:
        """Stop, and write the files."""
        if not self._is_there:
            return
        native._framework_profiler_step_end()
        with _silent():  # it prints a summary
            native._framework_profiler_clear()
        for name, value in self._environment.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def keep_for_captures() -> None:
    """From now on only captures use it. Model.train begins and ends its steps, too: the first one that begins outside of a
    capture turns it off for the whole process."""
    from mindspore.train import model

    model._framework_profiler_step_start = model._framework_profiler_step_end = lambda: None


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """What native code prints on stdout goes nowhere."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
