"""Python functions of the thread that records, with `with_stack=True`."""

from __future__ import annotations

import sys
import time
from types import FrameType
from typing import Any


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
