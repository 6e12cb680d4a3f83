"""Marks and ranges of mstx while the simulated NPU records. MindSpore's own do nothing without an NPU."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any

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
        """Record from now."""
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
        """A point in time."""
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
        """End a range."""
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
