"""What the simulated NPU records beside MindSpore's profiler of the CPU: marks and ranges of mstx, Python functions, shapes of
the operators that PyNative mode dispatches, and what MindSpore's runtime profiler writes."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from mindspore import _c_expression as native
from mindspore import log
from mindspore.profiler.mstx import Mstx

_METHODS = ("mark", "range_start", "range_end")


class Marks:
    """Takes the place of mindspore.profiler.mstx between start and stop. domains: () for all."""

    def __init__(self, include: list[str], exclude: list[str]) -> None:
        self._include, self._exclude = include, exclude
        #: (start, end, thread, message, domain) in ns.
        self.marks: list[tuple[int, int, int, str, str]] = []
        self._numbers = itertools.count(1)
        self._open: dict[int, tuple[int, str, str]] = {}
        self._own: dict[str, Any] = {}

    def start(self) -> None:
        self._own = {name: getattr(Mstx, name) for name in _METHODS}
        for name in _METHODS:
            setattr(Mstx, name, staticmethod(getattr(self, name)))

    def stop(self) -> None:
        """Stop. Ranges that are open end here."""
        for number in list(self._open):
            self._close(number)
        for name, own in self._own.items():
            setattr(Mstx, name, staticmethod(own))

    def mark(self, message: Any, stream: Any = None, domain: Any = "default") -> None:
        if self._is_valid("mark", message, domain):
            now = time.time_ns()
            self.marks.append((now, now, threading.get_native_id(), message, domain))

    def range_start(self, message: Any, stream: Any = None, domain: Any = "default") -> int:
        """Begin a range; gives its number, 0 where it is not recorded."""
        if not self._is_valid("range_start", message, domain):
            return 0
        number = next(self._numbers)
        self._open[number] = time.time_ns(), message, domain
        return number

    def range_end(self, range_id: Any, domain: Any = "default") -> None:
        if range_id in self._open:
            self._close(range_id)
        elif range_id != 0:
            log.warning("Invalid range_id for mstx.range_end func. Please input return value from mstx.range_start.")

    def _close(self, number: int) -> None:
        start, message, domain = self._open.pop(number)
        self.marks.append((start, time.time_ns(), threading.get_native_id(), message, domain))

    def _is_valid(self, function: str, message: Any, domain: Any) -> bool:
        if not isinstance(message, str) or not message:
            log.warning(f"Invalid message for mstx.{function} func. Please input valid message string.")
            return False
        if not isinstance(domain, str) or not domain:
            log.warning(f"Invalid domain name for mstx.{function} func. Please input str and can not be empty.")
            return False
        return domain not in self._exclude and (not self._include or domain in self._include)


class PythonStacks:
    """calls: (name, start, end, number, number of the caller) in ns; numbers count from 1, 0 is no caller."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, int, int, int]] = []
        self._open: list[tuple[str, int, int]] = []
        self._count = 0

    def start(self) -> None:
        """Record from now. Another profiler of Python functions is replaced."""
        sys.setprofile(self._watch)

    def stop(self) -> None:
        """Stop. Functions that run end here."""
        sys.setprofile(None)
        now = time.time_ns()
        while self._open:
            self._end(now)

    def _watch(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            code = frame.f_code
            self._count += 1
            name = f"{code.co_filename}({code.co_firstlineno}): {code.co_name}"
            self._open.append((name, time.time_ns(), self._count))
        elif event == "return" and self._open:
            self._end(time.time_ns())

    def _end(self, now: int) -> None:
        name, start, number = self._open.pop()
        self.calls.append((name, start, now, number, self._open[-1][2] if self._open else 0))


class DispatchedShapes:
    """Records name, input shapes, types and group of each dispatched operator; nothing where MindSpore has no dispatch mode."""

    def __init__(self) -> None:
        self._calls: list[tuple[str, list[tuple[Any, Any]], str]] = []
        self._mode: Any = None

    @property
    def calls(self) -> list[tuple[str, list[list[int]], list[str], str]]:
        """(name, shapes, types, group) by time; group: of a collective, "" for others."""
        return [
            (str(name), [list(shape) for shape, _ in tensors], [str(type_).lower() for _, type_ in tensors], group)
            for name, tensors, group in self._calls
        ]

    def start(self) -> None:
        """Record from now, on this thread. Does nothing while MindSpore is being imported."""
        if self._mode is not None:
            return
        try:
            self._mode = _mode(self._calls)
        except ImportError:  # before 2.10, or too early
            return
        self._mode.__enter__()

    def stop(self) -> None:
        mode, self._mode = self._mode, None
        if mode is not None:
            mode.__exit__(None, None, None)


def _mode(calls: list[Any]) -> Any:
    from mindspore import Tensor
    from mindspore.utils.ms_dispatch import MsDispatchMode

    class Recorded(MsDispatchMode):  # type: ignore[misc]
        def __ms_dispatch__(self, func: Any, args: Any, kwargs: Any = None) -> Any:
            tensors = []
            for item in args:
                if isinstance(item, Tensor):
                    tensors.append((item.shape, item.dtype))
                elif isinstance(item, (list, tuple)):
                    tensors += [(one.shape, one.dtype) for one in item if isinstance(one, Tensor)]
            group = getattr(args[0], "group", "") if args else ""
            calls.append((func.name, tensors, group if isinstance(group, str) else ""))
            return func(*args, **kwargs) if kwargs else func(*args)

    return Recorded()


#: What it reads when a step begins: whether it records, and the folder in which it writes.
_VARIABLES = ("MS_ENABLE_RUNTIME_PROFILER", "MS_DEV_SAVE_GRAPHS_PATH")
_NAMES = ("_framework_profiler_step_start", "_framework_profiler_step_end", "_framework_profiler_clear")


class RuntimeProfiler:
    """Records one capture as a single step."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._is_there = folder, all(hasattr(native, name) for name in _NAMES)
        self._environment: dict[str, str | None] = {}

    def start(self) -> None:
        if not self._is_there:
            lacks = "the result has no threads, steps and framework events"
            log.warning(f"This MindSpore has no runtime profiler: {lacks}.")
            return
        self._environment = {name: os.environ.get(name) for name in _VARIABLES}
        os.environ.update(zip(_VARIABLES, ("1", str(self._folder))))
        native._framework_profiler_step_start()

    def stop(self) -> None:
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
