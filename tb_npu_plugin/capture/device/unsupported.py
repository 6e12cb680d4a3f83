"""Names of torch_npu that the simulated device does not have."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, Callable

#: Beginning of a name -> what such names stand for; the first that fits is taken.
_MEANINGS = dict(csv.reader(Path(__file__).with_suffix(".csv").read_text(encoding="utf-8").splitlines()[1:]))


class NotSimulated(AttributeError):
    """A name of torch_npu that the simulated device does not have; hasattr() is False."""


def raise_for(module: str) -> Callable[[str], Any]:
    """The __getattr__ of `module` (its name as scripts write it)."""

    def find(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        meaning = next((text for start, text in _MEANINGS.items() if name.startswith(start)), "")
        described = f"{module}.{name} ({meaning})" if meaning else f"{module}.{name}"
        raise NotSimulated(f"{described} does not exist on the simulated NPU: see docs/capture.md for what it has")

    return find
