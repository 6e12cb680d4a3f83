"""Hooks into the process while a capture records: replaced functions, garbage collections."""

from __future__ import annotations

import gc
import sys
import time
from typing import Any, Callable

_INHERITED = object()


class Patches:
    """Replaces functions and restores them. The original is taken from the dictionary of the module or class: getattr turns a
    C++ method into a plain function without self."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any, Any]] = []  # owner, name, original, replacement

    def replace(self, module: str, path: str, make: Callable[[Any], Any]) -> None:
        """Replace the function at `path` in `module` by make(function). Skips modules that are not imported and functions
        that this version does not have."""
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
        """Restore the functions. A function that was replaced again meanwhile stays."""
        for owner, name, original, made in reversed(self._replaced):
            if vars(owner).get(name) is not made:
                continue
            if original is _INHERITED:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
        self._replaced.clear()


class GcDetector:
    """Between start and stop, report(start, end) is called for each collection of at least `threshold` ms.

    Source: docs/facts/torch_npu_api.md, Garbage collection."""

    def __init__(self, threshold: float, report: Callable[[int, int], None]) -> None:
        self._threshold = threshold * 1_000_000  # an int of any size stays one
        self._report = report
        self._began: int | None = None

    def start(self) -> None:
        """Watch the garbage collector."""
        gc.callbacks.append(self._watch)

    def stop(self) -> None:
        """Stop watching."""
        if self._watch in gc.callbacks:
            gc.callbacks.remove(self._watch)

    def _watch(self, phase: str, details: dict[str, Any]) -> None:
        if phase == "start":
            self._began = time.time_ns()
        elif self._began is not None:
            began, now, self._began = self._began, time.time_ns(), None
            if now - began >= self._threshold:
                self._report(began, now)
