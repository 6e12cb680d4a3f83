"""Garbage collections of Python that take long (docs/facts/torch_npu_api.md, Garbage collection)."""

from __future__ import annotations

import gc
import time
from typing import Any, Callable


class GcDetector:
    """Between start and stop, report(start, end) is called for each collection of at least `threshold` ms."""

    def __init__(self, threshold: float, report: Callable[[int, int], None]) -> None:
        self._threshold = threshold * 1_000_000  # an int of any size stays one
        self._report = report
        self._began: int | None = None

    def start(self) -> None:
        """Watch."""
        gc.callbacks.append(self._watch)

    def stop(self) -> None:
        """No longer."""
        if self._watch in gc.callbacks:
            gc.callbacks.remove(self._watch)

    def _watch(self, phase: str, details: dict[str, Any]) -> None:
        if phase == "start":
            self._began = time.time_ns()
        elif self._began is not None:
            began, now, self._began = self._began, time.time_ns(), None
            if now - began >= self._threshold:
                self._report(began, now)
