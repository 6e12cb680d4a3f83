"""Hooks into the process while a capture records: replaced functions, garbage collections."""

from __future__ import annotations

import gc
import sys
import time
from typing import Any, Callable

_INHERITED = object()


class Patches:
    """Replaced functions, as they were. What is put back is what stood in the module or class itself: a method of C++ that
    is asked of its class comes as a plain function, which takes no self where it is put back."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any, Any]] = []  # owner, name, what stood there, what stands there now

    def replace(self, module: str, path: str, make: Callable[[Any], Any]) -> None:
        """Put make(function) in place of the function at `path` in `module`. What was not imported, or is not there in
        this version, is left alone."""
        *parents, name = path.split(".")
        owner: Any = sys.modules.get(module)
        for parent in parents:
            owner = getattr(owner, parent, None)
        original = getattr(owner, name, None)
        if original is not None:
            made = make(original)
            self._replaced.append((owner, name, vars(owner).get(name, _INHERITED), made))
            setattr(owner, name, made)

    def undo(self) -> None:
        """As it was. What somebody else has replaced meanwhile stays: it is theirs."""
        for owner, name, original, made in reversed(self._replaced):
            if vars(owner).get(name) is not made:
                continue
            if original is _INHERITED:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
        self._replaced.clear()


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
