"""Functions of other modules that are replaced while a capture records."""

from __future__ import annotations

import sys
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
